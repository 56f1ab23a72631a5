# SPDX-License-Identifier: BSD-3-Clause
"""Random signatures and random calls of them: what is bound to what, what is
missing or too much, through methods, partials, decorators and classes.
"""

from __future__ import annotations

import collections
import functools
import inspect
import random
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import cleaned, named, told
from tests.fuzz.support.writing import caught, indented

NAMES = ["a", "b", "c", "d", "e"]
VALUES = ["1", "'s'", "None", "[2]", "(3, 4)", "x", "{'k': 5}", "len", "n"]


class Keys:
    """A mapping that is no dict."""

    def keys(self) -> list[str]:
        """Two."""
        return ["a", "b"]

    def __getitem__(self, key: str) -> str:
        return key * 2


class Writer:
    """Writes some callables and calls of them."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose

    def program(self) -> str:
        """The callables, and `program(x, n, notes)`."""
        lines: list[str] = []
        for index in range(self.choose.randint(1, 3)):
            lines += self.callable(f"f{index}")
        count = self.choose.randint(1, 6)
        lines.append("def program(x, n, notes):")
        for _ in range(count):
            call = [f"r = {self.call(index + 1)}", "notes.append(shown(r))"]
            lines += caught(call, "told(error)")
            if self.choose.random() < 0.1:
                lines.append("    magneto.graph_break()")
        return "\n".join([*lines, "    return x + 1"])

    def signature(self) -> tuple[str, list[str]]:
        """Parameters, and their names."""
        names = self.choose.sample(NAMES, self.choose.randint(0, 5))
        parts, has_default = [], False
        kinds = sorted(self.choose.choices([0, 1, 3], k=len(names)))
        takes_rest = self.choose.random() < 0.3
        shown = list(names)
        for position, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            if kind != 0 and position and kinds[position - 1] == 0:
                parts.append("/")
            if kind == 3 and 3 not in kinds[:position]:
                parts.append("*args" if takes_rest else "*")
            if kind != 3 and (has_default or self.choose.random() < 0.3):
                has_default = True
                parts.append(f"{name}={self.choose.choice(VALUES[:5])}")
            elif kind == 3 and self.choose.random() < 0.5:
                parts.append(f"{name}={self.choose.choice(VALUES[:5])}")
            else:
                parts.append(name)
        if kinds and kinds[-1] == 0:
            parts.append("/")
        if takes_rest:
            if 3 not in kinds:
                parts.append("*args")
            shown.append("args")
        if self.choose.random() < 0.3:
            parts.append("**rest")
            shown.append("rest")
        return ", ".join(parts), shown

    def callable(self, name: str) -> list[str]:
        """One of some sort."""
        parameters, names = self.signature()
        result = f"({', '.join([repr(name), *names])},)"
        kind = self.choose.randrange(9)
        if kind < 3:
            return [f"def {name}({parameters}):", f"    return {result}"]
        if kind == 3:
            return [f"{name} = lambda {parameters}: {result}"]
        with_self = f"self, {parameters}".rstrip(", ")
        if with_self.startswith("self, /"):
            with_self = with_self.replace("self, /", "self", 1)
        method = {4: "__call__", 5: "__init__", 6: "m", 7: "__new__"}.get(
            kind, "m"
        )
        decorator = {8: self.choose.choice(["staticmethod", "classmethod"])}
        first = (
            parameters if decorator.get(kind) == "staticmethod" else with_self
        )
        body = [f"    return {result}"]
        if method == "__init__":
            body = [f"    self.held = {result}"]
        if method == "__new__":
            body = [
                "    made = object.__new__(self)",
                f"    made.held = {result}",
                "    return made",
            ]
        lines = [f"def {method}({first}):", *body]
        if kind in decorator:
            lines.insert(0, f"@{decorator[kind]}")
        made = [f"class C{name}:", *indented(lines)]
        if method == "__call__":
            return [*made, f"{name} = C{name}()"]
        if method in ("__init__", "__new__"):
            return [*made, f"{name} = C{name}"]
        owner = self.choose.choice([f"C{name}()", f"C{name}"])
        return [*made, f"{name} = {owner}.m"]

    def call(self, count: int) -> str:
        """An expression that calls one of them."""
        name = f"f{self.choose.randrange(count)}"
        arguments = []
        for _ in range(self.choose.randint(0, 4)):
            value = self.choose.choice(VALUES)
            kind = self.choose.random()
            if kind < 0.15:
                value = "*" + self.choose.choice(
                    [
                        "(1, 2)",
                        "[n]",
                        "range(2)",
                        "'ab'",
                        "3",
                        "iter([5])",
                        "()",
                    ]
                )
            elif kind < 0.3:
                value = "**" + self.choose.choice(
                    [
                        "{'a': 1}",
                        "dict(b=2, c=3)",
                        "{}",
                        "{1: 2}",
                        "Keys()",
                        "None",
                        "collections.OrderedDict(e=1)",
                    ]
                )
            elif kind < 0.6:
                value = f"{self.choose.choice(NAMES)}={value}"
            arguments.append(value)
        # Positional ones can't come behind those with names.
        arguments.sort(
            key=lambda text: text.startswith("**") * 2 or text[1:2] == "="
        )
        inside = ", ".join(arguments)
        kind = self.choose.random()
        if kind < 0.7:
            return f"{name}({inside})"
        if kind < 0.8:
            return f"functools.partial({name}, {inside})(n, b=n)"
        if kind < 0.85:
            return f"wrapped({name})({inside})"
        if kind < 0.9:
            return f"[*map({name}, [1, 2], 'ab')]"
        if kind < 0.95:
            return f"functools.reduce({name}, [1, 2, 3])"
        return f"str(inspect.signature({name}).bind({inside}))"


def wrapped(function: Any) -> Any:
    """A decorator."""

    @functools.wraps(function, updated=())
    def wrapper(*args: Any, **rest: Any) -> Any:
        return "wrapped", function(*args, **rest)

    return wrapper


def shown(value: Any) -> Any:
    """What was bound."""
    if hasattr(value, "held"):
        value = value.held
    return cleaned(repr(value))


GLOBALS = named(
    Keys, collections, functools, inspect, magneto, shown, told, wrapped
) | {"x": 0, "n": 0}


def result_of(call: Any) -> str:
    """What a call notes, as text."""
    notes: list[Any] = []
    call(torch.zeros(1), 7, notes)
    return repr(notes)


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
