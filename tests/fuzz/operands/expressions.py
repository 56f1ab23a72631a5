# SPDX-License-Identifier: BSD-3-Clause
"""Random expressions over two values: one of any kind, and an instance of a class
with special methods, or two of which one varies from call to call. Operators,
subscripts, and functions that ask: whatever C code runs of the program's must
run each time.
"""

from __future__ import annotations

import array
import collections
import copy
import datetime
import decimal
import fractions
import functools
import itertools
import json
import math
import operator
import os
import random
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz.operands.odd import Choice, Odd, is_huge, shown, told_of
from tests.fuzz.support.running import finding, is_python
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import caught

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
    # What hashes by address is another one in each run.
    "type(b).__hash__ in (object.__hash__, torch.Tensor.__hash__) or hash(b)",
    "repr(b)", 'f"{b}"', 'f"{b!r:>9}"', '"%s" % b', '"%r" % (b,)', "format(b)",
    '"{}".format(b)', '"%d" % b', '"%5.1f" % b', '"{:{}}".format(1, b)',
    '"%*d" % (b, 3)', "not b", "~b", "round(b, 1)", "divmod(b, 2)",
    "divmod(7, b)", "b + 1", "1 + b", "b - 1", "1 - b", "b * 2", "2 * b",
    "b % 2", "7 % b", "b ** 2", "2 ** b", "b == 3", "3 == b", "b != 3",
    "b < 3", "3 < b", "b >= 1", "b <= b", "{b: 1}[b]",
    "len({b, b})", "b in {3}", "b in [3]", "3 in [b]", "b in (3,)",
    "[3, 4].index(b)", "[b].count(3)", "max(b, 1)", "max([b, 1])", "min(1, b)",
    "sum([b, 1])", "sorted([b, 1])", "math.floor(b)", "math.ceil(b)",
    "math.trunc(b)", "math.gcd(b, 6)", "math.prod([b])", "math.isclose(b, 1)",
    "math.fsum([b])", "[1, 2, 3, 4, 5][b]", '"abcdef"[b]', "(1, 2, 3, 4)[:b]",
    "oct(b)", "sorted(b)", "list(reversed(b))", "1 in b", '"a" in b', "b[0]",
    "b[:1]", "next(iter(b))", "[*b]", "{**b}", "list(enumerate(b))",
    "list(zip(b, b))", "list(map(str, b))", "all(b)", "max(b)", '",".join(b)',
    '",".join([b])', 'b.join(["a", "b"])', '"ab".startswith(b)',
    '"xaby".find(b)', '"xaby".replace(b, "z")', '"xaby".split(b)', "b.upper()",
    'b.replace("a", "b")', '"a" + b', 'b + "a"', "bytes([b])",
    'str(b, "utf8")', "b.decode()", "json.dumps(b)", "json.dumps([b])",
    're.match("a", b) and 1', 're.sub("a", "b", b)', 're.sub("a", b, "aab")',
    "isinstance(b, int)", "copy.copy(b)", "copy.deepcopy(b)",
    "list(itertools.repeat(1, b))", "list(itertools.islice([1, 2, 3], b))",
    "list(itertools.accumulate([b, 1]))", "list(itertools.chain(b))",
    "functools.reduce(operator.add, [b, 1])", "operator.truth(b)",
    "operator.contains(b, 1)", "operator.length_hint(b)", "[0] * b", '"a" * b',
    "slice(1, b).indices(5)", 'int("3", b)', '(5).to_bytes(b, "big")',
    "pow(b, 2, 5)", '"x".center(b)', '"x".zfill(b)', "type(b)(b)", "b or 5",
    "b and 5", "5 if b else 6", "[i for i in b]", "b.index(1)", "b.count(1)",
    "b.get(1)", "list(b.keys())", "list(b.items())", "b | {1: 2}", "b & {1}",
    "b.union([5])", "b.copy()", "[5] + b", "{1, 2}.union(b)", "(5,) + b",
    "x + b", "b + x", "x * b", "b * x", "x - b", "x == b", "b == x",
    "torch.where(x > 0, x, b)",
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
NAMESPACE = named(
    collections, copy, functools, itertools, json, math, operator, os, re,
    torch,
)  # fmt: skip


def is_known(odd: Odd, source: str) -> bool:
    """Whether it is odder than any program: an __index__ of what C code knows
    to be no number, the length that C code asks of a set to show it, or of what
    is reversed, and a __trunc__ behind "%d".
    """
    base, names = odd.base, odd.names
    return (
        ("__index__" in names and base in (float, str, bytes, complex))
        or ("__len__" in names and base in (frozenset, set))
        or ("__len__" in names and "reversed" in source)
        or ("__trunc__" in names and "%" in source)
    )


class Trial:
    """A function of two values and a tensor, and the values of some calls."""

    def __init__(self, choose: random.Random) -> None:
        is_statement = choose.random() < 0.15
        self.code = choose.choice(STATEMENTS if is_statement else EXPRESSIONS)
        # It gives what an expression gives, or the operands behind a statement;
        # with a graph around that, or without.
        body = self.code
        if not is_statement:
            form = choose.choice(["return {}"] * 2 + ["return x + 1, ({})"])
            body = form.format(self.code)
        lines = ["def program(a, b, x):", "    notes = []"]
        lines += caught(body.split("\n"))
        self.source = "\n".join([*lines, "    return a, b, notes"])
        self.is_swapped = choose.random() < 0.3
        self.first = choose.choice(VALUES)
        self.dynamic = None
        self.odd: Odd | None = None
        self.is_kept = choose.random() < 0.5
        if choose.random() < 0.7:
            self.odd = Odd(choose, choose.choice([1, 1, 1, 2, 3]))
            # The same one in each call, so that nothing but the method is asked.
            self.calls = (1, 2, 2) if self.is_kept else (1, 2)
            self.about = str(self.odd)
            return
        self.is_kept = False
        self.vary = choose.choice(VARYING)
        if choose.random() < 0.4:
            self.first = functools.partial(choose.choice(VARYING), 3)
        self.calls = (2, 2, 3, 4, 3)
        self.dynamic = choose.choice([None, True])
        self.about = f"{shown(self.vary(2))}, varying"

    def operands(self) -> Iterator[list[Any]]:
        """Those of each call."""
        cls = self.odd and self.odd.new_type()
        kept = self.odd and self.odd.made(1, cls)
        for call in self.calls:
            if self.odd is None:
                second = self.vary(call)
            elif self.is_kept:
                second = kept
                second.call = call
            else:
                second = self.odd.made(call, cls)
            both = [self.first(), second]
            if self.is_swapped:
                both.reverse()
            yield both

    def is_left_out(self) -> bool:
        """Whether nothing can be said of it."""
        if not is_python(self.source):
            return True
        if self.odd and self.odd.is_unsafe and "torch" in self.code:
            return True
        return "**" in self.code and any(
            is_huge(value) for values in self.operands() for value in values
        )


def with_tensor(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call of two values, which is given a tensor, too."""
    return lambda a, b: call(a, b, torch.ones(2))


def try_seed(seed: int) -> str:
    """What differs for the calls of a seed; empty if nothing."""
    trial = Trial(random.Random(seed))
    differs = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if trial.is_left_out():
            return ""
        namespace: dict[str, Any] = dict(NAMESPACE)
        exec(compile(trial.source, "<program>", "exec"), namespace)
        program = namespace["program"]
        compiled = magneto.compile(
            program, backend="eager", dynamic=trial.dynamic
        )
        for given, again in zip(
            trial.operands(), trial.operands(), strict=True
        ):
            expected = told_of(with_tensor(program), *given)
            found = told_of(with_tensor(compiled), *again)
            if expected != found:
                differs = f"{expected}\n{found}"
                break
    if seed % 100 == 0:
        magneto.reset()
    if trial.odd and is_known(trial.odd, trial.code):
        return ""
    about = f"{trial.source}\n{trial.about}, with {shown(trial.first())}"
    return finding(seed, about + ", swapped" * trial.is_swapped, differs)
