# SPDX-License-Identifier: BSD-3-Clause
"""Imports in traced code follow sys.modules, also as the trace has left it."""

import importlib
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


@pytest.mark.feature("B1")
@pytest.mark.parametrize(
    "program",
    [
        imports_what_is_hidden,
        imports_what_was_replaced,
        imports_what_was_dropped,
        imports_by_name,
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
