# SPDX-License-Identifier: BSD-3-Clause
"""Iterators that are written in C: while tracing, each is an iterator of the
original's class around a ``State``, which says what comes next and how a real
one is made that goes on from there.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

END = object()
"""What ``step`` gives when there is nothing more."""


class State:
    """What such an iterator keeps."""

    __slots__ = ()

    stands_for: type
    """The class of the iterator; the class of what ``real`` gives."""
    parts: tuple[str, ...] = ()
    """The attributes that ``real`` takes."""
    real: Callable[..., Any]
    """A static method: called when the compiled part has ended."""

    def step(self) -> Any:
        """The next item, or ``END``; a StopIteration ends it as well, with its
        value.
        """
        raise NotImplementedError

    def __iter__(self) -> State:
        return self

    def __next__(self) -> Any:
        item = self.step()
        if item is END:
            raise StopIteration
        return item


def made(state: State) -> Any:
    """The iterator around a state; without a tracer, the state serves."""
    return state


def state_of(iterator: Any) -> Any:
    """The state of what ``made`` gave."""
    return iterator


def position(number: Any) -> int:
    """An argument that C takes as a Py_ssize_t."""
    index = operator.index(number)
    if not -sys.maxsize - 1 <= index <= sys.maxsize:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return index
