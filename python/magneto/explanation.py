# SPDX-License-Identifier: BSD-3-Clause
"""What compiling a function would come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from magneto import api, observers, reports


@dataclass
class Place:
    """An instruction of the user's program."""

    function: str
    filename: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} ({self.filename}:{self.line})"


@dataclass
class Break:
    """Where a graph ends before the function does, or why a function isn't
    compiled.
    """

    place: Place
    reason: str
    """A short name for the kind of reason."""
    detail: str
    hint: str

    def __str__(self) -> str:
        return f"{self.place}: {reports.what_broke(vars(self))}"


@dataclass
class Explanation:
    """What `explain(fn)(*args)` found out."""

    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    skips: list[Break] = field(default_factory=list)
    """Functions that run in plain Python."""
    guards: list[list[str]] = field(default_factory=list)
    """The guards of each compiled piece."""
    result: Any = None
    """What the call returned."""

    @property
    def graph_count(self) -> int:
        """How many graphs went to the backend."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """How many of the pieces end with a graph break."""
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        """How many calls the graphs consist of."""
        return sum(
            node.op.startswith("call_")
            for graph in self.graphs
            for node in graph.graph.nodes
        )

    def __str__(self) -> str:
        lines = [
            f"Graphs: {self.graph_count}",
            f"Graph breaks: {self.graph_break_count}",
            f"Calls in graphs: {self.op_count}",
        ]
        if self.breaks:
            lines.append("Graph breaks:")
            lines += [f"  {i}. {b}" for i, b in enumerate(self.breaks, 1)]
        if self.skips:
            lines.append("Run in plain Python:")
            lines += [f"  {i}. {s}" for i, s in enumerate(self.skips, 1)]
        return "\n".join(lines)


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Tells how a function is compiled.

    Args:
        fn: what you would give to `compile()`.

    Returns:
        A callable that takes the arguments of `fn`, calls it compiled (with
        backend "eager", from scratch) and returns an `Explanation`.

    Example:
        >>> import torch, magneto
        >>> def f(x):
        ...     y = x + 1
        ...     magneto.graph_break()
        ...     return y * 2
        >>> found = magneto.explain(f)(torch.ones(3))
        >>> found.graph_count, found.graph_break_count
        (2, 1)

    """

    def call(*args: Any, **kwargs: Any) -> Explanation:
        explanation = Explanation()

        def backend(
            gm: torch.fx.GraphModule, _inputs: list[Any]
        ) -> Callable[..., Any]:
            explanation.graphs.append(gm)
            return gm.forward

        def observe(
            kind: str, _frame: int, _compile: int, details: dict[str, Any]
        ) -> None:
            if kind == "graph_break":
                explanation.breaks.append(_break(details))
            elif kind == "skip":
                explanation.skips.append(_break(details))
            elif kind == "compiled":
                explanation.guards.append(details["guards"])

        compiled = api.compile(fn, backend=backend)
        observers.add(observe)
        try:
            explanation.result = compiled(*args, **kwargs)
        finally:
            observers.remove(observe)
        return explanation

    return call


def _break(details: dict[str, Any]) -> Break:
    place = Place(details["function"], details["filename"], details["line"])
    return Break(place, details["reason"], details["detail"], details["hint"])
