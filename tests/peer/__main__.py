# SPDX-License-Identifier: BSD-3-Clause
"""Runs test files written for torch.compile, with it and with magneto.

    make test-peer PEER=folder FILES="test_hooks.py test_higher_order_ops.py"

Prints which tests pass with torch.compile and not with magneto. The files are
somebody else's: nothing of them is part of this repository.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def _run(file: Path, jobs: int, options: list[str]) -> dict[str, str]:
    """By test: "" if it passed, else why not."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", str(file), "-q"]
        command += ["-n", str(jobs), "-W", "ignore", "--rootdir", str(folder)]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}"]
        command += ["-p", "tests.peer.older_names", *options]
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT}:{_ROOT}/python"}
        subprocess.run(
            command,
            cwd=file.parent,
            env=environment,
            capture_output=True,
            check=False,
        )
        if not report.exists():
            return {}
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return {
            f"{case.get('classname')}.{case.get('name')}": _outcome(case)
            for case in cases
        }


def _outcome(case: ElementTree.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            said = (found.get("message") or "").strip().split("\n")[0]
            return f"{kind}: {said[:200]}"
    return ""


def main() -> int:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--only", help="runs those with this in their names, with magneto"
    )
    arguments = parser.parse_args()
    passed = total = 0
    for name in arguments.files:
        file = (arguments.folder / name).resolve()
        options = ["-p", "tests.peer.plugin"]
        if arguments.only:
            options += ["-k", arguments.only]
        ours = _run(file, arguments.jobs, options)
        if arguments.only:
            theirs = dict.fromkeys(ours, "")
        else:
            theirs = _run(file, arguments.jobs, [])
        wanted = [test for test, why in theirs.items() if not why]
        failed = [test for test in wanted if ours.get(test, "no report")]
        passed += len(wanted) - len(failed)
        total += len(wanted)
        print(f"{name}: {len(wanted) - len(failed)} of {len(wanted)}")
        for test in failed:
            print(f"  {test}: {ours.get(test, 'no report')}")
    print(f"{passed} of the {total} that pass with torch.compile")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
