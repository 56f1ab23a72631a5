# SPDX-License-Identifier: BSD-3-Clause
"""Why a graph ends where it ends."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field


@dataclass(frozen=True)
class EndReason:
    """`gm.compile_subgraph_reason`, with the attributes that PyTorch's has
    (`reason`, `user_stack`, `graph_break`) and what else is known.
    """

    reason: str = ""
    """The reason's short name; docs/graph_breaks.md lists them all."""

    meaning: str = ""
    """What that reason means in general."""

    detail: str = ""
    """What was met."""

    hint: str = ""
    """What the user can do about it."""

    stack: list[tuple[str, int, str]] = field(default_factory=list)
    """File, line and function of each frame, the outermost first; empty where
    nothing was met."""

    filename: str = ""
    line: int = 0
    function: str = ""
    """Where in the compiled function."""

    graph_break: bool = False
    """Whether the graph ends before its function does."""

    @property
    def user_stack(self) -> list[traceback.FrameSummary]:
        """Where the graph ends, the outermost frame first."""
        return user_stack(self.stack, (self.filename, self.line, self.function))


def user_stack(
    stack: list[tuple[str, int, str]], place: tuple[str, int, str]
) -> list[traceback.FrameSummary]:
    """`stack`, or `place` alone if it is empty, in the form that the standard
    library has for it.
    """
    frames = stack or ([place] if place[0] else [])
    return [
        traceback.FrameSummary(filename, line, function, lookup_line=False)
        for filename, line, function in frames
    ]
