# SPDX-License-Identifier: BSD-3-Clause
"""Passes that run on every finished graph, before the backend sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from magneto.exc import (
    InvalidBackendResult,
    MagnetoError,
    backend_failure,
    backend_name,
)

GraphPass = Callable[
    [torch.fx.GraphModule, list[Any]], torch.fx.GraphModule | None
]

_passes: list[GraphPass] = []


class Registration:
    """Undoes a registration: `remove()`, or leaving its `with` block."""

    def __init__(self, graph_pass: GraphPass) -> None:
        self._pass = graph_pass

    def remove(self) -> None:
        """Unregisters the pass; a second time it does nothing."""
        if self._pass in _passes:
            _passes.remove(self._pass)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_pass(graph_pass: GraphPass) -> Registration:
    """Runs `graph_pass(gm, example_inputs)` on each graph captured from now on.

    A pass may edit `gm.graph`, and then calls `gm.recompile()`; it may return
    another GraphModule, or None to keep `gm`. Passes run in the order in which
    they were registered. What they change is not undone by `remove()`: call
    `magneto.reset()` to have graphs captured anew.

    Args:
        graph_pass: called with the GraphModule and the list of example inputs.

    Returns:
        An object with `remove()`, usable in a `with` statement.

    Raises:
        TypeError: `graph_pass` can't be called. What a pass raises later is
            raised by the call that compiles, as a BackendCompilerFailed.

    """
    if not callable(graph_pass):
        raise TypeError(
            f"a pass must be callable, not {type(graph_pass).__name__}"
        )
    _passes.append(graph_pass)
    return Registration(graph_pass)


def registered_passes() -> tuple[GraphPass, ...]:
    """The registered passes, in the order in which they run."""
    return tuple(_passes)


def run_passes(
    gm: torch.fx.GraphModule, example_inputs: list[Any]
) -> torch.fx.GraphModule:
    """`gm` after all registered passes; what they raise is a
    BackendCompilerFailed.
    """
    for graph_pass in registered_passes():
        try:
            result = graph_pass(gm, example_inputs)
        except MagnetoError:
            raise
        except Exception as error:
            raise backend_failure(graph_pass, error) from error
        if result is None:
            continue
        if not isinstance(result, torch.fx.GraphModule):
            raise InvalidBackendResult(
                f"pass {backend_name(graph_pass)!r} returned "
                f"{type(result).__name__}; a pass must return a "
                "torch.fx.GraphModule or None"
            )
        gm = result
    return gm
