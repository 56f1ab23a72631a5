# SPDX-License-Identifier: BSD-3-Clause
"""Checks that all but src/tensor compiles for aarch64.

    python tools/check_aarch64.py [--jobs 2]

Takes each file's command of build/compile_commands.json, with Debian's cross
compiler (g++-aarch64-linux-gnu) in place of the compiler. src/tensor needs
PyTorch's headers for that processor.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER = "aarch64-linux-gnu-g++"


def command_of(entry: dict[str, str]) -> list[str]:
    """What checks the file, without the launcher and the output."""
    words = shlex.split(entry["command"])
    first = max(i for i, word in enumerate(words) if word.endswith("c++"))
    flags = words[first + 1 : words.index("-o")]
    kept = [
        flag
        for i, flag in enumerate(flags)
        if not flag.startswith("-M")
        and flags[i - 1] not in ("-MT", "-MF")
        and flag != "-fpch-preprocess"
    ]
    return [COMPILER, *kept, "-fsyntax-only", entry["file"]]


def check(entry: dict[str, str]) -> str:
    """The compiler's errors, or nothing."""
    done = subprocess.run(
        command_of(entry),
        cwd=entry["directory"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    """Checks all, and tells the files that don't compile."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not shutil.which(COMPILER):
        print(f"{COMPILER} is missing: apt-get install g++-aarch64-linux-gnu")
        return 2
    commands = json.loads((ROOT / "build/compile_commands.json").read_text())
    ours = [
        entry
        for entry in commands
        if f"{ROOT}/src/" in entry["file"]
        and f"{ROOT}/src/tensor/" not in entry["file"]
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        errors = [text for text in pool.map(check, ours) if text]
    print(*errors, sep="\n", end="")
    print(f"{len(ours) - len(errors)} of {len(ours)} files compile for aarch64")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
