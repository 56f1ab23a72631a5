# SPDX-License-Identifier: BSD-3-Clause
"""What writers of random programs share."""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable

NOTES = "(type(error).__name__, str(error))"


def indented(lines: list[str], times: int = 1) -> list[str]:
    """The lines, some levels deeper."""
    return ["    " * times + line for line in lines]


def caught(statement: list[str], error: str = NOTES) -> list[str]:
    """The lines of a statement in a function, noting what they raise: of what
    is called `error`, that expression.
    """
    return [
        "    try:",
        *indented(statement, 2),
        "    except Exception as error:",
        f"        notes.append({error})",
    ]


class Hole:
    """Another choice each time that it is formatted."""

    def __init__(self, choice: Callable[[], str]) -> None:
        self.choice = choice

    def __format__(self, spec: str) -> str:
        return self.choice()


def filled(template: str, **holes: Callable[[], str]) -> str:
    """The template with another choice in each hole."""
    return template.format(**{n: Hole(make) for n, make in holes.items()})


class BlockWriter(ABC):
    """Writes a program of functions, each of which may call those before it."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.functions: list[tuple[str, bool]] = []
        self.numbers = itertools.count(1)
        self.room = 0
        self.is_generator = False
        self.is_in_loop = False

    @abstractmethod
    def function(self, name: str, is_generator: bool) -> list[str]:
        """A whole function."""

    @abstractmethod
    def statement(self, depth: int) -> list[str]:
        """One, with what is in it."""

    def all_functions(self, count: int, generators: float) -> str:
        """So many functions, of which that share are generators; then the one
        that is called `program`.
        """
        lines: list[str] = []
        for index in range(count):
            is_generator = self.choose.random() < generators
            lines += self.function(f"f{index}", is_generator)
            self.functions.append((f"f{index}", is_generator))
        return "\n".join([*lines, *self.function("program", False)])

    def number(self) -> int:
        """One that nothing else has."""
        return next(self.numbers)

    def block(self, depth: int, **changed: bool) -> list[str]:
        """Some statements, in another place."""
        before = {name: getattr(self, name) for name in changed}
        vars(self).update(changed)
        lines = []
        for _ in range(self.choose.randint(1, 3)):
            lines += self.statement(depth + 1)
        vars(self).update(before)
        return lines

    def choice(self, depth: int) -> list[str]:
        """An `if` with an `else`."""
        lines = [f"if n == {self.choose.randint(0, 2)}:"]
        lines += indented(self.block(depth))
        return [*lines, "else:", *indented(self.block(depth))]
