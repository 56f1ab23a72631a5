# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that begin without gradients, and turn them on.

AOTAutograd compiles a backward if there are gradients where it is called, and
what a graph that has none views behind `enable_grad()` is a leaf. So such a
graph turns gradients off itself when it begins, and is compiled and called with
gradients on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_SWITCH = torch._C._set_grad_enabled
_ENTER_INFERENCE_MODE = torch.autograd.grad_mode._enter_inference_mode


def turns_on(handle: Any, gm: torch.fx.GraphModule) -> bool:
    """Whether the graph turns gradients on.

    Args:
        handle: of the graph that was captured.
        gm: the module of that, whose nodes are made when somebody asks.

    """
    return _calls(handle, gm, _SWITCH, True)


def turns_inference_off(handle: Any, gm: torch.fx.GraphModule) -> bool:
    """Whether the graph enters a `torch.inference_mode(False)`."""
    return _calls(handle, gm, _ENTER_INFERENCE_MODE, False)


def _calls(
    handle: Any, gm: torch.fx.GraphModule, function: Any, argument: bool
) -> bool:
    return function in handle.targets() and any(
        node.target is function and node.args == (argument,)
        for node in gm.graph.nodes
    )


def turn_off_first(gm: torch.fx.GraphModule) -> None:
    """Edits a captured graph to turn gradients off when it begins."""
    graph = gm.graph
    first = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(first):
        graph.call_function(_SWITCH, (False,))
    gm.recompile()


class CalledWithGradients:
    """Calls `compiled`, which turns gradients off, where they are off."""

    def __init__(self, compiled: Callable[..., Any]) -> None:
        self._compiled = compiled

    def __call__(self, *values: Any) -> Any:
        """Calls it with the graph's inputs."""
        _SWITCH(True)
        try:
            return self._compiled(*values)
        except BaseException:
            _SWITCH(False)
            raise
