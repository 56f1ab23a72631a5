# SPDX-License-Identifier: BSD-3-Clause
"""What compiling a function would come to."""

from __future__ import annotations

import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from magneto import api, graph_text, log_texts, observers, reports
from magneto.end_reason import user_stack
from magneto.shape_report import (
    ShapeGuard,
    Symbol,
    shape_guards_of,
    symbols_of,
)


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
    """Where in the compiled function."""
    reason: str
    """A short name for the kind of reason; docs/graph_breaks.md has them."""
    meaning: str
    """What the reason means in general."""
    detail: str
    """What was met."""
    hint: str
    """What to do."""
    stack: list[tuple[str, int, str]]

    @property
    def user_stack(self) -> list[traceback.FrameSummary]:
        """Where it was met, through the functions that were inlined; the
        outermost first.
        """
        place = self.place
        return user_stack(
            self.stack, (place.filename, place.line, place.function)
        )

    def __str__(self) -> str:
        return f"{self.place}: {reports.what_broke(vars(self))}"


@dataclass(frozen=True)
class Decision:
    """What becomes of a function that the program calls."""

    function: str
    """Its name, with its module."""
    decision: str
    """"inline": it is traced; "skip": it runs in plain Python, and the graph
    breaks where it is called; "allow in graph": it is recorded as one call."""
    why: str

    def __str__(self) -> str:
        return f"{self.function}: {self.decision} ({self.why})"


@dataclass
class Explanation:
    """What `explain(fn)(*args)` found out."""

    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    """What went to the backend, in order. Each has a
    `compile_subgraph_reason`, which says why it ends where it ends."""
    breaks: list[Break] = field(default_factory=list)
    """Where a graph ends before its function does."""
    skips: list[Break] = field(default_factory=list)
    """Functions that run in plain Python."""
    decisions: list[Decision] = field(default_factory=list)
    """What became of each function that was met, in the order of meeting."""
    guards: list[list[str]] = field(default_factory=list)
    """The guards of each compiled piece."""
    symbols: list[list[Symbol]] = field(default_factory=list)
    """The sizes and numbers that each compiled piece takes as they come."""
    shape_guards: list[list[ShapeGuard]] = field(default_factory=list)
    """What the guards of each piece ask of these, and which line asked."""
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
    def ops(self) -> list[list[str]]:
        """The calls in each graph: "torch.add", "Tensor.sum"."""
        return [
            [
                log_texts.call_text(
                    {
                        "target": node.target,
                        "is_method": node.op == "call_method",
                    }
                )
                for node in graph.graph.nodes
                if node.op.startswith("call_")
            ]
            for graph in self.graphs
        ]

    @property
    def op_count(self) -> int:
        """How many calls the graphs consist of."""
        return sum(map(len, self.ops))

    def __str__(self) -> str:
        lines = [
            f"Graphs: {self.graph_count}",
            f"Graph breaks: {self.graph_break_count}",
            f"Calls in graphs: {self.op_count}",
        ]
        lines += _listed("Graph breaks:", self.breaks)
        lines += _listed("Run in plain Python:", self.skips)
        lines += _listed("Functions:", self.decisions)
        pieces = zip(self.symbols, self.guards, self.shape_guards, strict=True)
        for number, (symbols, guards, shape_guards) in enumerate(pieces, 1):
            if symbols:
                lines += [f"Symbols of piece {number}:"]
                lines += [f"  {symbol}" for symbol in symbols]
            lines += [f"Guards of piece {number}:"]
            placed = log_texts.with_places(guards, shape_guards)
            lines += [f"  {line}" for line in placed]
        return "\n".join(lines)


def _listed(title: str, items: list[Any]) -> list[str]:
    if not items:
        return []
    return [title, *(f"  {i}. {item}" for i, item in enumerate(items, 1))]


def explain(
    fn: Callable[..., Any], *, dynamic: bool | None = None
) -> Callable[..., Explanation]:
    """Tells how a function is compiled.

    Args:
        fn: what you would give to `compile()`.
        dynamic: as `compile()` takes it.

    Returns:
        A callable that takes the arguments of `fn`, calls it compiled (with a
        backend that runs the graphs as they are, from scratch) and returns an
        `Explanation`: graphs, graph breaks, decisions, guards, symbols.
        `print()` it to read it all.

    Raises:
        TypeError: `fn` can't be called. What the call raises is raised.

    Example:
        >>> import torch, magneto
        >>> def f(x):
        ...     y = x + 1
        ...     magneto.graph_break()
        ...     return y * 2
        >>> found = magneto.explain(f)(torch.ones(3))
        >>> found.graph_count, found.graph_break_count
        (2, 1)
        >>> found.ops
        [['operator.add'], ['operator.mul']]

    """
    if not callable(fn):
        raise TypeError(
            f"explain() takes a callable or an nn.Module, not {fn!r}"
        )

    def call(*args: Any, **kwargs: Any) -> Explanation:
        explanation = Explanation()

        def backend(
            gm: torch.fx.GraphModule, _inputs: list[Any]
        ) -> Callable[..., Any]:
            explanation.graphs.append(gm)
            return gm.forward

        backend.takes_symbolic_floats = True  # type: ignore[attr-defined]
        compiled = api.compile(fn, backend=backend, dynamic=dynamic)
        listener = _Listener(explanation)
        observers.add(listener, wants_traces=True)
        try:
            explanation.result = compiled(*args, **kwargs)
        finally:
            observers.remove(listener)
        return explanation

    return call


class _Listener:
    """Writes down in an `Explanation` what it hears."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self._met: set[str] = set()

    def __call__(
        self, kind: str, _identity: str, details: dict[str, Any]
    ) -> None:
        found = self.explanation
        if kind == "graph_break":
            found.breaks.append(_break(details))
        elif kind in ("skip", "raised"):
            found.skips.append(_break(details))
        elif kind == "compiled":
            found.guards.append(details["guards"])
            found.symbols.append(symbols_of(details))
            found.shape_guards.append(shape_guards_of(details))
        elif kind == "call":
            self._decide(
                log_texts.call_text(details),
                "allow in graph",
                _why_in_graph(details["target"]),
            )
        elif kind == "met":
            self._decide(
                _name_of(details["met"]),
                details["decision"],
                _why_met(details),
            )

    def _decide(self, function: str, decision: str, why: str) -> None:
        # What is skipped is told even where it was traced before: that broke.
        if function in self._met and decision != "skip":
            return
        self._met.add(function)
        self.explanation.decisions.append(Decision(function, decision, why))


def _break(details: dict[str, Any]) -> Break:
    place = Place(details["function"], details["filename"], details["line"])
    names = "reason", "meaning", "detail", "hint", "stack"
    return Break(place, *(details[name] for name in names))


def _name_of(function: Any) -> str:
    if isinstance(function, types.CodeType):
        return function.co_qualname
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        return graph_text.target_text(function)
    owner = getattr(function, "__objclass__", None)
    module = getattr(function, "__module__", None) or getattr(
        owner, "__module__", None
    )
    if module in (None, "builtins"):
        return name
    return f"{module}.{name}"


def _why_in_graph(target: Any) -> str:
    if isinstance(target, types.FunctionType) and not str(
        target.__module__
    ).startswith("torch"):
        return "marked with allow_in_graph"
    return "an operation on tensors"


def _why_met(details: dict[str, Any]) -> str:
    module = getattr(details["met"], "__module__", None) or ""
    if module.startswith("magneto.polyfills."):
        return "Python that is traced in the place of C"
    return str(details["why"])
