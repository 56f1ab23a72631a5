# SPDX-License-Identifier: BSD-3-Clause
"""`python -m magneto script.py args`: runs a program whose `torch.compile` is
magneto's. `python -m magneto -m module args` runs a module.
"""

from __future__ import annotations

import os
import runpy
import sys

_USAGE = "usage: python -m magneto (script.py | -m module) [argument ...]"


def main() -> None:
    """Runs the program that the command line names."""
    arguments = sys.argv[1:]
    as_module = arguments[:1] == ["-m"]
    if as_module:
        arguments = arguments[1:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(_USAGE)
    program = arguments[0]
    if not as_module and not os.path.exists(program):
        sys.exit(f"magneto: there is no file {program!r}")

    import magneto

    magneto.install()
    sys.argv = arguments
    if as_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program))
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
