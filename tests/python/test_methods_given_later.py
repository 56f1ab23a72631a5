# SPDX-License-Identifier: BSD-3-Clause
"""A class that is given a special method, or loses it, between the calls of what
was compiled for its instances: also where only C code looks for the method."""

import collections
import math
from typing import Any

import pytest
import torch

import magneto

NOTES: list[Any] = []

PROGRAMS = {
    "a key of a dict": ("__hash__", lambda odd: {odd: 1}),
    "a key that is looked up": ("__hash__", lambda odd: {1: 2}.get(odd)),
    "a key that is taken out": ("__hash__", lambda odd: {1: 2}.pop(odd, 3)),
    "a key of an empty dict": ("__hash__", lambda odd: {}.pop(odd, 3)),
    "an item of a set": ("__hash__", lambda odd: sorted(map(repr, {odd, 1}))),
    "what a set is asked for": ("__hash__", lambda odd: odd in {1, 2}),
    "a key in a tuple": ("__hash__", lambda odd: {(odd, 1): 2}),
    "a text of a key": ("__hash__", lambda odd: repr({odd: odd})),
    "pairs": ("__hash__", lambda odd: dict([(odd, odd)])),
    "a counter": ("__hash__", lambda odd: collections.Counter([odd, odd])),
    "a hash": ("__hash__", lambda odd: hash((odd,)) == hash((odd,))),
    "equal keys": ("__eq__", lambda odd: {odd: 1}.get(odd)),
    "an item that is written": ("__index__", lambda odd: {1}.__class__ and put({1}, odd)),
    "an item that is deleted": ("__index__", lambda odd: drop({1}, odd)),
    "a position": ("__index__", lambda odd: [1, 2, 3][odd]),
    "a bound": ("__index__", lambda odd: [1, 2, 3].index(3, odd)),
    "a slice of a tensor": ("__index__", lambda odd: torch.ones(3)[odd : torch.tensor(2)]),
    "a count of a deque": ("__index__", lambda odd: collections.deque([1]) * odd),
    "a real number": ("__float__", lambda odd: math.sqrt(odd)),
    "a divisor": ("__index__", lambda odd: math.gcd(odd, 4)),
    "what is called": ("__call__", lambda odd: odd()),
    "whether it is called": ("__call__", lambda odd: callable(odd)),
    "what is unpacked": ("__iter__", lambda odd: unpacked(odd)),
    "arguments": ("__iter__", lambda odd: max(*odd)),
    "truth": ("__bool__", lambda odd: not odd),
    "truth by length": ("__len__", lambda odd: not odd),
    "a text": ("__str__", lambda odd: f"{odd}"),
    "an operand": ("__radd__", lambda odd: 1 + odd),
    "a member": ("__contains__", lambda odd: 1 in odd),
}  # fmt: skip
ANSWERS = {
    "__eq__": True,
    "__str__": "text",
    "__float__": 4.0,
    "__bool__": False,
}


def put(items, key):
    items[key] = 1


def drop(items, key):
    del items[key]


def unpacked(items):
    a, b = items
    return a, b


def method_of(name):
    """Of an instance: the first word tells which of the two was called."""

    def method(self, *others):
        NOTES.append(name)
        if name == "__iter__":
            return iter((1, 2))
        return ANSWERS.get(name, 1)

    return method


def told(call, odd):
    NOTES.clear()
    try:
        result = call(odd)
        result = type(result), repr(result)
    except Exception as error:
        result = type(error), str(error)
    return result, [*NOTES]


@pytest.mark.parametrize("base", [object, str, list, dict, tuple, int, float])
@pytest.mark.parametrize(("name", "use"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_method_that_a_class_is_given_later(name, use, base):
    def program(odd):
        try:
            return use(odd)
        except Exception as error:
            return type(error), str(error)

    def runs(call):
        cls = type("Odd", (base,), {"__repr__": lambda self: "odd"})
        odd, found = cls(), []
        for step in range(6):
            if step == 2:
                setattr(cls, name, method_of(name))
            if step == 4:
                delattr(cls, name)
            found.append(told(call, odd))
        return found

    compiled = magneto.compile(program, backend="eager")
    assert runs(compiled) == runs(program)
