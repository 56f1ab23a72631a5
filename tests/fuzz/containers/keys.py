# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over dicts and sets whose keys hash and compare in Python."""

from __future__ import annotations

import collections
import copy
import dataclasses
import random
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import caught


@dataclasses.dataclass(frozen=True)
class Frozen:
    """What most such keys are."""

    n: int
    of: Any = None


@dataclasses.dataclass(frozen=True)
class Other(Frozen):
    """Hashes as a Frozen does, and equals none."""


class Loose:
    """Whose number may change; equal to that number, too."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Loose):
            return self.n == other.n
        return self.n == other

    def __hash__(self) -> int:
        return hash(self.n)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n!r})"


class Few(Loose):
    """With few hashes."""

    def __hash__(self) -> int:
        return self.n % 2 if isinstance(self.n, int) else 0


class Noted(Loose):
    """Somebody sees when it is asked."""

    asked = 0

    def __hash__(self) -> int:
        Noted.asked += 1
        return hash(self.n)


class Shy(Loose):
    """Compares with its own kind only."""

    __hash__ = Loose.__hash__

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Shy):
            raise ValueError("not shy")
        return self.n == other.n


class Never(Loose):
    """Equal to nothing, not even to itself."""

    __hash__ = Loose.__hash__

    def __eq__(self, other: Any) -> Any:
        return False


class Pair(collections.namedtuple("Pair", "n of")):
    """A tuple that compares by its first item."""

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, Pair) and self.n == other.n

    def __hash__(self) -> int:
        return hash(self.n)


CLASSES = [
    "Frozen", "Frozen", "Frozen", "Other", "Loose", "Few", "Shy", "Never",
]  # fmt: skip
KINDS = ["{}", "{}", "{}", "dict", "collections.defaultdict(int)",
         "collections.OrderedDict()", "collections.Counter()"]  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        # A program mostly keeps to few classes.
        self.classes = choose.choices(CLASSES, k=choose.randint(1, 2))
        if choose.random() < 0.05:
            self.classes.append("Noted")
        self.keys = ["given", "again"]
        self.dicts = ["d"]
        self.sets: list[str] = []
        self.made = 0
        self.is_ordered = False

    def program(self) -> str:
        """A function of a tensor, two keys, a dict and a list of notes."""
        kind = self.choose.choice(KINDS)
        self.is_ordered = "OrderedDict" in kind
        first = "{}" if kind == "dict" else kind
        lines = [
            "def program(x, given, again, callers, notes):",
            f"    d = {first}",
        ]
        if self.choose.random() < 0.1:
            lines[1] = "    d = callers"
        for _ in range(self.choose.randint(3, 10)):
            lines += caught(self.statement())
        shown = ", ".join([*self.dicts, *self.sets])
        lines.append(f"    return x + len(d), {shown}")
        return "\n".join(lines)

    def key(self) -> str:
        """A key, by its name or a new one."""
        roll = self.choose.random()
        if roll < 0.35:
            return self.choose.choice(self.keys)
        number = self.choose.choice([0, 1, 1, 2, 2, 3, -1, "'a'"])
        if roll < 0.45:
            return str(number)
        name = self.choose.choice(self.classes)
        if roll < 0.52:
            return f"Pair({number}, {self.choose.randint(0, 1)})"
        if roll < 0.6:
            return f"({name}({number}), {self.choose.randint(0, 1)})"
        if name in ("Frozen", "Other") and roll < 0.7:
            return f"{name}({number}, {self.key()})"
        return f"{name}({number})"

    def value(self) -> str:
        """What is put under a key."""
        return self.choose.choice(["1", "x + 1", "[2]", "None", "len(notes)"])

    def mapping(self) -> str:
        """A dict, by its name or a new one."""
        if self.choose.random() < 0.8:
            return self.choose.choice(self.dicts)
        return f"{{{self.key()}: {self.value()}, {self.key()}: {self.value()}}}"

    def new(self, prefix: str, names: list[str]) -> str:
        """A name that the lines behind may use."""
        self.made += 1
        name = f"{prefix}{self.made}"
        names.append(name)
        return name

    def new_dict(self, key: str, d: str) -> list[str]:
        """One that is made of others."""
        made = self.choose.choice(
            [
                f"dict({self.mapping()})",
                f"{{**{self.mapping()}, {key}: 7}}",
                f"{self.mapping()} | {self.mapping()}",
                f"copy.copy({d})",
                f"{d}.copy()",
                f"dict.fromkeys([{key}, {self.key()}], 3)",
                f"{{k: v for k, v in {d}.items() if v != 1}}",
                f"type({d})({self.mapping()})",
            ]
        )
        name = self.new("d", self.dicts)
        return [f"{name} = {{}}", f"{name} = {made}"]

    def new_set(self, key: str, d: str) -> list[str]:
        """One of some keys."""
        name = self.new("s", self.sets)
        made = self.choose.choice(
            [
                f"{{{key}, {self.key()}, {self.key()}}}",
                f"set({d})",
                f"frozenset([{key}, {self.key()}])",
                f"{d}.keys() & {{{key}}}",
                f"{d}.keys() | [{key}]",
            ]
        )
        return [f"{name} = set()", f"{name} = {made}"]

    def about_set(self, key: str, s: str) -> list[str]:
        """A look at one, or a write to it."""
        return self.choose.choice(
            [
                [f"{s}.add({key})"],
                [f"{s}.discard({key})"],
                [f"notes.append({key} in {s})"],
                [f"notes.append(len({s} | {{{key}}}))"],
                [f"{s}.remove({key})"],
                [f"{s} |= {{{key}, {self.key()}}}"],
            ]
        )

    def statement(self) -> list[str]:
        """Its lines."""
        key, d = self.key(), self.choose.choice(self.dicts)
        kind = self.choose.randrange(26)
        if kind < 6:
            return [f"{d}[{key}] = {self.value()}"]
        if kind == 6:
            return self.new_dict(key, d)
        if kind == 7:
            name = self.new("k", self.keys)
            return [f"{name} = None", f"{name} = {key}"]
        # CPython's OrderedDict may never end where a key has another hash.
        if kind == 8 and not self.is_ordered:
            return [
                f"{self.choose.choice(self.keys)}.n = {self.choose.randint(0, 3)}"
            ]
        if kind == 9:
            return ["magneto.graph_break()"]
        if kind == 10:
            return self.new_set(key, d)
        if kind == 11 and self.sets:
            return self.about_set(key, self.choose.choice(self.sets))
        return self.choose.choice(
            [
                [f"notes.append({d}[{key}])"],
                [f"notes.append({key} in {d})"],
                [f"notes.append({d}.get({key}, 9))"],
                [f"notes.append({d}.pop({key}))"],
                [f"notes.append({d}.pop({key}, 8))"],
                [f"del {d}[{key}]"],
                [f"notes.append({d}.setdefault({key}, {self.value()}))"],
                [f"{d}.update({self.mapping()})"],
                [f"{d}.update([({key}, 5)])"],
                [f"{d} |= {self.mapping()}"],
                [f"notes.append([*{d}])"],
                [f"notes.append({d} == {self.mapping()})"],
                [f"notes.append({key} == {self.key()})"],
                [f"notes.append(hash({key}) == hash({self.key()}))"],
                [
                    f"notes.append([k is {self.choose.choice(self.keys)} for k in {d}])"
                ],
                [f"{d}[{key}] += 1"],
                [f"notes.append({d}.popitem())"],
                [f"for k in list({d}):", f"    {d}[k] = {self.value()}"],
                [f"x = x + len({d})"],
            ]
        )


def inputs(choose: random.Random) -> tuple[Any, Any, dict[Any, Any]]:
    """Two keys, which may be one or equal, and a dict."""
    makers = [Frozen, Loose, Few, Shy, Pair]
    maker = choose.choice(makers)

    def make(n: int) -> Any:
        return maker(n, 0) if maker is Pair else maker(n)

    given = make(choose.randint(0, 2))
    again = given if choose.random() < 0.2 else make(choose.randint(0, 2))
    callers = {1: 2} if choose.random() < 0.5 else {}
    return given, again, callers


GLOBALS = named(
    collections, copy, magneto, Frozen, Other, Loose, Few, Noted, Shy, Never,
    Pair,
)  # fmt: skip


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def result_of(call: Any) -> str:
        shown = []
        Noted.asked = 0
        # The second time with other keys.
        for number in range(2):
            notes: list[Any] = []
            given = inputs(random.Random(seed + number))
            try:
                result: Any = call(torch.zeros(1), *given, notes)
            except Exception as error:
                result = type(error), str(error)
            shown.append((result, notes, given, Noted.asked))
        try:
            return repr(shown)
        except (KeyError, ValueError):  # of a Counter whose keys have changed
            return "no end"

    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
