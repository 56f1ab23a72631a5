# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over when objects die: what runs code when it dies, held by
variables, containers, instances, functions, generators and exceptions, which
are overwritten, emptied, left and raised.
"""

from __future__ import annotations

import collections
import gc
import random
import weakref
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import indented

LOG: list[Any] = []


class Noisy:
    """Says when it dies."""

    def __init__(self, name: Any) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(("died", self.name))


class Plain:
    """Is watched, or holds something."""

    def __init__(self, held: Any = None) -> None:
        self.held = held

    def method(self) -> Any:
        """Binds."""
        return self.held


class Failure(Exception):
    """What programs raise."""


def watched(name: Any) -> Plain:
    """Another kind of object that says when it dies."""
    made = Plain()
    weakref.finalize(made, LOG.append, ("gone", name)).atexit = False
    return made


# Of an expression {v}.
HOLDERS = [
    "[{v}]",
    "({v},)",
    "({v}, {v})",
    "{{'k': {v}}}",
    "[[{v}], {v}]",
    "Plain({v})",
    "Plain({v}).method",
    "Plain([{v}])",
    "(lambda q={v}: q)",
    "iter([{v}])",
    "collections.deque([{v}])",
    "Failure({v})",
    "left({v})",
    "(each for each in [{v}])",
    "enumerate(({v},))",
    "[{v}].append",
]
STEPS = [
    "{n} = {v}",
    "{n} = {v}",
    "{n} = None",
    "{n} = None",
    "{n} = {h}",
    "{n} = {h}",
    "{n}, {n} = {v}, {v}",
    "{v}",
    "{h}",
    "kept.append({v})",
    "kept.append({h})",
    "kept.pop() if kept else None",
    "kept.clear()",
    "kept[:] = [{v}]",
    "box.held = {v}",
    "box.held = None",
    "table['k'] = {v}",
    "table.pop('k', None)",
    "x = x + 1",
    "x = x * 2",
    "say({m})",
    "say({m})",
    "magneto.graph_break()",
    "{n} = returned({v})",
    "dropped({v})",
    "dropped({h})",
    "{n} = first({h})",
    "say(type({v}).__name__)",
    "{n} = [{n}]",
    "{n} = ({n}, {m})",
    "x = x + torch.ones(2).sum().item()",
]


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.made = 0
        self.in_function = False
        self.has_error = False  # e is bound
        self.may_keep_error = True

    def value(self) -> str:
        """An object, perhaps a new one."""
        roll = self.choose.random()
        if roll < 0.45:
            has_error = self.has_error and self.may_keep_error
            return self.choose.choice("abce" if has_error else "abc")
        self.made += 1
        kind = self.choose.choice(["Noisy", "Noisy", "watched"])
        return f"{kind}({self.made})"

    def fill(self, template: str) -> str:
        """The template with names, values and holders in it."""
        # An exception in a variable of a frame in its traceback dies when the
        # garbage collector comes.
        self.may_keep_error = "{n}" not in template
        for place, make in (
            ("{h}", lambda: self.choose.choice(HOLDERS)),
            ("{n}", lambda: self.choose.choice("abc")),
            ("{v}", self.value),
            ("{m}", lambda: str(self.choose.randint(100, 999))),
        ):
            while place in template:
                template = template.replace(place, make(), 1)
        return template.replace("{{", "{").replace("}}", "}")

    def block(self, count: int, depth: int) -> list[str]:
        """Some statements, indented."""
        lines = []
        for _ in range(count):
            lines += self.statement(depth)
        return indented(lines)

    def statement(self, depth: int) -> list[str]:
        """Its lines."""
        roll = self.choose.randrange(30)
        few = self.choose.randint(1, 3)
        if depth < 4 and roll == 0:
            return ["if flag:", *self.block(few, depth + 1)]
        if depth < 4 and roll == 1:
            name = self.choose.choice(["a", "b", "c", "i"])
            over = self.choose.choice(
                ["range(2)", "[{v}, {v}]", "tuple(kept)", "left({v})"]
            )
            lines = [f"for {name} in {self.fill(over)}:"]
            lines += self.block(few, depth + 1)
            if self.choose.random() < 0.5:
                lines.append("    break")
            return lines
        if depth < 5 and roll in (2, 3, 4) and self.in_function:
            lines = ["try:", *self.block(few, depth + 1)]
            if self.choose.random() < 0.7:
                lines.append(self.fill("    raise Failure({v})"))
            if self.choose.random() < 0.3:
                return [*lines, "finally:", *self.block(few, depth + 1)]
            caught = self.choose.choice(
                ["except Failure:", "except Failure as e:"]
            )
            had_error = self.has_error
            self.has_error = caught.endswith("e:")
            lines += [caught, *self.block(few, depth + 1)]
            self.has_error = had_error
            if self.choose.random() < 0.2:
                lines.append("    raise")
            return lines
        if depth < 3 and roll in (5, 6):
            name = f"f{self.choose.randint(10, 99)}"
            lines = [f"def {name}(x, a, b, c=None):"]
            had_error, self.has_error = self.has_error, False
            self.in_function = True
            lines += self.block(self.choose.randint(1, 4), depth + 2)
            self.in_function = False
            if self.choose.random() < 0.3:
                lines.append(self.fill("    raise Failure({v})"))
            lines.append(self.fill("    return {v}"))
            self.has_error = had_error
            call = self.fill(f"{name}(x, {{v}}, {{v}})")
            use = self.choose.choice(
                [call, f"{self.choose.choice('abc')} = {call}"]
            )
            return [*lines, use]
        return [self.fill(self.choose.choice(STEPS))]

    def program(self) -> str:
        """A function of a tensor, a flag, a list, a dict and an instance."""
        lines = ["def program(x, flag, kept, table, box):"]
        lines.append(self.fill("    a, b, c = Noisy('a'), [{v}], None"))
        lines += self.block(self.choose.randint(4, 9), 1)
        lines.append("    say('end')")
        lines.append("    return x")
        return "\n".join(lines)


def left(value: Any) -> Any:
    """Holds it while somebody iterates."""
    try:
        yield value
        yield value
    finally:
        LOG.append("left")


def say(what: Any) -> None:
    """When something happens."""
    LOG.append(what)


def returned(value: Any) -> Any:
    """Handed through."""
    return value


def dropped(value: Any) -> None:
    """Holds it for a while."""
    held = [value]
    value = None
    LOG.append(len(held))


def first(holder: Any) -> Any:
    """One of several, or it."""
    if isinstance(holder, (list, tuple)):
        return holder[0]
    return holder


GLOBALS = named(
    Failure, Noisy, Plain, collections, dropped, first, left, magneto,
    returned, say, torch, watched,
)  # fmt: skip


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def result_of(call: Any) -> str:
        shown = []
        gc.disable()
        for number in range(3):
            LOG.clear()
            kept = [Noisy("kept")]
            table: dict[str, Any] = {"k": Noisy("table")}
            box = Plain(Noisy("box"))
            try:
                result = call(torch.ones(2), number == 1, kept, table, box)
                shown.append(repr(result))
            except Exception as error:
                say(("caught", type(error).__name__))
            say("returned")
            kept.clear()
            table.clear()
            box.held = None
            shown.append(repr(LOG))
            gc.collect()
            LOG.clear()
        gc.enable()
        return repr(shown)

    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
