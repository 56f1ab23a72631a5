# SPDX-License-Identifier: BSD-3-Clause
"""What writers of random programs with control flow share."""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod


def indented(lines: list[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]


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
