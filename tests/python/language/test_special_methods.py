# SPDX-License-Identifier: BSD-3-Clause
"""Special methods that are not plain functions.

A class may have anything under the name of a special method: whatever has a
__get__ binds itself, and the result is called. None refuses the operation.
"""

import functools
import math
import operator
import re
import types

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.ones(2)


class Callable:
    def __init__(self, answer):
        self.answer = answer

    def __call__(self, *_):
        return self.answer


class Descriptor:
    def __init__(self, answer):
        self.answer = answer

    def __get__(self, instance, owner=None):
        return lambda *_: self.answer


# How an answer is wrapped into what the class has.
KINDS = {
    "function": lambda answer: lambda *_: answer,
    "callable": Callable,
    "descriptor": Descriptor,
    "staticmethod": lambda answer: staticmethod(lambda *_: answer),
    "classmethod": lambda answer: classmethod(lambda *_: answer),
    "property": lambda answer: property(lambda self: lambda *_: answer),
    "classmethod-property": lambda answer: classmethod(
        property(lambda cls: lambda *_: answer)
    ),
    "partial": lambda answer: functools.partial(lambda *_: answer),
    "partialmethod": lambda answer: functools.partialmethod(
        lambda *_: answer, 1
    ),
    "bound-method": lambda answer: types.MethodType(lambda *_: answer, 1),
    "cache": lambda answer: functools.lru_cache(lambda *_: answer),
    "singledispatch": lambda answer: functools.singledispatchmethod(
        lambda *_: answer
    ),
    "builtin": lambda answer: abs,
    "other": lambda answer: 5,
    "none": lambda answer: None,
}
BASES = (object, dict, list, tuple, int, str)
# By name: what it answers, and the expressions that ask.
METHODS = {
    "__bool__": (False, "not o", "bool(o)", "1 if o else 2", "any([o])"),
    "__len__": (3, "len(o)", "bool(o)", "1 if o else 2"),
    "__iter__": (iter, "list(o)", "3 in o", "[*o]"),
    "__contains__": (True, "3 in o", "3 not in o", "operator.contains(o, 3)"),
    "__getitem__": (5, "o[0]", "o[1:2]"),
    "__setitem__": (None, "operator.setitem(o, 1, 2)"),
    "__delitem__": (None, "operator.delitem(o, 0)"),
    "__eq__": (True, "o == 1", "1 == o", "o in [1]", "o != 1"),
    "__ne__": (True, "o != 1"),
    "__lt__": (True, "o < 1", "1 > o", "sorted([o, 1]) is None"),
    "__add__": (9, "o + 1", "1 + o"),
    "__radd__": (9, "1 + o", "sum([o])"),
    "__iadd__": (9, "operator.iadd(o, 1)"),
    "__mul__": (9, "o * 2"),
    "__matmul__": (9, "o @ 1"),
    "__divmod__": (9, "divmod(o, 2)"),
    "__pow__": (9, "o ** 2", "pow(o, 2)"),
    "__neg__": (9, "-o"),
    "__invert__": (9, "~o"),
    "__abs__": (9, "abs(o)"),
    "__call__": (9, "o()", "o(1)"),
    "__int__": (9, "int(o)"),
    "__float__": (9.0, "float(o)", "math.sqrt(o)"),
    "__complex__": (9j, "complex(o)"),
    "__round__": (9, "round(o)"),
    "__index__": (1, "[1, 2][o]", "range(o)", "hex(o)"),
    "__str__": ("s", "str(o)", "f'{o}'"),
    "__repr__": ("r", "repr(o)", "f'{o!r}'", "str(o)"),
    "__format__": ("f", "f'{o}'", "format(o, 'x')"),
    "__reversed__": (9, "reversed(o) and 1"),
    "__length_hint__": (4, "operator.length_hint(o)"),
    "__enter__": (9, "entered(o)"),
    "__setattr__": (None, "setattr(o, 'q', 1)"),
    "__getattr__": (9, "o.zz", "hasattr(o, 'zz')", "getattr(o, 'zz', 3)"),
    "__getattribute__": (9, "o.a"),
    "__missing__": (9, "o['q']"),
    "__new__": (9, "type(o)() and 1"),
    "__init__": (None, "type(o)() and 1"),
    "__hash__": (7, "hash(o) == 7", "o in {1}"),
}


def entered(manager):
    with manager as value:
        return value


def world(kind, base, name):
    """A class and an instance of it, made anew; None if Python refuses."""
    answer = METHODS[name][0]
    answer = iter([1, 2]) if answer is iter else answer
    try:
        made = type(
            "Made",
            (base,),
            {name: KINDS[kind](answer), "__exit__": lambda *_: None},
        )
        return made, base.__new__(made)
    except Exception:
        return None


def outcome(program, instance):
    try:
        result = program(X, instance)
    except Exception as error:
        result = type(error), str(error)
    return re.sub("0x[0-9a-f]+", "0x", repr(result))


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_as_in_plain_python(kind, base):
    asked = 0
    for name, (_, *expressions) in METHODS.items():
        for expression in expressions:
            source = (
                "def program(x, o):\n"
                "    y = x + 1\n"
                "    try:\n"
                f"        result = {expression}\n"
                "    except Exception as error:\n"
                "        result = type(error), str(error)\n"
                "    return y, result if type(result) is not type(o) else 0\n"
            )
            scope = {"operator": operator, "math": math, "entered": entered}
            exec(source, scope)
            outcomes = []
            for compiles in (False, True):
                made = world(kind, base, name)
                if made is None:
                    continue
                magneto.reset()
                program = scope["program"]
                if compiles:
                    program = magneto.compile(program, backend="eager")
                outcomes.append(outcome(program, made[1]))
            if outcomes:
                asked += 1
                assert outcomes[0] == outcomes[1], (name, expression)
    assert asked > 40


class Renamed(dict):
    """Methods of C's under other names than C has them."""

    __iter__ = dict.values
    __str__ = dict.__len__


class Searched(tuple):
    __getitem__ = tuple.index


@pytest.mark.parametrize(
    "expression",
    [
        "list(Renamed(a=1))",
        "str(Renamed(a=1))",
        "[*Renamed()]",
        "Searched((3, 4))[4]",
        "Searched((3, 4))[0]",
    ],
)
def test_methods_of_c_under_other_names(expression):
    source = (
        "def program(x, o):\n"
        "    try:\n"
        f"        return x + 1, {expression}\n"
        "    except Exception as error:\n"
        "        return x, type(error), str(error)\n"
    )
    scope = {"Renamed": Renamed, "Searched": Searched}
    exec(source, scope)
    program = scope["program"]
    compiled = magneto.compile(program, backend="eager")
    assert outcome(compiled, None) == outcome(program, None)


class Binding:
    """Gives what binds the class: classmethod asks what it wraps."""

    def __init__(self, answer):
        self.answer = answer

    def __get__(self, instance, owner=None):
        return functools.partial(self.answer, owner)


class WithBinding:
    @classmethod
    @Binding
    def answer(cls):
        return cls.__name__

    @classmethod
    @classmethod
    def twice(cls):
        return cls.__name__


def test_class_methods_of_descriptors():
    def program(x):
        held = WithBinding()
        return x + 1, held.answer(), WithBinding.answer(), held.twice()

    check(program, X, fullgraph=True)


def test_init_that_returns_something():
    class Made:
        def __init__(self):
            return 5

    def program(x):
        try:
            Made()
        except TypeError as error:
            return x + 1, str(error)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    assert compiled(X)[1] == program(X)[1]


SEEN = []


class Rows(type):
    def __iter__(cls):
        SEEN.append("iter")
        yield 1


class Places(type):
    def __getitem__(cls, place):
        SEEN.append(place)
        if place > 1:
            raise IndexError
        return len(SEEN)


class OfRows(metaclass=Rows):
    pass


class OfPlaces(metaclass=Places):
    pass


@pytest.mark.parametrize(
    "take", [list, tuple, sorted, lambda given: 1 in given]
)
@pytest.mark.parametrize("given", [OfRows, OfPlaces])
def test_classes_that_are_gone_through(take, given):
    def program(x):
        SEEN.append("before")
        return take(given), list(SEEN), x + 1

    compiled = magneto.compile(program, backend="eager")
    outcomes = []
    for call in (program, compiled, program, compiled):
        SEEN.clear()
        outcomes.append(call(torch.arange(4.0))[:2])
    assert outcomes == outcomes[:1] * 4
