# SPDX-License-Identifier: BSD-3-Clause
"""The symbols of a compiled piece and what its guards ask of them, with the
lines of the program that made and asked.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import Any

import torch

from magneto.end_reason import user_stack

Stack = list[tuple[str, int, str]]

_NOT_THE_USERS = tuple(
    os.path.dirname(os.path.abspath(path)) + os.sep
    for path in (__file__, torch.__file__)
)


@dataclass(frozen=True)
class Symbol:
    """A size or number that one compilation serves all values of."""

    name: str
    """As sizes in the graph show it: "s0", or "u0" if nothing is known of its
    value while the function is traced."""
    type: str
    """ "int", "float" or "bool"."""
    source: str | None
    """Where the call brings it, "x.size(0)"; None: the graph computes it."""
    node: str | None
    """The graph's node that gives the number, if it has one."""
    value: int | float | bool | None
    """What it is in the call that was traced; None: only the graph tells."""
    least: int | None
    """No value of an int is less, where the guards hold; None: no bound."""
    most: int | None
    """No value of an int is more; None: no bound."""
    equals: str | None
    """What it has turned out to be: "4", "2*s0"; None: itself."""
    stack: Stack
    """File, line and function where it was first met, outermost frame first."""

    @property
    def user_stack(self) -> list[traceback.FrameSummary]:
        """`stack` in the standard library's form."""
        return user_stack(self.stack, ("", 0, ""))

    def __str__(self) -> str:
        parts = [f"{self.name} = {self.source or self._computed()}"]
        if self.value is not None:
            parts.append(f"{self.value} in this call")
        if self.equals is not None:
            parts.append(f"equals {self.equals}")
        elif bounds := self._bounds():
            parts.append(bounds)
        if at := line_text(self.stack):
            parts.append(f"{'first met' if self.source else 'made'} at {at}")
        return ", ".join(parts)

    def _computed(self) -> str:
        what = f"{'an' if self.type == 'int' else 'a'} {self.type}"
        return f"{what} out of {self.node or 'the graph'}"

    def _bounds(self) -> str:
        if self.least is None:
            return "" if self.most is None else f"at most {self.most}"
        if self.most is None:
            return f"at least {self.least}"
        return f"{self.least} to {self.most}"


@dataclass(frozen=True)
class ShapeGuard:
    """A condition on sizes and numbers that a call must fulfil."""

    condition: str
    """In the user's terms: "x.size(0) == y.size(1)"."""
    stack: Stack
    """File, line and function of what asked for it, outermost frame first;
    empty: the backend did."""

    @property
    def user_stack(self) -> list[traceback.FrameSummary]:
        """`stack` in the standard library's form."""
        return user_stack(self.stack, ("", 0, ""))

    def __str__(self) -> str:
        at = line_text(self.stack)
        return f"{self.condition}  # {at or 'asked for by the backend'}"


def symbols_of(details: dict[str, Any]) -> list[Symbol]:
    """The symbols that a "compiled" report tells of."""
    return [Symbol(**each) for each in details["symbols"]]


def shape_guards_of(details: dict[str, Any]) -> list[ShapeGuard]:
    """The guards on sizes and numbers that a "compiled" report tells of."""
    return [ShapeGuard(*each) for each in details["shape_guards"]]


def line_text(stack: Stack) -> str:
    """`file:line in function` of the user's own line; empty without one."""
    if not stack:
        return ""
    filename, line, function = user_line(stack)
    return f"{filename}:{line} in {function}"


def user_line(stack: Stack) -> tuple[str, int, str]:
    """The innermost frame that is neither PyTorch's nor magneto's."""
    for place in reversed(stack):
        if not place[0].startswith(_NOT_THE_USERS):
            return place
    return stack[-1]
