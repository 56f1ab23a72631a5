# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every C++ file is as clang-format would write it.

    tools/check_format.py [--fix]

Names the files that are not, and exits with 1; with --fix it rewrites them.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMATTER = Path(sys.executable).with_name("clang-format")


def sources() -> list[Path]:
    """All C++ files of the project, tests included."""
    found = []
    for folder in ("src", "tests/cpp"):
        for pattern in ("*.h", "*.cpp"):
            found += (ROOT / folder).rglob(pattern)
    return sorted(found)


def is_formatted(path: Path) -> bool:
    """Whether clang-format would leave the file as it is."""
    command = [FORMATTER, "--dry-run", "-Werror", path]
    return subprocess.run(command, capture_output=True).returncode == 0


def main() -> int:
    """Checks or fixes; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    if parser.parse_args().fix:
        return subprocess.run([FORMATTER, "-i", *sources()]).returncode
    wrong = [path for path in sources() if not is_formatted(path)]
    for path in wrong:
        print(f"{path.relative_to(ROOT)}: not formatted (make format)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
