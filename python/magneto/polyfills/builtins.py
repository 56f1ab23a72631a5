# SPDX-License-Identifier: BSD-3-Clause
"""Of the builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magneto.polyfills.iterators import END, State, made


class IterUntil(State):
    """Of ``iter(function, sentinel)``."""

    __slots__ = ("function", "sentinel")
    stands_for = type(iter(int, 0))
    parts = ("function", "sentinel")

    def __init__(self, function: Callable[[], Any], sentinel: Any) -> None:
        self.function = function
        self.sentinel = sentinel

    def step(self) -> Any:
        """See State. The function may use the iterator up."""
        if self.function is END:
            return END
        try:
            item = self.function()
        except StopIteration:
            self.function = self.sentinel = END
            return END
        if self.function is END:
            return END
        if self.sentinel is item or self.sentinel == item:
            self.function = self.sentinel = END
            return END
        return item

    @staticmethod
    def real(function: Any, sentinel: Any) -> Any:
        """See State."""
        if function is not END:
            return iter(function, sentinel)
        ended = iter(int, 0)
        next(ended, None)
        return ended


def iter_until(function: Callable[[], Any], sentinel: Any) -> Any:
    """``iter(function, sentinel)``."""
    if not callable(function):
        raise TypeError("iter(v, w): v must be callable")
    return made(IterUntil(function, sentinel))
