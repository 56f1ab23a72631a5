# SPDX-License-Identifier: BSD-3-Clause
"""Prints how long files are, by room, and names those that are too long.

    tools/sizes.py [--check] [--base REVISION]

--base adds what changed since a git revision. --check prints only files and
functions of src/ over the ceiling, and exits with 1 if there are any. Tables of
data (.def, .inc) have no ceiling, and LONG_FUNCTIONS may be long, each for the
reason given there.
"""

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from functions import functions

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = {".cpp": 800, ".py": 800, ".h": 400}
SUFFIXES = (*CEILINGS, ".def", ".inc")
FUNCTION_CEILING = 60

# Functions that are longer, by the reason why: "path below src/: name ...".
LONG_FUNCTIONS = {
    "one switch with a short case for each kind": (
        "artifact/run.cpp: act",
        "guards/numbers.cpp: read_number",
        "natives/registry.cpp: call_row",
        "shapes/apply.cpp: on_floats",
        "shapes/range.cpp: range_of",
        "shapes/table.cpp: Expressions::Table::dispatch",
        "values/model/heap.cpp: Heap::undo",
        "values/protocol/constants.cpp: build",
        "values/protocol/iteration.cpp: next_item",
        "values/protocol/symbolic.cpp: symbolic_binary",
        "values/torch/lowering.cpp: lower",
        "values/types/percent.cpp: Percent::write",
    ),
    "cases in the order in which they must be tried": (
        "shapes/divide.cpp: Expressions::Table::floor_divide",
        "shapes/divide.cpp: Expressions::Table::modulo",
        "shapes/simplify.cpp: Environment::Facts::apply_rules",
        "values/model/wrapping.cpp: Wrapping::wrap",
        "values/protocol/constants.cpp: from_constant",
        "values/protocol/descriptors.cpp: bind_getset",
        "values/protocol/hashing.cpp: key_token",
    ),
    "the steps of one function of CPython's, in its order": (
        "natives/builtins/instances.cpp: check",
        "natives/builtins/numbers.cpp: make_bytes",
        "natives/builtins/text.cpp: plain_repr",
        "natives/library/mathematics.cpp: of_numbers",
        "trace/generators.cpp: Interpreter::resume_generator",
        "trace/inline.cpp: bind_arguments",
        "trace/ops_match.cpp: op_MatchClass",
        "values/protocol/attribute_writes.cpp: write",
        "values/protocol/attributes.cpp: lookup",
        "values/protocol/calls.cpp: instantiate",
        "values/protocol/comparison.cpp: compare",
        "values/protocol/descriptors.cpp: bind_descriptor",
        "values/protocol/truth.cpp: plain_contains",
        "values/protocol/truth.cpp: truth",
    ),
    "each field compared and worded in turn": (
        "tensor/tensor_snapshot.cpp: explain_mismatch",
    ),
    "to be divided: steps that share many variables": (
        "entry/compilation.cpp: Compilation::add",
        "entry/driver.cpp: run_entry",
        "entry/resume/island_run.cpp: run_island",
        "entry/resume/live_variables.cpp: live_variables",
        "natives/library/caches.cpp: trace_cached",
        "trace/capture.cpp: capture_frame",
        "trace/inline.cpp: callee_of",
        "values/model/trace_symbols.cpp: TraceSymbols::shape_of",
    ),
}


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


def long_files(sizes: dict[str, int]) -> list[str]:
    """A line for each file over its ceiling."""
    ceilings = {name: CEILINGS.get(Path(name).suffix) for name in sizes}
    return [
        f"{name}: {lines} lines, the ceiling is {ceilings[name]}"
        for name, lines in sizes.items()
        if lines > (ceilings[name] or lines)
    ]


def long_functions(names: Iterable[str]) -> list[str]:
    """A line for each function of src/ over the ceiling that isn't excepted."""
    excepted = {row for rows in LONG_FUNCTIONS.values() for row in rows}
    return [
        f"{name}:{function.line}: {function.name} has {function.length} lines, "
        f"the ceiling is {FUNCTION_CEILING}"
        for name in names
        if name.startswith("src/") and name.endswith((".cpp", ".h"))
        for function in functions((ROOT / name).read_text())
        if function.length > FUNCTION_CEILING
        and f"{name.removeprefix('src/')}: {function.name}" not in excepted
    ]


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
    too_long = long_files(sizes) + long_functions(sizes)
    print("\n".join(too_long), end="\n" if too_long else "")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
