# SPDX-License-Identifier: BSD-3-Clause
"""Operators and functions with operands of unusual kinds: NumPy's numbers that
vary, classes derived from builtin ones with one special method, and what C code
makes of other numbers.
"""

import collections
import decimal
import fractions
import os
from typing import Any

import numpy as np
import pytest
import torch

import magneto

NOTES: list[Any] = []


def noting(name, answer, base=object):
    """An instance of a class with one special method."""

    def method(self, *others):
        NOTES.append((name, *map(repr, others)))
        return answer

    made = type("Odd", (base,), {name: method, "__repr__": lambda self: "odd"})
    return made()


def told(call, *operands):
    NOTES.clear()
    try:
        result = call(*operands)
        result = type(result), repr(result)
    except Exception as error:
        result = type(error), str(error)
    return result, [*NOTES], repr(operands[0])


NUMPY = {
    "an item": lambda items, n: items[n],
    "an item that is written": lambda items, n: items.__setitem__(n, 0),
    "an item that is deleted": lambda items, n: items.pop(n),
    "a slice": lambda items, n: items[n:],
    "a size": lambda items, n: torch.Size([n, 2]).numel(),
    "where to insert": lambda items, n: items.insert(n, 5),
    "among others": lambda items, n: n in items,
    "in a set": lambda items, n: n in {1, 2},
    "in a dict": lambda items, n: n not in {1: 2},
    "a key": lambda items, n: {n: 1}[n],
    "a key of a number": lambda items, n: {int(n): 1}.get(n),
    "a list": lambda items, n: n + items,
    "repeats": lambda items, n: n * items,
    "compares with a list": lambda items, n: n == items,
    "compares with a tuple": lambda items, n: n != (1, 2),
    "divides": lambda items, n: divmod(n, fractions.Fraction(3, 2)),
    "a deque": lambda items, n: n - collections.deque(),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("program", NUMPY.values(), ids=NUMPY)
def test_a_number_of_numpys_that_varies(program, kind, dynamic):
    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for n in (1, 1, 2, 3, 2):
        expected = told(program, [4, 5, 6, 7], kind(n))
        assert told(compiled, [4, 5, 6, 7], kind(n)) == expected


@pytest.mark.parametrize("symbol", ["+", "%", "<<", "<", ">=", "==", "+="])
@pytest.mark.parametrize("answer", [NotImplemented, 9])
def test_numpy_gives_a_method_pythons_numbers(symbol, answer):
    reflected = {"+": "__radd__", "+=": "__radd__", "%": "__rmod__",
                 "<<": "__rlshift__", "<": "__gt__", ">=": "__le__",
                 "==": "__eq__"}[symbol]  # fmt: skip
    known: dict[str, Any] = {}
    exec(
        "def program(a, b):\n    a += b\n    return a"
        if symbol == "+="
        else f"def program(a, b):\n    return a {symbol} b",
        known,
    )
    program = known["program"]
    compiled = magneto.compile(program, backend="eager")
    for number in (np.float64(2), np.int64(2)):
        for _ in range(2):
            operands = number, noting(reflected, answer)
            assert told(compiled, *operands) == told(program, *operands)


@pytest.mark.parametrize("form", ["%f", "%g", "%5.2e", "%d", "%i", "%x", "%c"])
@pytest.mark.parametrize(
    "number", [decimal.Decimal("2.5"), fractions.Fraction(5, 2)], ids=str
)
def test_text_of_other_numbers(form, number):
    programs = [
        lambda n: form % n,
        lambda n: form % (n,),
        lambda n: ("%r " + form) % ("a", n),
        lambda n: ("%(n)" + form[1:]) % {"n": n},
    ]
    for program in programs:
        compiled = magneto.compile(program, backend="eager")
        for _ in range(2):
            assert told(compiled, number) == told(program, number)


# A program, and the operands, made anew for each call.
ASKED = {
    "bytes format what has a method of its own": (
        lambda a, b: a % b, lambda: (b"a%s", noting("__rmod__", 5))),
    "a deque asks a number's method first": (
        lambda a, b: b * a,
        lambda: (collections.deque([1]), noting("__mul__", NotImplemented))),
    "a deque repeated in place": (
        lambda a, b: a.__imul__(b) and a,
        lambda: (collections.deque([1]), noting("__len__", 2))),
    "a deque repeated by a dict's": (
        lambda a, b: a * b,
        lambda: (collections.deque([1]), noting("__index__", 2, dict))),
    "a path": (lambda a, b: os.fspath(a), lambda: (torch.Size([1]), 0)),
    "a path that is none": (
        lambda a, b: os.fspath(b), lambda: (0, noting("__fspath__", 4))),
    "no class among none": (
        lambda a, b: issubclass(a, b),
        lambda: (fractions.Fraction(1), noting("__len__", 1, tuple))),
    "the text of a bytearray's": (
        lambda a, b: (str(b), f"{b}", "%s" % b),
        lambda: (0, noting("__len__", 1, bytearray))),
    "in a bytearray's": (
        lambda a, b: a in b, lambda: (97, noting("__iter__", 5, bytearray))),
    "in a view of items": (
        lambda a, b: b in a.items(),
        lambda: ({1: 2}, noting("__iter__", 5, tuple))),
    "the keys of an OrderedDict's": (
        lambda a, b: [key for key in b] + [*reversed(b)],
        lambda: (0, noting("__len__", 3, collections.OrderedDict))),
    "a set in place": (
        lambda a, b: a.__ior__(b) and a,
        lambda: ({1}, noting("__ror__", NotImplemented, frozenset))),
    "a float that is an index": (
        lambda a, b: a[b],
        lambda: (torch.ones(2), noting("__index__", 1, float))),
    "a text that is an index": (
        lambda a, b: a.sum(b),
        lambda: (torch.ones(2), noting("__index__", 0, str))),
    "bytes with a length": (
        lambda a, b: a.__setitem__(b, 1),
        lambda: (torch.ones(2), noting("__len__", 1, bytes))),
    "a tensor among texts": (
        lambda a, b: [a] == [b],
        lambda: (torch.ones(2), noting("__eq__", NotImplemented, str))),
    "a tensor and a number": (
        lambda a, b: b == a,
        lambda: (torch.ones(2), noting("__eq__", NotImplemented, float))),
    "a size that is too large": (
        lambda a, b: torch.Size([a, b]).numel(), lambda: (10**20, 2)),
    "a size": (
        lambda a, b: b + a,
        lambda: (torch.Size([1]), noting("__radd__", NotImplemented, tuple))),
}  # fmt: skip


@pytest.mark.parametrize(("program", "make"), ASKED.values(), ids=ASKED)
def test_what_is_asked(program, make):
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert told(compiled, *make()) == told(program, *make())


@pytest.mark.parametrize("kind", [np.float64, np.complex128, np.float32])
def test_a_tensor_of_a_number_that_varies_and_one_of_numpys(kind):
    def program(n, other):
        return torch.tensor([n, other]), torch.tensor([[other], (n,)])

    compiled = magneto.compile(program, backend="eager")
    for n in (1, 2, 3):
        assert told(compiled, n, kind(2)) == told(program, n, kind(2))
