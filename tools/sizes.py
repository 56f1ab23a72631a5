# SPDX-License-Identifier: BSD-3-Clause
"""Prints how long files are, by room, and names those that are too long.

    tools/sizes.py [--check] [--base REVISION]

--base adds what changed since a git revision. --check prints only files over
the ceiling, and exits with 1 if there are any. Tables of data (.def, .inc) have
no ceiling.
"""

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = {".cpp": 800, ".py": 800, ".h": 400}
SUFFIXES = (*CEILINGS, ".def", ".inc")


def tracked_files() -> list[str]:
    """Every source file that git knows or would add."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [
        name
        for name in sorted(listing.stdout.splitlines())
        if name.endswith(SUFFIXES) and (ROOT / name).exists()
    ]


def group_of(name: str) -> str:
    """The row of the table that a file belongs to: src/trace, tests/cpp, …"""
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def changed_lines(base: str) -> dict[str, int]:
    """Lines added less lines removed since `base`, by group."""
    numstat = subprocess.run(
        ["git", "diff", "--numstat", base],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    delta: dict[str, int] = defaultdict(int)
    for row in numstat.stdout.splitlines():
        added, removed, name = row.split("\t")
        if name.endswith(SUFFIXES) and added != "-":
            delta[group_of(name)] += int(added) - int(removed)
    return delta


def print_table(sizes: dict[str, int], base: str | None) -> None:
    """One row for each group: files, lines, median and longest file."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sizes:
        groups[group_of(name)].append(name)
    delta = changed_lines(base) if base else {}
    print(f"{'':24}{'files':>6}{'lines':>8}{'median':>8}  longest")
    for group, names in sorted(groups.items()):
        counts = [sizes[name] for name in names]
        longest = max(names, key=sizes.__getitem__)
        change = f"  {delta.get(group, 0):+d}" if base else ""
        print(
            f"{group:24}{len(names):6}{sum(counts):8}"
            f"{statistics.median(counts):8.0f}  {sizes[longest]} "
            f"{longest.removeprefix(group + '/')}{change}"
        )
    print(f"{'all':24}{len(sizes):6}{sum(sizes.values()):8}")


def main() -> int:
    """Prints the table or the faults; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--base")
    options = parser.parse_args()
    sizes = {
        name: len((ROOT / name).read_text().splitlines())
        for name in tracked_files()
    }
    if not options.check:
        print_table(sizes, options.base)
        return 0
    too_long = {
        name: lines
        for name, lines in sizes.items()
        if lines > CEILINGS.get(Path(name).suffix, lines)
    }
    for name, lines in too_long.items():
        ceiling = CEILINGS[Path(name).suffix]
        print(f"{name}: {lines} lines, the ceiling is {ceiling}")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
