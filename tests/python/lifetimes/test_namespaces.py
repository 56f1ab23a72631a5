# SPDX-License-Identifier: BSD-3-Clause
"""Namespaces of code that a program makes die with it, however long what was
compiled lives: a dict cannot be referred to weakly, its function or module can.
"""

import gc
import types
import weakref

import pytest
import torch

import magneto

X = torch.arange(4.0)

SOURCE = """
offset = 3

def shifted(x):
    return x + offset

def shifted_later(x):
    return lambda: x + offset

class Shift:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x + self.by + offset
"""


class Mark:
    """What the namespaces hold, to see them die."""


def as_globals(namespace):
    return namespace["shifted"]


def as_instance(namespace):
    return namespace["Shift"](2)


def as_maker(namespace):
    return namespace["shifted_later"]


def as_module(namespace):
    module = types.ModuleType("made")
    vars(module).update(namespace)
    return module


def call(x, function):
    return function(x)


def call_what_is_made(x, function):
    return function(x)()


def make(x, function):
    return function(x)


def look_into_globals(x, function):
    return x + len(function.__globals__) + function.__globals__["offset"]


def look_into_attributes(x, function):
    function.calls = 1
    return x + len(vars(function))


def look_into_module(x, module):
    return x + len(vars(module)) + module.__dict__["offset"] + module.offset


def run_in_module(x, module):
    exec("offset = offset + 1", vars(module))
    return module.shifted(x)


@pytest.mark.parametrize(
    ("program", "given"),
    [
        (call, as_globals),
        (call, as_instance),
        (call_what_is_made, as_maker),
        (make, as_maker),
        (look_into_globals, as_globals),
        (look_into_attributes, as_globals),
        (look_into_module, as_module),
        (run_in_module, as_module),
    ],
    ids=lambda each: each.__name__,
)
def test_namespaces_die(program, given):
    compiled = magneto.compile(program, backend="eager")

    def results(function):
        namespace = {"mark": Mark()}
        exec(SOURCE, namespace)
        passed = given(namespace)
        made = [function(X, passed) for _ in range(2)]
        shown = [str(each() if callable(each) else each) for each in made]
        return shown, weakref.ref(namespace["mark"])

    marks = []
    for _ in range(3):
        found, mark = results(compiled)
        assert found == results(program)[0]
        marks.append(mark)
    gc.collect()
    assert [mark() for mark in marks] == [None] * 3


def test_a_namespace_that_changes_is_seen():
    namespace = {}
    exec(SOURCE, namespace)

    @magneto.compile(backend="eager")
    def program(x, function):
        return function(x) + function.__globals__["offset"]

    for offset in 3, 4, 4, 5:
        namespace["offset"] = offset
        found = program(X, namespace["shifted"])
        assert torch.equal(found, X + 2 * offset)


def test_classes_whose_c_methods_are_called_die():
    """Class methods written in C that a class of the program's inherits."""

    @magneto.compile(backend="eager")
    def program(x):
        class Table(dict):
            pass

        class Bytes(bytes):
            def __new__(cls, value):
                return bytes.__new__(cls, value)

        made = Table.fromkeys("ab"), Bytes.fromhex("1a2B")
        magneto.graph_break()
        later = Table.fromkeys
        magneto.graph_break()
        names = later.__qualname__, Bytes.fromhex.__name__, later.__self__
        return made, later("c"), [str(name) for name in names], x + 1

    marks = []
    for _ in range(3):
        made, later, names, y = program(X)
        assert made == ({"a": None, "b": None}, b"\x1a\x2b")
        assert [type(each).__name__ for each in made] == ["Table", "Bytes"]
        assert later == {"c": None}
        assert names[0].endswith("Table.fromkeys")
        assert names[1] == "fromhex"
        assert torch.equal(y, X + 1)
        marks += [weakref.ref(type(each)) for each in made]
        del made, later
    gc.collect()
    assert [mark() for mark in marks] == [None] * 6
