# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy over the rooms' sources.

    tools/tidy.py [--jobs N] [PATH...]

Needs the folder build-tidy (`cmake --preset tidy`), whose compile commands are
free of what only GCC understands. With paths, only sources under them are read.
Prints what was found and exits with 1 if that is anything.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-tidy"
TIDY = Path(sys.executable).with_name("clang-tidy")


def sources(paths: list[Path]) -> list[Path]:
    """The sources of src/ that are compiled, under one of `paths` if any."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    files = {Path(entry["file"]) for entry in commands}
    wanted = [path.resolve() for path in paths] or [ROOT / "src"]
    return sorted(
        file
        for file in files
        if ROOT / "src" in file.parents
        and any(path == file or path in file.parents for path in wanted)
    )


def findings(source: Path) -> str:
    """What clang-tidy says of one file; empty if nothing."""
    # Compiler warnings are GCC's to give, in the build.
    command = [TIDY, "-p", BUILD, "--quiet", "--extra-arg=-w", source]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode else ""


def main() -> int:
    """Check all chosen sources; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    found = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for text in pool.map(findings, sources(options.paths)):
            if text:
                found = True
                print(text, end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
