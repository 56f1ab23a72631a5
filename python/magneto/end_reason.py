# SPDX-License-Identifier: BSD-3-Clause
"""Why a graph ends where it ends."""

from __future__ import annotations

import traceback
from dataclasses import dataclass


@dataclass(frozen=True)
class EndReason:
    """`gm.compile_subgraph_reason`, with the attributes that PyTorch's has
    (`reason`, `user_stack`, `graph_break`) and what else is known.
    """

    reason: str = ""
    """The reason's short name."""

    detail: str = ""
    """What was met."""

    hint: str = ""
    """What the user can do about it."""

    inner_place: str = ""
    """Innermost place in the program: "file:line in function"."""

    filename: str = ""
    line: int = 0
    function: str = ""

    graph_break: bool = False
    """Whether the graph ends before its function does."""

    @property
    def user_stack(self) -> list[traceback.FrameSummary]:
        """Where the graph ends."""
        if not self.filename:
            return []
        return [
            traceback.FrameSummary(
                self.filename, self.line, self.function, lookup_line=False
            )
        ]
