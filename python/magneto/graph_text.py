# SPDX-License-Identifier: BSD-3-Clause
"""Graphs for logs: `graph_code`, `graph` and `graph_sizes`, as text for people
and as data for programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from magneto import _C


def graph_code(gm: torch.fx.GraphModule) -> str:
    """The graph as Python code, with types, strides and the user's lines."""
    return gm.print_readable(
        print_output=False, include_stride=True, include_device=True
    )


def graph_table(gm: torch.fx.GraphModule) -> str:
    """The graph as a table: opcode, name, target, args, kwargs."""
    rows = [("opcode", "name", "target", "args", "kwargs")]
    for node in gm.graph.nodes:
        rows.append(
            (
                node.op,
                node.name,
                target_text(node.target),
                _plain(node.args),
                _plain(node.kwargs),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    rows.insert(1, tuple("-" * width for width in widths))
    lines = [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def graph_sizes(gm: torch.fx.GraphModule) -> str:
    """The shape of each tensor in the graph, one a line: `name: (2, 3)`. Where
    it has symbols, with its value in the call that was traced:
    `name: (s0, 3) = (2, 3)`.
    """
    lines = []
    for label, tensor in _all_tensors(gm):
        shape, concrete = tuple(tensor.shape), _concrete(tensor)
        known = "" if all(map(_is_int, shape)) else f" = {_tuple(concrete)}"
        lines.append(f"{label}: {_tuple(shape)}{known}")
    return "\n".join(lines)


def target_text(target: Any) -> str:
    """What a node calls, without addresses: `torch.add`, `operator.add`."""
    if isinstance(target, str):
        return target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target)
    name = getattr(target, "__name__", type(target).__name__)
    module = getattr(target, "__module__", None)
    if module in ("_operator", "math"):
        return f"{module.lstrip('_')}.{name}"
    if module is None or module == "torch._C._nn":
        return name
    return f"{module}.{name}"


def _plain(value: Any) -> str:
    """repr() of arguments, without addresses."""
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, dict):
        items = [f"{key!r}: {_plain(item)}" for key, item in value.items()]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return f"slice({', '.join(map(_plain, parts))})"
    if isinstance(value, (tuple, list)):
        text = ", ".join(map(_plain, value))
        if isinstance(value, list):
            return f"[{text}]"
        return f"({text},)" if len(value) == 1 else f"({text})"
    if callable(value) and not isinstance(value, (torch.dtype, torch.device)):
        return target_text(value)
    text = repr(value)
    return f"<{type(value).__name__}>" if " at 0x" in text else text


def _tensors(label: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        return [(label, value)]
    if isinstance(value, (tuple, list)):
        return [
            found
            for i, item in enumerate(value)
            for found in _tensors(f"{label}[{i}]", item)
        ]
    return []


def _all_tensors(gm: torch.fx.GraphModule) -> list[tuple[str, torch.Tensor]]:
    """The example of each tensor, inputs first. Magneto's own where they are
    known: their sizes have the symbols' names that all texts have.
    """
    own = {}
    if captured := gm.__dict__.get("_captured"):
        handle = captured.handle
        own = dict(zip(handle.names(), handle.examples(), strict=True))
    return [
        found
        for node in gm.graph.nodes
        for found in _tensors(
            node.name, own.get(node.name, node.meta.get("example_value"))
        )
    ]


def _is_int(size: Any) -> bool:
    return isinstance(size, int)


def _concrete(tensor: torch.Tensor) -> list[Any]:
    """The sizes in the call that was traced; None: only the graph tells."""
    return [
        size if _is_int(size) else _C._tensor.number_hint(size)
        for size in tensor.shape
    ]


def _tuple(sizes: Iterable[Any]) -> str:
    texts = ["?" if size is None else str(size) for size in sizes]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _code_data(gm: torch.fx.GraphModule) -> dict[str, Any]:
    return {"code": gm.code}


def _table_data(gm: torch.fx.GraphModule) -> dict[str, Any]:
    nodes = [
        {
            "op": node.op,
            "name": node.name,
            "target": target_text(node.target),
            "args": _plain(node.args),
            "kwargs": _plain(node.kwargs),
        }
        for node in gm.graph.nodes
    ]
    return {"nodes": nodes}


def _sizes_data(gm: torch.fx.GraphModule) -> dict[str, Any]:
    """Symbols are text; sizes in the call that only the graph tells, None."""
    tensors = _all_tensors(gm)
    sizes = {
        label: [s if _is_int(s) else str(s) for s in tensor.shape]
        for label, tensor in tensors
    }
    concrete = {label: _concrete(tensor) for label, tensor in tensors}
    return {"sizes": sizes, "concrete": concrete}


LOGS = {
    "graph_code": (graph_code, _code_data),
    "graph": (graph_table, _table_data),
    "graph_sizes": (graph_sizes, _sizes_data),
}
"""By artifact: what makes its text, and what makes its data."""
