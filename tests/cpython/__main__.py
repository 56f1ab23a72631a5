# SPDX-License-Identifier: BSD-3-Clause
"""CPython's own regression tests, plain and with every test method compiled.

    make test-cpython                    # all modules
    make test-cpython ARGS="list dict"   # some

Each module runs in a process of its own. Plain results are kept below build/.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import platform
import sys
from pathlib import Path

from tests.cpython.catalogue import MODULES
from tests.cpython.outcome import ModuleRun
from tests.cpython.supervisor import ROOT, run_module
from tests.cpython.table import HEADER, Row, details, line, total

# Left by all tests of a run together with the time that importing takes.
_LIMIT = 120.0


def _kept_at(module: str) -> Path:
    return (
        ROOT
        / "build"
        / "cpython"
        / f"{platform.python_version()}-{module}.json"
    )


def run_plain(module: str, limit: float, again: bool = False) -> ModuleRun:
    """The plain run, from the last time if there is one."""
    path = _kept_at(module)
    if not again and path.exists():
        return ModuleRun.load(path)
    run = run_module(module, "plain", limit)
    run.save(path)
    return run


def run_row(module: str, limit: float, again: bool = False) -> Row:
    """Both runs of a module."""
    plain = run_plain(module, limit, again)
    return Row(module, plain, run_module(module, "compiled", limit))


def main() -> int:
    """See the module's text. 1 if something differs without a reason, or has a
    reason and passes.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[], metavar="module")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--limit", type=float, default=_LIMIT, help="seconds for one test"
    )
    parser.add_argument(
        "--again", action="store_true", help="also what is kept of plain runs"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="whole tracebacks"
    )
    options = parser.parse_args()
    modules = [
        name.removeprefix("test_") for name in options.modules or MODULES
    ]
    if unknown := set(modules) - set(MODULES):
        parser.error(f"not in the list: {', '.join(sorted(unknown))}")
    rows = []
    print(HEADER, flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(
            lambda name: run_row(name, options.limit, options.again), modules
        ):
            rows.append(row)
            print("\n".join([line(row), *details(row, options.verbose)]))
            sys.stdout.flush()
    print(line(total(rows)))
    return 0 if all(row.is_good() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
