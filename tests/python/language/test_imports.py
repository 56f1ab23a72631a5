# SPDX-License-Identifier: BSD-3-Clause
"""Imports in traced code follow sys.modules, also as the trace has changed it."""

import builtins
import importlib
import subprocess
import sys
import types
import wsgiref
from unittest import mock

import pytest
import torch

import magneto


def imports_what_is_hidden(x):
    sys.modules["wsgiref"] = None
    try:
        import wsgiref

        found = wsgiref.__name__
    except ImportError as error:
        found = str(error), error.name
    return x + 1, found


def imports_what_was_replaced(x):
    sys.modules["wsgiref"] = types.ModuleType("another")
    import wsgiref

    return x + 1, wsgiref.__name__, importlib.import_module("wsgiref").__name__


def imports_what_was_dropped(x):
    dropped = sys.modules.pop("wsgiref")
    import wsgiref

    return x + 1, wsgiref is dropped, wsgiref.__name__


def imports_by_name(x):
    return x + 1, importlib.import_module("wsgiref").__name__


def imports_in_another_way(x):
    calls = []

    def finds(name, globals=None, locals=None, fromlist=(), level=0):
        calls.append((name, globals is NAMESPACE, locals, fromlist, level))
        return types.SimpleNamespace(name=name, path="a path")

    with mock.patch("builtins.__import__", finds):
        import wsgiref
        import wsgiref.util
        from wsgiref import path

    return x + 1, wsgiref.name, path, calls


def imports_without_a_way(x):
    way = builtins.__dict__.pop("__import__")
    try:
        import wsgiref
    except ImportError as error:
        return x + 1, str(error)
    finally:
        builtins.__import__ = way
    return wsgiref


def imports_in_a_way_that_fails(x):
    with mock.patch("builtins.__import__", side_effect=OSError("no disk")):
        try:
            import wsgiref
        except OSError as error:
            return x + 1, str(error)
    return wsgiref


def imports_in_a_class(x):
    def finds(*args):
        return len(args), sorted(args[2])

    with mock.patch("builtins.__import__", finds):

        class Importing:
            a = 1
            import wsgiref

    return x + 1, Importing.wsgiref


def imports_from_what_has_no_name(x):
    nameless = types.ModuleType("nameless")
    del nameless.__name__
    sys.modules["wsgiref"] = nameless
    try:
        from wsgiref import not_there
    except ImportError as error:
        return x + 1, str(error)
    return not_there


NAMESPACE = globals()


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    "program",
    [
        imports_what_is_hidden,
        imports_what_was_replaced,
        imports_what_was_dropped,
        imports_by_name,
        imports_in_another_way,
        imports_without_a_way,
        imports_in_a_way_that_fails,
        imports_in_a_class,
        imports_from_what_has_no_name,
    ],
)
def test_what_the_trace_has_written_to_sys_modules(program):
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        with mock.patch.dict(sys.modules):
            expected = program(torch.ones(2))
        with mock.patch.dict(sys.modules):
            found = compiled(torch.ones(2))
        assert repr(found) == repr(expected)


@pytest.mark.feature("B1")
def test_an_imported_module_is_guarded():
    compiled = magneto.compile(imports_by_name, backend="eager")
    assert compiled(torch.ones(2))[1] == wsgiref.__name__
    with mock.patch.dict(sys.modules, wsgiref=types.ModuleType("another")):
        assert compiled(torch.ones(2))[1] == "another"


@pytest.mark.feature("D1")
def test_a_way_to_import_that_is_put_in_place_later():
    def program(x):
        import wsgiref

        return x + 1, wsgiref

    compiled = magneto.compile(program, backend="eager")
    assert compiled(torch.ones(2))[1] is wsgiref
    with mock.patch("builtins.__import__", lambda *args: args[0]):
        assert compiled(torch.ones(2))[1] == "wsgiref"
    assert compiled(torch.ones(2))[1] is wsgiref


PRELOADED = """
import sys
from unittest import mock

import torch

import magneto


def program(x):
    found = []

    def finds(name, *args):
        found.append(name)
        return object()

    with mock.patch("builtins.__import__", finds):
        for _ in zip(range(2), "ab", strict=True):
            found.append(str(Class(3)))
    return x + 1, found


class Class:
    def __init__(self, n):
        self.n = n

    def __str__(self):
        return f"{self.n}"


compiled = magneto.compile(program, backend="eager")
before = set(sys.modules)
print(repr(compiled(torch.ones(2))) == repr(program(torch.ones(2))))
print(any("magneto" in name for name in set(sys.modules) - before))
"""


@pytest.mark.feature("B1")
def test_what_magneto_loads_is_loaded_pythons_way():
    """What it loads while tracing isn't told to the program's `__import__`."""
    run = subprocess.run(
        [sys.executable, "-c", PRELOADED],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["True", "True"]
