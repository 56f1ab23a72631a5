# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the table: what is measured, and what magneto must reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table; `key` names its measurement in measure.py."""

    key: str
    work: str
    unit: str  # s, µs, ms or MB
    target: float  # torch.compile's figure divided by magneto's, at least
    aim: str  # the same as the table shows it


ROWS = [
    Row("capture_8_layers", "capture, 8 layers", "s", 30, "1/30"),
    Row("capture_32_layers", "capture, 32 layers", "s", 30, "1/30"),
    Row(
        "capture_8_layers_dynamic",
        "the same 8 layers, dynamic shapes",
        "s",
        30,
        "1/30",
    ),
    Row(
        "capture_32_layers_dynamic",
        "the same 32 layers, dynamic shapes",
        "s",
        30,
        "1/30",
    ),
    Row(
        "capture_unrolled_loop",
        "capture, loop of 1,000 `x = x + i`",
        "s",
        50,
        "1/50",
    ),
    Row(
        "capture_integer_loop",
        "capture, Python loop of 20,000 steps of integer arithmetic",
        "s",
        50,
        "1/50",
    ),
    Row("capture_conds", "capture, 200 `torch.cond`", "s", 30, "1/30"),
    Row(
        "capture_nested_conds",
        "capture, `torch.cond` nested 6 deep",
        "s",
        30,
        "1/30",
    ),
    Row("capture_vmap", "capture, `vmap` over a perceptron", "s", 30, "1/30"),
    Row(
        "capture_checkpoints",
        "capture, 32 checkpointed layers",
        "s",
        30,
        "1/30",
    ),
    Row(
        "capture_autograd_functions",
        "capture, 100 calls of an `autograd.Function`",
        "s",
        30,
        "1/30",
    ),
    Row(
        "call_add",
        "a compiled call's overhead: 2-argument function",
        "µs",
        9.0 / 1.0,
        "1 µs of 9.0",
    ),
    Row(
        "call_add_dynamic",
        "the same, dynamic shapes",
        "µs",
        13.4 / 1.5,
        "1.5 µs of 13.4",
    ),
    Row(
        "call_add_eager",
        "the same, the graph run as it is, beyond the operator",
        "µs",
        13.7 / 1.5,
        "1.5 µs of 13.7",
    ),
    Row(
        "call_graph_break",
        "the same, one graph break",
        "µs",
        14.9 / 3.0,
        "3 µs of 14.9",
    ),
    Row(
        "call_ten_graph_breaks",
        "the same, ten graph breaks",
        "µs",
        80.0 / 15.0,
        "15 µs of 80",
    ),
    Row(
        "call_32_layers",
        "the same, 32-layer model (293 graph inputs)",
        "µs",
        198.0 / 10.0,
        "10 µs of 198",
    ),
    Row(
        "recompile",
        "recompile of a one-line function",
        "ms",
        31.0,
        "1 ms of 31",
    ),
    Row(
        "import",
        "import, beyond `import torch`",
        "s",
        1.28 / 0.05,
        "0.05 s of 1.28",
    ),
    Row(
        "memory_32_layers",
        "memory that capture of 32 layers adds, at its peak",
        "MB",
        4.0,
        "1/4",
    ),
]

BY_KEY = {row.key: row for row in ROWS}


@dataclass(frozen=True)
class Quotient:
    """What one row costs in terms of another, for each compiler; printed where
    both rows were measured.
    """

    work: str
    above: str  # the rows' keys
    below: str
    most: float  # for magneto


QUOTIENTS = [
    Quotient(
        f"capture with dynamic shapes / static, {layers} layers",
        f"capture_{layers}_layers_dynamic",
        f"capture_{layers}_layers",
        1.5,
    )
    for layers in (8, 32)
]
SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "MB": 1e-6}


def formatted(value: float | None, unit: str) -> str:
    """A measured value (seconds or bytes) in the row's unit."""
    if value is None:
        return "-"
    scaled = value * SCALES[unit]
    digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
    if scaled < 0.1:
        digits = 4
    return f"{scaled:.{digits}f} {unit}"
