# SPDX-License-Identifier: BSD-3-Clause
"""Random expressions over a value of every kind and an instance of a class with
one special method, which notes that it was asked; or over two values, of which
one varies from call to call. Operators, subscripts, and functions that ask.

    python -m tests.fuzz.operands [--count N] [--seed S]

Exits with 1 if a call differed; it is printed with what it gave.
"""

from __future__ import annotations

import array
import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import math
import operator
import os
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz.classes import cleaned
from tests.fuzz.command import finding, run_many

BINARY = [
    "+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<",
    "<=", ">", ">=", "==", "!=", "in", "not in",
]  # fmt: skip
EXPRESSIONS = [
    *(f"a {symbol} b" for symbol in BINARY),
    *(f"b {symbol} a" for symbol in BINARY),
    "a[b]", "b[a]", "divmod(a, b)", "divmod(b, a)", "isinstance(a, b)",
    "issubclass(a, b)", "a(b)", "b(a)", "[*a, *b]", "{**a, **b}",
    "(a, b) == (b, a)", "[a] == [b]", "{a: b}[b]", "f'{a:{b}}'",
    "pow(a, b, 3)", "max(a, b)", "sorted([a, b])", "a if b else 1", "a and b",
    "format(b, '')", "getattr(a, 'x', b)", "sum([a, b])", "sum([a], b)",
    "[a][b]", "'ab'[b]", "slice(a, b).indices(5)", "range(b)",
    "str((a, b))", "dict([(a, b)])", "bytes(b)", "int(b)", "float(b)",
    "complex(b)", "len(b)", "list(b)", "tuple(b)", "iter(b)", "next(b)",
    "abs(b)", "round(b)", "-b", "bool(b)", "str(b)", "ord(b)", "chr(b)",
    "hex(b)", "bin(b)", "reversed(b)", "enumerate(b)", "sum(b)", "any(b)",
    "min(b)", "int('11', b)", "round(2.55, b)", "'x'.center(b)",
    "'abc'.find('c', b)", "[1, 2].insert(b, 3)", "'a'.join(b)",
    "math.gcd(b, 4)", "math.sqrt(b)", "operator.index(b)",
    "operator.length_hint(b, 3)", "print(b, end='')", "torch.ones(2)[b]",
    "torch.ones(2) + b", "torch.full((2,), b)", "torch.arange(b)",
    "torch.tensor(b)", "torch.tensor([b])", "torch.ones(2, 2).sum(b)",
    "torch.ones(4).reshape(b, -1)", "collections.Counter(b)", "dict(b)",
    "type(a).__mul__(a, b)", "os.fspath(b)", "'{:>4}'.format(b)", "'%s' % b",
    "'%d' % b", "'%r %f' % (a, b)", "[*itertools.islice(range(9), b)]",
    "[*itertools.repeat(1, b)]", "[1, 2, 3][b:]", "(1, 2, 3)[:b]",
    "functools.reduce(operator.add, [a, b])", "a.__eq__(b)", "callable(b)",
]  # fmt: skip
STATEMENTS = [
    *(f"a {symbol}= b" for symbol in BINARY[:13]),
    "b += a", "a[b] = 1", "a[:] = b", "a[0:1] = b", "del a[b]", "x, y = b",
    "x, *y = b", "a.extend(b)", "a.update(b)", "a.append(b)", "a.x = b",
    "with b: pass", "assert b", "raise b", "for x in b: break",
    "match b:\n    case [x, y]: a = x\n    case {}: a = 2",
    "match b:\n    case 1: a = 'one'\n    case str(): a = 2",
]  # fmt: skip


class Plain:
    """Without a method."""

    def __repr__(self) -> str:
        return "plain"


class Choice(enum.IntEnum):
    """Whose members are numbers."""

    ONE = 1
    TWO = 2


# Made anew for each call; of those that vary, with the number of the call.
VALUES: list[Callable[[], Any]] = [
    lambda: 3, lambda: 10**30, lambda: True, lambda: 2.5, lambda: 1j,
    lambda: "a%s", lambda: "a%d", lambda: b"a%s", lambda: (1, 2), lambda: (),
    lambda: [1, 2], lambda: {1: 2}, lambda: {1, 2}, lambda: frozenset({1}),
    lambda: range(3), lambda: None, lambda: collections.deque([1, 2]),
    lambda: collections.OrderedDict(a=1), lambda: collections.Counter("ab"),
    lambda: {1: 2}.keys(), lambda: {1: 2}.values(), lambda: {1: 2}.items(),
    lambda: torch.Size([1, 2]), lambda: Choice.ONE, Plain, lambda: Plain,
    lambda: fractions.Fraction(1, 2), lambda: decimal.Decimal(2),
    lambda: int, lambda: torch.ones(2), lambda: np.float64(2),
    lambda: np.int64(2), lambda: bytearray(b"ab"), lambda: slice(1),
    lambda: ..., lambda: datetime.timedelta(1),
    lambda: array.array("i", [1, 2]), lambda: types.MappingProxyType({1: 2}),
]  # fmt: skip
VARYING: list[Callable[[int], Any]] = [
    lambda i: np.int64(i), lambda i: np.int32(i), lambda i: np.float64(i + 0.5),
    lambda i: np.float32(i), lambda i: np.bool_(i % 2), lambda i: np.uint8(i),
    lambda i: np.complex128(i + 1j), lambda i: np.float16(i), lambda i: i,
    lambda i: i + 0.5, lambda i: "a" + str(i), lambda i: (i, i + 1),
    lambda i: b"q" + bytes([65 + i]), lambda i: complex(i, 1),
    lambda i: decimal.Decimal(i), lambda i: fractions.Fraction(i, 2),
    lambda i: slice(i), lambda i: range(i), lambda i: 10**20 + i,
    lambda i: datetime.timedelta(i), lambda i: frozenset([i]),
    lambda i: [Choice.ONE, Choice.TWO][i % 2], lambda i: torch.Size([i, 2]),
    lambda i: [torch.float32, torch.float64][i % 2],
    lambda i: np.dtype(["f4", "i4"][i % 2]),
]  # fmt: skip
SPECIALS: list[tuple[str, Any]] = [
    ("__index__", 1), ("__index__", ValueError), ("__index__", "x"),
    ("__int__", 3), ("__float__", 2.5), ("__complex__", 1j), ("__len__", 2),
    ("__len__", -1), ("__bool__", False), ("__bool__", 3),
    ("__iter__", ValueError), ("__iter__", 5), ("__hash__", 7),
    ("__hash__", ValueError), ("__eq__", True), ("__eq__", NotImplemented),
    ("__contains__", True), ("__getitem__", IndexError), ("__add__", 1),
    ("__radd__", NotImplemented), ("__radd__", 9), ("__rmul__", 9),
    ("__mul__", NotImplemented), ("__iadd__", 8), ("__lt__", True),
    ("__gt__", NotImplemented), ("__rmod__", 5), ("__str__", "s"),
    ("__str__", 4), ("__format__", "f"), ("__bytes__", b"q"),
    ("__fspath__", "p"), ("__fspath__", 4), ("__reversed__", 6),
    ("__missing__", 3), ("__length_hint__", ValueError), ("__ror__", 4),
    ("__ror__", NotImplemented), ("__call__", 4), ("__enter__", 4),
    ("__trunc__", 3), ("__round__", 2), ("__abs__", 2), ("__neg__", 2),
    ("__setitem__", None), ("__delitem__", None),
]  # fmt: skip
BASES = [
    object, object, object, int, str, float, tuple, list, dict, set, bytes,
    frozenset, complex, bytearray, Exception, collections.deque,
    collections.OrderedDict, collections.Counter,
]  # fmt: skip
# torch takes the length of a list's own for that of its memory, and crashes.
UNSAFE = [("__len__", list), ("__len__", tuple)]

ASKED: list[str] = []


def one_method(name: str, answer: Any, base: type) -> type:
    """A class with one special method, which notes that it was called."""

    def method(self: Any, *others: Any) -> Any:
        ASKED.append(name)
        if isinstance(answer, type) and issubclass(answer, BaseException):
            raise answer("x")
        return answer

    return type("Odd", (base,), {name: method, "__repr__": lambda self: "odd"})


def function_of(source: str, is_statement: bool) -> Callable[[Any, Any], Any]:
    """It gives what an expression gives, or the operands behind a statement."""
    body = source if is_statement else f"return {source}"
    lines = ["def f(a, b):", "    try:"]
    lines += [f"        {line}" for line in body.split("\n")]
    lines += ["    except Exception as error:"]
    lines += ["        return type(error), str(error)", "    return a, b"]
    namespace = {
        "collections": collections, "functools": functools, "math": math,
        "itertools": itertools, "operator": operator, "os": os, "torch": torch,
    }  # fmt: skip
    exec("\n".join(lines), namespace)
    return namespace["f"]


def is_huge(value: Any) -> bool:
    """Whether it takes forever to raise something to its power."""
    return isinstance(value, int) and value > 10**9


def layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    """How it lies in its memory."""
    return tensor.stride(), tensor.storage_offset(), tensor.is_contiguous()


def shares(result: Any, operand: Any) -> Any:
    """Whether a result is an operand, or has the memory of it."""
    if isinstance(result, torch.Tensor) and isinstance(operand, torch.Tensor):
        memory = result.untyped_storage().data_ptr()
        if memory and memory == operand.untyped_storage().data_ptr():
            return "is" if result is operand else "shares"
        return ""
    plain = int | float | complex | str | bytes | frozenset | np.generic
    is_plain = isinstance(result, plain)
    return result is operand and not is_plain


def shown(value: Any) -> str:
    """In words that two runs share."""
    try:
        if isinstance(value, set | frozenset):
            return type(value).__name__ + repr(sorted(map(shown, value)))
        text = repr(value)
        if type(value) is torch.Tensor:
            text += repr((layout(value), value.is_leaf))
        if "iterator" in text or "object at" in text:
            text += repr([*itertools.islice(value, 5)])
    except Exception as error:
        text = repr(error)
    return type(value).__name__ + cleaned(text)


def told_of(call: Callable[..., Any], *operands: Any) -> str:
    """What a call gives, asks, prints and leaves, as text."""
    ASKED.clear()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            made = call(*operands)
            result = shown(made)
            if not isinstance(made, tuple | list):
                made = [made]
            result += repr([shares(m, o) for m in made for o in operands])
        except BaseException as error:
            result = f"raised {error!r}"
    # Where torch's own code has raised is none of ours.
    result = result.split("Exception raised from")[0]
    left = [shown(operand) for operand in operands]
    return repr((result, ASKED, left, cleaned(printed.getvalue())))


def try_seed(seed: int) -> str:
    """What differs for the calls of a seed; empty if nothing."""
    choose = random.Random(seed)
    is_statement = choose.random() < 0.2
    source = choose.choice(STATEMENTS if is_statement else EXPRESSIONS)
    function = function_of(source, is_statement)
    is_swapped = choose.random() < 0.3
    kept: dict[bool, Any] = {}
    make = choose.choice(VALUES)
    about = source
    if choose.random() < 0.6:
        special, base = choose.choice(SPECIALS), choose.choice(BASES)
        if (special[0], base) in UNSAFE:
            return ""
        odd = one_method(*special, base)
        about += f"\n{special} of {base.__name__}"
        operands = [(make, odd)] * 2
        # The same one in each call, so that nothing but the method is asked.
        if choose.random() < 0.5:
            kept = {True: odd(), False: odd()}
            operands = [(make, odd)] * 3
        dynamic = None
    else:
        vary = choose.choice(VARYING)
        if choose.random() < 0.4:
            other = choose.choice(VARYING)
            make = functools.partial(other, 3)
        about += f"\n{shown(vary(2))}, varying"
        operands = [(make, functools.partial(vary, i)) for i in (2, 2, 3, 4, 3)]
        dynamic = choose.choice([None, True])
    about += f"\n{shown(make())}{', swapped' if is_swapped else ''}"
    if "**" in source and any(is_huge(v()) for pair in operands for v in pair):
        return ""
    compiled = magneto.compile(function, backend="eager", dynamic=dynamic)
    differs = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, second in operands:
            pairs = [
                (first(), kept[is_first] if kept else second())
                for is_first in (True, False)
            ]
            if is_swapped:
                pairs = [(b, a) for a, b in pairs]
            expected = told_of(function, *pairs[0])
            found = told_of(compiled, *pairs[1])
            if expected != found:
                differs = f"{expected}\n{found}"
                break
    if seed % 100 == 0:
        magneto.reset()
    return finding(seed, about, differs)


if __name__ == "__main__":
    sys.exit(run_many(__doc__, try_seed))
