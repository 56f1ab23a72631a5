# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for testing what magneto compiles.

`check(fn, *inputs)` runs a function eagerly and compiled, side by side, and
fails with the first difference: in results, exceptions, mutated inputs, printed
output or random number generators. `RecordingBackend` keeps the graphs that it
is given; `torch_graph_calls` and `magneto_graph_calls` list the calls in the
graphs that either compiler captures.
"""

from magneto.testing.compare import Difference, compare
from magneto.testing.graphs import (
    RecordingBackend,
    calls_in,
    magneto_graph_calls,
    torch_graph_calls,
)
from magneto.testing.oracle import Report, check, check_calls

__all__ = [
    "Difference",
    "RecordingBackend",
    "Report",
    "calls_in",
    "check",
    "check_calls",
    "compare",
    "magneto_graph_calls",
    "torch_graph_calls",
]
