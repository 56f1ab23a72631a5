# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of C functions and methods with up to three arguments: values
that vary from call to call, instances with one special method, which notes that
it was asked and may answer otherwise each time, and containers of these, made
anew or kept and changed between the calls; so are the classes of the instances.
"""

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import copy
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import random
import re
import statistics
import string
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz.operands.odd import (
    SPECIALS,
    UNSAFE,
    Choice,
    Odd,
    is_huge,
    method_of,
    shown,
    told_of,
)
from tests.fuzz.operands.templates import CALLS, STATEMENTS, WRITTEN
from tests.fuzz.support.running import finding, is_python
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import caught, filled

# What makes an operand from the number of the call.
Makers = list[Callable[[int], Any]]
SIMPLE: Makers = [
    lambda i: i, lambda i: i, lambda i: i - 2, lambda i: 2, lambda i: 0,
    lambda i: 1, lambda i: i + 0.5, lambda i: float(i), lambda i: bool(i % 2),
    lambda i: -1,
]  # fmt: skip
NUMBERS: Makers = [
    lambda i: i, lambda i: i, lambda i: i - 2, lambda i: 2, lambda i: i + 0.5,
    lambda i: float(i), lambda i: bool(i % 2), lambda i: None if i == 3 else i,
    lambda i: np.int64(i), lambda i: np.float32(i), lambda i: np.bool_(i % 2),
    lambda i: 10**20 + i, lambda i: complex(i, 1), lambda i: math.nan,
    lambda i: [Choice.ONE, Choice.TWO][i % 2], lambda i: decimal.Decimal(i),
    lambda i: fractions.Fraction(i, 2), lambda i: [0, 0.0, False, -0.0][i % 4],
    lambda i: torch.tensor(i), lambda i: i if i % 2 else i + 0.5,
    lambda i: np.array(i), lambda i: "a" if i == 4 else i,
]  # fmt: skip
TEXTS: Makers = [
    lambda i: "a b,c", lambda i: "a" * i, lambda i: str(i), lambda i: "%d {}",
    lambda i: "ab"[i % 2], lambda i: b"ab" if i == 3 else "ab", lambda i: "",
    lambda i: f"{i}d", lambda i: ">5", lambda i: "[ab]+", lambda i: "ij,jk->ik",
    lambda i: ".2f", lambda i: "{0}{1!r:>4}",
]  # fmt: skip
TENSORS: Makers = [
    lambda i: torch.arange(4.0), lambda i: torch.ones(i, 2),
    lambda i: torch.eye(3), lambda i: torch.arange(6).reshape(2, 3),
    lambda i: torch.tensor(i), lambda i: torch.ones(2, 3, i),
    lambda i: torch.tensor([True, False]), lambda i: torch.zeros(i),
    lambda i: torch.ones(2, dtype=torch.float64),
    lambda i: torch.ones(2, requires_grad=True),
    lambda i: torch.ones(2).expand(3, 2),
    lambda i: torch.arange(6.0).view(2, 3).t(),
    lambda i: torch.nn.Parameter(torch.ones(2, 2)),
    lambda i: torch.ones(2, dtype=torch.complex64),
    lambda i: torch.ones(2, dtype=torch.int8),
    lambda i: torch.ones(2, requires_grad=i % 2 == 0) * 2,
    lambda i: torch.ones(2, dtype=[torch.float32, torch.float16, torch.int64][i % 3]),
    lambda i: torch.arange(4.0)[::2], lambda i: torch.empty(0, 3),
    lambda i: torch.ones(1, 1, 2, 2),
]  # fmt: skip
# How a sequence is made of items.
SEQUENCES: list[Callable[[list[Any]], Any]] = [
    list, list, tuple, tuple, iter, lambda v: (w for w in v), collections.deque,
    lambda v: dict.fromkeys(v).keys(), lambda v: dict(enumerate(v)).values(),
    set, lambda v: range(len(v) + 2), lambda v: np.array([int(w) for w in v]),
    lambda v: array.array("i", v), lambda v: bytes(v), lambda v: torch.Size(v),
    lambda v: [v, v], frozenset, lambda v: collections.OrderedDict.fromkeys(v),
    lambda v: map(abs, v), reversed, lambda v: [(w, w) for w in v],
    lambda v: zip(v, v), lambda v: v[0], lambda v: [],
    lambda v: [torch.ones(2), *v[:1]],
    lambda v: [torch.ones(2), torch.zeros(2)],
    lambda v: type("Mine", (list,), {})(v),
    lambda v: type("Mine", (tuple,), {})(v),
    lambda v: collections.namedtuple("Two", "p q")(v[0], v[-1]), enumerate,
]  # fmt: skip
DICTS: list[Callable[[list[Any]], Any]] = [
    dict.fromkeys, lambda v: dict(enumerate(v)), lambda v: {"k": v[0], "l": v},
    lambda v: {w: w for w in v}, collections.OrderedDict.fromkeys,
    lambda v: collections.defaultdict(int, {1: v[0]}), collections.Counter,
    lambda v: {str(w): w for w in v},
    lambda v: type("Mine", (dict,), {})({1: v}), lambda v: {97: v[0]},
    lambda v: collections.ChainMap({1: v[0]}, {2: 3}),
]  # fmt: skip
# What goes on forever, or nearly so, with a number that is huge.
ENDLESS = ("**", "pow", "range", "<<", "comb", "perm", "factorial", "prod")


def change_class(kept: Any, choose: random.Random) -> None:
    """Give the class of an instance a special method, or take one away."""
    owner = type(kept)
    own = [name for name, of in vars(owner).items() if callable(of)]
    if own and choose.random() < 0.3:
        delattr(owner, choose.choice(own))
        return
    name, answer = choose.choice(SPECIALS)
    if not any(issubclass(owner, base) for at, base in UNSAFE if at == name):
        setattr(owner, name, method_of(name, answer))


def odd_ones(kept: Any) -> list[Any]:
    """The instances that are an operand, or that it holds."""
    if hasattr(kept, "call"):
        return [kept]
    if isinstance(kept, dict):
        kept = [*dict.keys(kept), *dict.values(kept)]
    if not isinstance(kept, list | tuple | set | frozenset | collections.deque):
        return []
    return [item for item in kept if type(item).__name__ == "Odd"]


def has_order(item: Any) -> bool:
    """Whether its place in a set isn't that of its address."""
    return "__hash__" in vars(type(item)) and item == item


class Writer:
    """Writes one expression or statement, and says what its operands are."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.kinds: dict[str, str] = {}  # of the operands that it has named
        self.depth = 0

    def source(self) -> str:
        """The lines of a function of three operands."""
        if self.choose.random() < 0.2:
            self.kinds = {name: self.choose.choice("sssdxnt") for name in "ab"}
            body = self.filled(self.choose.choice(STATEMENTS))
        else:
            body = "return " + self.call_of(self.choose.choice("nnssttdxx"))
            # What fails behind a write has to leave it behind.
            if self.choose.random() < 0.3:
                body = f"{self.operand('x')}.add_(1)\n{body}"
        lines = ["def program(a, b, c):", "    notes = []"]
        lines += caught(body.split("\n"))
        return "\n".join([*lines, "    return a, b, c, notes"])

    def call_of(self, kind: str) -> str:
        """An expression that gives something of a kind."""
        self.depth += 1
        text = self.filled(self.choose.choice(CALLS[kind]))
        self.depth -= 1
        return text

    def filled(self, template: str) -> str:
        """With something in each hole."""
        return filled(
            template,
            **{k: functools.partial(self.hole, k) for k in "nstdxfa"},
        )

    def hole(self, kind: str) -> str:
        """A call of a kind, or an operand."""
        chance = 0.35 - 0.1 * self.depth
        nests = kind == "f" or self.choose.random() < chance
        if nests and self.depth < 4:
            return self.call_of(kind)
        return self.operand(kind)

    def operand(self, kind: str) -> str:
        """One of the kind, mostly: by its name, or written out."""
        fitting = [name for name in self.kinds if self.kinds[name] == kind]
        free = [name for name in "abc" if name not in self.kinds]
        chance = self.choose.random()
        if self.kinds and chance < 0.08:
            return self.choose.choice(list(self.kinds))
        if fitting and (not free or chance < 0.5):
            return self.choose.choice(fitting)
        if not free or chance > 0.9:
            return self.choose.choice(WRITTEN[kind])
        self.kinds[free[0]] = kind
        return free[0]


class Operand:
    """Makes one operand for each call, or keeps it and changes it between."""

    def __init__(
        self, choose: random.Random, kind: str, is_endless: bool
    ) -> None:
        self.kind = choose.choice("nstdx") if kind == "a" else kind
        self.is_kept = choose.random() < 0.3
        self.kept: dict[bool, Any] = {}
        self.make = self.maker(choose, is_endless)
        self.changes = [
            choose.randrange(10**6) if choose.random() < 0.3 else None
            for _ in range(6)
        ]

    def maker(
        self, choose: random.Random, is_endless: bool
    ) -> Callable[[int], Any]:
        """What makes one from the number of the call."""
        numbers = NUMBERS
        if is_endless:
            numbers = [make for make in NUMBERS if not is_huge(make(2))]
        if choose.random() < 0.4:
            numbers = SIMPLE
        elif choose.random() < 0.3:
            odd = Odd(choose, 1)
            if not odd.is_unsafe:
                if self.kind == "n" or choose.random() < 0.5:
                    return odd.anew
                numbers = [*numbers, *[odd.anew] * len(numbers)]
        if self.kind in "ntx":
            return choose.choice(
                {"n": numbers, "t": TEXTS, "x": TENSORS}[self.kind]
            )
        holds = [
            choose.choice(numbers) for _ in range(choose.choice([1, 2, 2, 3]))
        ]
        if choose.random() < 0.1:
            holds.append(choose.choice(TEXTS))
        build = choose.choice(SEQUENCES if self.kind == "s" else DICTS)

        def made(call: int) -> Any:
            items = [make(call) for make in holds]
            if build in (set, frozenset):
                items = [item for item in items if has_order(item)]
            try:
                return build(items)
            except Exception:
                return items

        return made

    def value(self, number: int, call: int, is_compiled: bool) -> Any:
        """That of a call, which is one of six."""
        if not self.is_kept:
            return self.make(call)
        if is_compiled not in self.kept:
            self.kept[is_compiled] = self.make(call)
            return self.kept[is_compiled]
        kept = self.kept[is_compiled]
        change = self.changes[number]
        for odd in odd_ones(kept):
            odd.call = call
            if change is not None:
                change_class(odd, random.Random(change))
        with contextlib.suppress(Exception):
            if isinstance(kept, list | collections.deque):
                kept[0] = call
                kept.append(call)
            elif isinstance(kept, dict):
                kept[call] = kept[next(iter(kept))] = call
            elif isinstance(kept, set):
                kept.add(call)
        return kept


NAMESPACE = named(
    array, bisect, collections, copy, functools, heapq, itertools, json, math,
    operator, random, re, statistics, string, struct, torch,
) | {"np": np}  # fmt: skip


def try_seed(seed: int) -> str:
    """What differs for the calls of a seed; empty if nothing. By the order of a
    set of what hashes by address, plain Python differs from itself; so each
    difference is looked for again.
    """
    found = ""
    for _ in range(3):
        found = attempt(seed)
        if not found:
            break
    return found


def attempt(seed: int) -> str:
    """The same, of one run."""
    choose = random.Random(seed)
    writer = Writer(choose)
    source = writer.source()
    if not is_python(source):
        return ""
    is_endless = any(word in source for word in ENDLESS)
    kinds = [writer.kinds.get(name, "n") for name in "abc"]
    makers = [Operand(choose, kind, is_endless) for kind in kinds]
    steady = [choose.random() < 0.4 for _ in makers]
    dynamic = choose.choice([None, None, True, False])
    namespace = dict(NAMESPACE)
    calls = [2, 2, 3, 4, 3, 2]
    differs = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, namespace)
        program = namespace["program"]
        compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
        for number, call in enumerate(calls):
            told = []
            for function in (program, compiled):
                values = [
                    maker.value(
                        number, 2 if same else call, function is compiled
                    )
                    for maker, same in zip(makers, steady, strict=True)
                ]
                told.append(told_of(function, *values))
            # Sets order their items by address, where these have no own hash.
            is_different = sorted(told[0]) != sorted(told[1])
            if is_different and "MemoryError" not in told[0]:
                differs = f"call {number}, {dynamic=}\n" + "\n".join(told)
                break
    if seed % 50 == 0:
        magneto.reset()
    about = source + "".join(
        f"\n{name}: {shown(maker.make(2))}{', kept' * maker.is_kept}"
        for name, maker in zip("abc", makers, strict=True)
    )
    return finding(seed, about, differs)
