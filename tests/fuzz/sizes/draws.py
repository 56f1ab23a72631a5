# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that draw random numbers with Python's `random` and NumPy."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import indented


class Half(random.Random):
    """Draws from the same numbers in its own way."""

    def random(self) -> float:
        return super().random() / 2


class Noted(random.Random):
    """Somebody sees when it is asked for bits."""

    asked = 0

    def getrandbits(self, k: int) -> int:
        self.asked += 1
        return super().getrandbits(k)


class Holder:
    """Something with attributes."""

    def __init__(self) -> None:
        self.value: Any = 0
        self.seen: list[Any] = []

    def draw(self) -> float:
        """A number that is kept."""
        self.value = random.random()
        return self.value


def drawn_pair(generator: Any) -> Any:
    """Called by programs."""
    return generator.random(), generator.randint(1, 4)


FLOATS = [
    "{g}.random()",
    "{g}.random()",
    "{g}.uniform({n}, {n})",
    "{g}.random() * {v}",
    "h.draw()",
    "drawn_pair({g})[0]",
    "{g}.gauss(0, 1)",
    "{p}.uniform({n}, {n})",
    "{p}.normal({n}, {m})",
    "{p}.random()",
    "{p}.beta({m}, {m})",
    "{p}.standard_normal()",
    "{p}.exponential(scale={m})",
    "{g}.triangular(0, 2)",
    "round({g}.random(), 2)",
]
INTS = [
    "{g}.randint({n}, {n} + 4)",
    "{g}.randrange({m})",
    "{g}.randrange({n}, 20, {m})",
    "{g}.getrandbits({m})",
    "drawn_pair({g})[1]",
    "int({g}.random() * {m})",
    "{g}.choice([1, 2, 3])",
    "np.random.randint({n}, 7)",
    "{p}.poisson({m})",
    "{p}.binomial(n={m}, p=0.5)",
    "int({p}.choice({m}))",
    "int({p}.permutation({m})[0])",
    "len({g}.sample(range(6), {m}))",
    "{g}.randint(0, {v})",
]
OTHERS = [
    "str({v})",
    "f'{{{v}:.2f}}'",
    "({v}, {v})",
    "{v} + {v}",
    "{v} * {v}",
    "{v} - {v}",
    "{v} / 3",
    "{v} // {m}",
    "{v} % {m}",
    "-{v}",
    "abs({v})",
    "max({v}, {v})",
    "min({v}, {n})",
    "int({v})",
    "float({v})",
    "{v} < {v}",
    "{v} == {v}",
    "bool({v})",
    "{v} and {v}",
    "math.floor({v})",
    "math.sqrt(abs({v}))",
    "1 / {v}",
    "{v} ** 2",
    "[{v}] * 2",
    "hash({v}) == hash({v})",
    "divmod({v}, {m})",
    "x[int({v}) % 3].sum().item()",
]


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.names = ["given"]
        self.made = 0
        self.depth = 0
        self.blocks = 0

    def fill(self, template: str) -> str:
        """The template with numbers, values and generators in it."""
        for place, make in (
            (
                "{g}",
                lambda: self.choose.choice(["random"] * 6 + ["g", "again"]),
            ),
            (
                "{p}",
                lambda: self.choose.choice(["np.random"] * 3 + ["p", "q"]),
            ),
            ("{n}", lambda: str(self.choose.randint(-2, 3))),
            ("{m}", lambda: str(self.choose.randint(1, 5))),
            ("{v}", lambda: self.choose.choice(self.names)),
        ):
            while place in template:
                template = template.replace(place, make(), 1)
        return template.replace("{{", "{").replace("}}", "}")

    def value(self) -> str:
        """An expression."""
        kinds = [FLOATS, INTS, OTHERS, OTHERS]
        return self.fill(self.choose.choice(self.choose.choice(kinds)))

    def condition(self) -> str:
        """What a block asks."""
        return self.fill(
            self.choose.choice(
                [
                    "random.random() < 0.5",
                    "{p}.random() < 0.5",
                    "{v} == {v}",
                    "isinstance({v}, float)",
                    "random.randint(0, 2)",
                    "{v}",
                    "x.shape[0] == 3",
                    "given > 2",
                ]
            )
        )

    def program(self) -> str:
        """A function of a tensor, a number, generators, a holder, notes."""
        lines = ["def program(x, given, g, again, p, q, h, notes):"]
        lines += self.block(self.choose.randint(3, 9), 1)
        shown = ", ".join(self.names)
        lines.append(f"    return x, {shown}, random.random(), g.random()")
        return "\n".join(lines)

    def block(self, count: int, depth: int) -> list[str]:
        """Some statements, indented."""
        kept = list(self.names)
        lines = []
        for _ in range(count):
            lines += self.statement(depth)
        if depth > 1:
            self.names = kept
        return indented(lines)

    def statement(self, depth: int) -> list[str]:
        """Its lines."""
        roll = self.choose.randrange(24)
        if roll < 7:
            value = self.value()
            self.made += 1
            name = f"v{self.made}"
            self.names.append(name)
            if self.choose.random() < 0.2:
                return [
                    f"{name} = 0",
                    "try:",
                    f"    {name} = {value}",
                    "except Exception as error:",
                    "    notes.append(str(error))",
                ]
            return [f"{name} = {value}"]
        if roll < 10:
            return [self.fill("x = x * {v}")]
        if roll < 12 and depth < 4:
            inner = self.block(self.choose.randint(1, 3), depth + 1)
            return [f"if {self.condition()}:", *inner]
        if roll == 12 and depth < 3:
            inner = self.block(self.choose.randint(1, 2), depth + 1)
            return [f"for i in range({self.choose.randint(1, 3)}):", *inner]
        if roll == 13 and depth < 3:
            inner = self.block(self.choose.randint(1, 3), depth + 1)
            return ["try:", *inner, "except ValueError:", "    notes.append(1)"]
        if roll == 14:
            return ["magneto.graph_break()"]
        if roll == 15:
            return [self.fill("assert {v} != {n}, {v}")]
        return [
            self.fill(
                self.choose.choice(
                    [
                        "notes.append({v})",
                        "h.value = {v}",
                        "h.seen.append({v})",
                        "x = x + torch.rand(3)",
                        "x = torch.where(x > {v}, x, x + 1)",
                        "x = x + torch.full((3,), {v})",
                        "g.label = {v}",
                        "x = x[torch.randperm(3)]",
                        "notes.append(x[int({v}) % 4 : 3].shape)",
                        "x = x + h.value",
                        "x = x + sum(random.random() for _ in range(2))",
                        "random.seed({v})",
                        "np.random.seed({m})",
                        "{p}.shuffle(h.seen)",
                        "x = x + float({p}.normal(size={m}).sum())",
                        "random.shuffle(h.seen)",
                        "x = torch.nn.functional.dropout(x, 0.5)",
                        "x += {v}",
                        "x = x[(x.sum() * 0 + {m}).long()] + x",
                    ]
                )
            )
        ]


BITS = [
    np.random.MT19937,
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.Philox,
    np.random.SFC64,
]
GLOBALS = named(drawn_pair, magneto, math, random, torch) | {"np": np}


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def result_of(call: Any) -> str:
        shown = []
        for number in range(4):
            choose = random.Random(seed + number)
            maker = choose.choice([random.Random] * 3 + [Half, Noted])
            g = maker(number)
            again = g if choose.random() < 0.3 else random.Random(number)
            bits = choose.choice(BITS)
            p = choose.choice([np.random.RandomState, np.random.Generator])(
                bits(number)
            )
            q = p if choose.random() < 0.3 else np.random.default_rng(number)
            given = choose.choice([1, 2.5, 3])
            holder, notes = Holder(), []
            random.seed(seed + number)
            torch.manual_seed(seed + number)
            np.random.seed(seed % 2**31 + number)
            try:
                result: Any = call(
                    torch.arange(3.0), given, g, again, p, q, holder, notes
                )
            except Exception as error:
                result = type(error), str(error)
            shown.append(
                (
                    result,
                    notes,
                    vars(g),
                    vars(holder),
                    [hash(each.getstate()) for each in (g, again)],
                    hash(random.getstate()),
                    [repr(each.normal()) for each in (np.random, p, q)],
                    torch.rand(1),
                )
            )
        return repr(shown)

    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
