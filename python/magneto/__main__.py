# SPDX-License-Identifier: BSD-3-Clause
"""`python -m magneto script.py args`: runs a program whose `torch.compile` is
magneto's. `python -m magneto -m module args` runs a module.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types
from typing import Any

_USAGE = "usage: python -m magneto (script.py | -m module) [argument ...]"


def main() -> None:
    """Runs the program that the command line names, as Python would: with its
    arguments, as `__main__`, and with its exit code.
    """
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return
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
    sys.excepthook = _show_without_us
    sys.argv = arguments
    if as_module:
        _set_first_path(os.getcwd())
        _run(*_module_of(program))
    elif os.path.isfile(program) and program.endswith((".py", ".pyw")):
        _set_first_path(os.path.dirname(os.path.realpath(program)))
        _run(*_script(program))
    else:  # a folder or an archive with a __main__.py
        runpy.run_path(program, run_name="__main__")


def _run(code: types.CodeType, names: dict[str, Any]) -> None:
    """Runs it in a `__main__` that stays: threads, pickle and exit handlers
    still need it when its code is done.
    """
    module = types.ModuleType("__main__")
    module.__dict__.update(names, __builtins__=builtins)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _script(path: str) -> tuple[types.CodeType, dict[str, Any]]:
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    return code, {"__file__": path, "__cached__": None}


def _module_of(name: str) -> tuple[types.CodeType, dict[str, Any]]:
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")  # a package
    get_code = getattr(spec.loader, "get_code", None) if spec else None
    code = get_code(spec.name) if spec and get_code else None
    if spec is None or code is None:
        sys.exit(f"magneto: there is no module {name!r} that can be run")
    sys.argv[0] = spec.origin or name
    return code, {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }


def _find(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            return None
        raise  # the package is there, and misses something else


def _set_first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _show_without_us(
    kind: type[BaseException],
    error: BaseException,
    trace: types.TracebackType | None,
) -> None:
    """The program's traceback, as Python itself would show it."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (
        __file__,
        "<frozen runpy>",
        "<frozen importlib.util>",
    ):
        trace = trace.tb_next
    error.__traceback__ = trace
    sys.__excepthook__(kind, error, trace)


if __name__ == "__main__":
    main()
