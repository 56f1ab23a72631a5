# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over sets, whose order tells what happened to their tables."""

from __future__ import annotations

import collections
import copy
import random
from typing import Any

import torch

from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.writing import caught

# Few places for many: numbers that collide in small tables, and other plain
# data.
ITEMS: list[Any] = [
    *range(-2, 12), 16, 17, 24, 32, 33, 40, 64, 65, 100, 128, -9,
    "a", "bc", "d", None, 2.5, (1, 2), True,
]  # fmt: skip

# What a set can be made of, or given to its methods.
SETS = ["set({})", "frozenset({})", "{{*{}}}"]
OTHERS = [
    "{}",
    "tuple({})",
    "iter({})",
    "dict.fromkeys({})",
    "dict.fromkeys({}).keys()",
    "collections.OrderedDict.fromkeys({})",
    "{{k: 1 for k in {}}}.items()",
]
METHODS = ["union", "intersection", "difference", "symmetric_difference"]


class Writer:
    """Writes one program; `names` are the sets that it has so far."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.names = ["s", "t", "u"]

    def program(self) -> str:
        """A function of a tensor, three sets and a list of notes."""
        lines = ["def program(x, s, t, u, notes):"]
        for number in range(self.random.randint(2, 8)):
            name, body = self.statement(f"v{number}")
            body.append(f"notes.append([*{name}])")
            lines += caught(body, "str(error)")
        lines.append("    return x + 1, [*s], [*t], [*u]")
        return "\n".join(lines)

    def statement(self, new: str) -> tuple[str, list[str]]:
        """What is looked at behind it, and its lines."""
        name = self.random.choice(self.names)
        kind = self.random.randrange(11)
        if kind < 6:
            if kind < 2:
                made = f"{self.set()} {self.random.choice('|&-^')} {self.set()}"
            elif kind < 4:
                made = f"{self.set()}.{self.call(METHODS)}"
            elif kind == 4:
                how = self.random.choice(["set", "frozenset", "copy.copy"])
                made = f"{how}({self.set()})"
            else:
                items = self.items()
                made = f"{{k for k in {self.other()} if k not in {items}}}"
            self.names.append(new)
            return new, [f"{new} = {made}"]
        if kind == 6:
            updates = ["update", *(f"{m}_update" for m in METHODS[1:])]
            return name, [f"{name}.{self.call(updates)}"]
        if kind == 7:
            operator = self.random.choice("|&-^")
            return name, [f"{name} {operator}= {self.set()}"]
        item = repr(self.random.choice(ITEMS))
        if kind == 8:
            method = self.random.choice(["add", "discard"])
            return name, [
                f"for k in {self.other()}:",
                f"    {name}.{method}(k)",
            ]
        steps = [
            f"{name}.add({item})",
            f"{name}.discard({item})",
            f"{name}.clear()",
            f"notes.append({name}.pop() if {name} else None)",
            f"notes.append({item} in {name})",
            f"notes.append(sorted({name}, key=repr))",
        ]
        return name, [self.random.choice(steps)]

    def call(self, methods: list[str]) -> str:
        """A method of a set with its arguments."""
        method = self.random.choice(methods)
        takes_one = method.startswith("symmetric")
        count = 1 if takes_one else self.random.randint(0, 3)
        return f"{method}({', '.join(self.other() for _ in range(count))})"

    def set(self) -> str:
        """A set, by its name or a new one."""
        if self.random.random() < 0.6:
            return self.random.choice(self.names)
        return self.random.choice(SETS).format(self.items())

    def other(self) -> str:
        """Anything that has items."""
        if self.random.random() < 0.6:
            return self.set()
        return self.random.choice(OTHERS).format(self.items())

    def items(self) -> str:
        """A list of some."""
        return repr(self.random.choices(ITEMS, k=self.random.choice(range(13))))


def inputs(choose: random.Random) -> tuple[set[Any], set[Any], frozenset[Any]]:
    """Three sets, of which one may have lost most of what it had."""
    first, second, third = (
        choose.choices(ITEMS, k=choose.randint(0, 9)) for _ in range(3)
    )
    shrunk = set(second)
    if choose.random() < 0.4:
        shrunk.update(range(200, 203))
        shrunk.difference_update({200, 201, 202})
    return set(first), shrunk, frozenset(third)


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def result_of(call: Any) -> str:
        notes: list[Any] = []
        # Made anew: a copy may have another order.
        result = call(torch.zeros(1), *inputs(random.Random(seed)), notes)
        return repr((result, notes))

    known = {"collections": collections, "copy": copy}
    return difference_of(source, known, result_of)


write, try_seed = of_sources(Writer, differs)
