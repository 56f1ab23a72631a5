# SPDX-License-Identifier: BSD-3-Clause
"""What observers hear, as text for people and as data for programs.

Each function takes the details of one kind of report and gives both.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from magneto import graph_text, reports
from magneto.shape_report import (
    ShapeGuard,
    line_text,
    shape_guards_of,
    symbols_of,
)

Details = dict[str, Any]
Texts = tuple[str, dict[str, Any]]

_PLACE = ("function", "filename", "line")
_BREAK = (*_PLACE, "reason", "meaning", "detail", "hint", "stack")


def guards(details: Details) -> Texts:
    """The guards of a compiled piece, one a line, those on sizes with the line
    of the program that asked for them.
    """
    lines = details["guards"]
    shape_guards = shape_guards_of(details)
    data = {"guards": lines, "shape_guards": list(map(vars, shape_guards))}
    text = "\n".join(with_places(lines, shape_guards))
    return text, {**_some(details, _PLACE), **data}


def with_places(lines: list[str], guards: list[ShapeGuard]) -> list[str]:
    """Guards as text; to those on sizes, where they come from."""
    texts = {guard.condition: str(guard) for guard in guards}
    return [texts.get(line, line) for line in lines]


def symbols(details: Details) -> Texts:
    """The sizes and numbers that a compiled piece takes as they come."""
    found = symbols_of(details)
    lines = [f"{reports.place(details)}: {len(found) or 'no'} symbols"]
    lines += [f"  {symbol}" for symbol in found]
    data = {"symbols": list(map(vars, found))}
    return "\n".join(lines), {**_some(details, _PLACE), **data}


def bytecode(details: Details) -> Texts:
    """The function's bytecode, and what is run in its place."""
    before, after = details["bytecode"].rstrip(), details["program"].rstrip()
    parts = [
        f"{reports.place(details)}, from instruction {details['start']}:",
        before,
        "becomes:",
        after,
    ]
    island = details.get("island", "").rstrip()
    if island:
        parts += ["and then:", island]
    data = {"start": details["start"], "before": before, "after": after}
    data["island"] = island
    return "\n".join(parts), {**_some(details, _PLACE), **data}


def graph_break(details: Details) -> Texts:
    """Where a graph ends before its function does, and why."""
    text = f"{reports.place(details)}: {reports.what_broke(details)}"
    return text, {**_some(details, _BREAK), "graph_break": True}


def plain(details: Details) -> Texts:
    """A function that runs in plain Python, and why."""
    text = (
        f"{reports.place(details)} runs in plain Python: "
        f"{reports.what_broke(details)}"
    )
    return text, {**_some(details, _BREAK), "graph_break": False}


def recompile(details: Details) -> Texts:
    """Why nothing of what was compiled so far could be used."""
    lines = [f"{reports.place(details)} is compiled again, because"]
    for why, stack in zip(details["why"], details["stacks"], strict=True):
        asked = f" (asked for at {line_text(stack)})" if stack else ""
        lines.append(f"  {why}{asked}")
    return "\n".join(lines), _some(details, (*_PLACE, "why", "stacks"))


def trace_call(details: Details) -> Texts:
    """A call that goes into the graph, with the line that makes it."""
    target = call_text(details)
    data = {"target": target, **_some(details, _PLACE)}
    if "filename" not in details:
        return target, data
    filename, line = details["filename"], details["line"]
    source = linecache.getline(filename, line).strip()
    data["source"] = source
    text = f"{target} at {filename}:{line} in {details['function']}"
    return f"{text}\n    {source}" if source else text, data


def call_text(details: Details) -> str:
    """What a "call" report calls: `torch.add`, `Tensor.sum`."""
    text = graph_text.target_text(details["target"])
    return f"Tensor.{text}" if details["is_method"] else text


def _some(details: Details, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: details[name] for name in names if name in details}


BY_KIND: dict[str, tuple[tuple[str, Callable[[Details], Texts]], ...]] = {
    "compiled": (
        ("guards", guards),
        ("symbols", symbols),
        ("bytecode", bytecode),
    ),
    "graph_break": (("graph_breaks", graph_break),),
    "skip": (("graph_breaks", plain),),
    "raised": (("graph_breaks", plain),),
    "recompile": (("recompiles", recompile),),
    "call": (("trace_call", trace_call),),
}
"""By kind of report: the logs that it goes to, and what makes their texts."""
