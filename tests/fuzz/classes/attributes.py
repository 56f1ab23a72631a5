# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that write to attributes of classes, modules and functions."""

from __future__ import annotations

import random
import types
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import caught


class Plain(type):
    """A metaclass with an attribute of its own."""

    meta = 1


class Noting(type):
    """A metaclass that sees what is written."""

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        super().__setattr__("noted", name)


class Descriptor:
    """Says that it was asked."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return "got", instance is None


class DataDescriptor(Descriptor):
    """Goes before what the instance has."""

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__["set"] = value


NAMES = ["a", "b", "c", "n", "method", "prop", "fresh"]
CLASSES = ["Base", "Left", "Right", "Both", "Meta", "Watched", "Layer", "Pair"]
OBJECTS = ["base", "left", "right", "both", "meta", "watched", "layer", "pair"]
VALUES = [
    "1", "2.5", "'text'", "None", "[1]", "x + 1", "len(notes)", "x", "{'k': 1}",
    "(1, x)", "True", "1000",
]  # fmt: skip
ODD_VALUES = [
    "property(lambda self: 5)", "lambda self: 6", "staticmethod(len)", "Base",
    "classmethod(lambda cls: 7)", "Descriptor()", "DataDescriptor()", "len",
]  # fmt: skip


def family() -> list[type]:
    """Classes that derive from one another, made anew."""

    class Base:
        a, b, n = 1, "b", 10

        def method(self) -> Any:
            return self.n

        @property
        def prop(self) -> Any:
            return self.a

        def supers(self) -> Any:
            return None

    class Left(Base):
        b = "left"

        def supers(self) -> Any:
            return super().a, getattr(super(), "c", None)

        @classmethod
        def count(cls) -> Any:
            cls.n += 1
            return cls.n

    class Right(Base):
        a = 2

    class Both(Left, Right):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return "missing " + name

    class Meta(Base, metaclass=Plain):
        c = 3

    return [Base, Left, Right, Both, Meta]


def world() -> dict[str, Any]:
    """Classes, instances, a module and a function, made anew."""
    classes = family()

    class Watched(metaclass=Noting):
        a = 4

    class Layer(torch.nn.Module):
        a, n = 5, 0

        def forward(self, x: Any) -> Any:
            type(self).n += 1
            return x + self.n

    class Pair:
        __slots__ = ("a", "b")

        c, n = 6, 1

    def function(x: Any) -> Any:
        return x

    function.a = 1
    module = types.ModuleType("settings")
    module.a, module.n = 1, 2
    exec("def read():\n    return a, n", module.__dict__)
    classes += [Watched, Layer, Pair]
    instances = [each() for each in classes]
    made = dict(zip(CLASSES, classes, strict=True))
    made |= dict(zip(OBJECTS, instances, strict=True))
    made["both"].a = "own"
    return made | {"function": function, "module": module}


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        # A program mostly keeps to few of them.
        self.names = choose.sample(NAMES, k=choose.randint(1, 3))
        self.chosen = choose.sample(range(len(CLASSES)), k=choose.randint(1, 4))
        self.is_odd = choose.random() < 0.2

    def program(self) -> str:
        """A function of a tensor, a namespace and a list of notes."""
        names = [*world(), "notes"]
        lines = [f"def program(x, {', '.join(names)}):"]
        for _ in range(self.choose.randint(2, 9)):
            lines += caught(self.statement())
        lines.append("    return x + 1")
        return "\n".join(lines)

    def of_class(self) -> str:
        """A class."""
        return CLASSES[self.choose.choice(self.chosen)]

    def of_any(self) -> str:
        """A class, or what has its attributes."""
        roll = self.choose.random()
        if roll < 0.4:
            return self.of_class()
        if roll < 0.7:
            return OBJECTS[self.choose.choice(self.chosen)]
        if roll < 0.8:
            return f"type({OBJECTS[self.choose.choice(self.chosen)]})"
        return self.choose.choice(["module", "function", "both", "left"])

    def value(self) -> str:
        """What is written."""
        if self.is_odd and self.choose.random() < 0.3:
            return self.choose.choice(ODD_VALUES)
        return self.choose.choice(VALUES)

    def statement(self) -> list[str]:
        """Its lines."""
        name = self.choose.choice(self.names)
        owner, other = self.of_any(), self.of_any()
        cls = self.of_class()
        rows = [
            [f"{owner}.{name} = {self.value()}"],
            [f"{cls}.{name} = {self.value()}"],
            [f"{cls}.{name} = {self.value()}"],
            [f"setattr({owner}, '{name}', {self.value()})"],
            [f"del {owner}.{name}"],
            [f"del {cls}.{name}"],
            [f"{owner}.{name} += 1"],
            [f"{cls}.n += 1"],
            [
                f"{owner}.{name}, {other}.{name} = {other}.{name}, {owner}.{name}"
            ],
            [f"notes.append({owner}.{name})"],
            [f"notes.append({other}.{name})"],
            [f"notes.append({cls}.{name})"],
            [f"notes.append([o.{name} for o in ({owner}, {other})])"],
            [f"notes.append(getattr({owner}, '{name}', 'none'))"],
            [f"notes.append(hasattr({owner}, '{name}'))"],
            [f"notes.append({cls}().{name})"],
            [f"notes.append({owner}.method())"],
            ["notes.append(left.supers())"],
            ["notes.append(both.supers())"],
            [f"notes.append({owner}.count())"],
            [f"notes.append('{name}' in vars({owner}))"],
            [f"notes.append(vars({cls}).get('{name}'))"],
            [f"notes.append('{name}' in dir({cls}))"],
            ["notes.append(module.read())"],
            ["notes.append(module.__dict__['n'])"],
            ["x = layer(x)"],
            ["magneto.graph_break()"],
            [f"x = x + {owner}.n"],
            ["for i in range(2):", f"    {cls}.n = {cls}.n + i"],
            ["with torch.no_grad():", f"    {cls}.{name} = x * 2"],
            [
                "def inner():",
                f"    {cls}.{name} = {self.value()}",
                f"    return {owner}.{name}",
                "notes.append(inner())",
            ],
            [
                "try:",
                f"    {cls}.{name} = {self.value()}",
                "    raise KeyError(1)",
                "finally:",
                f"    notes.append({owner}.{name})",
            ],
        ]
        return self.choose.choice(rows)


def shown(value: Any) -> Any:
    """What of a value is compared."""
    if isinstance(value, type | types.FunctionType):
        return value.__name__
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    if isinstance(value, str | int | float | torch.Tensor | dict | None):
        return value
    return type(value).__name__


def state(known: dict[str, Any]) -> Any:
    """What all of them have."""
    return {
        name: [
            (key, shown(item))
            for key, item in vars(value).items()
            if not key.startswith("_")
        ]
        for name, value in known.items()
        if hasattr(value, "__dict__")
    }


GLOBALS = named(torch, magneto, Descriptor, DataDescriptor)


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def result_of(call: Any) -> str:
        known = world()
        results = []
        choose = random.Random(seed)
        for _ in range(3):
            notes: list[Any] = []
            try:
                result: Any = call(torch.zeros(1), *known.values(), notes)
            except Exception as error:
                result = type(error).__name__, str(error)
            results.append((result, shown(notes), state(known)))
            # Somebody else writes to them, too.
            changed = choose.choice(CLASSES[:5])
            setattr(
                known[changed], choose.choice(NAMES[:4]), choose.randint(0, 3)
            )
            known["module"].n = choose.randint(0, 3)
        return repr(results)

    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
