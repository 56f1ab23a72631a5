# SPDX-License-Identifier: BSD-3-Clause
"""Floats that vary from call to call, for backends that take no symbolic ones.

PyTorch's compilers know how to compile a number that comes out of a tensor. So
a float input becomes a tensor of float64 without dimensions, of which the graph
takes `item()`: torch.compile gives such inputs the same form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def float_positions(examples: list[Any]) -> list[int]:
    """Which of a graph's inputs are symbolic floats."""
    return [
        i for i, each in enumerate(examples) if isinstance(each, torch.SymFloat)
    ]


def with_tensors(values: list[Any], positions: list[int]) -> list[Any]:
    """The inputs of a graph, those floats as tensors."""
    values = list(values)
    for i in positions:
        values[i] = torch.tensor(
            values[i], dtype=torch.float64, device="cpu", requires_grad=False
        )
    return values


class TensorsForFloats:
    """A callable that takes floats where `compiled` takes tensors."""

    def __init__(
        self, compiled: Callable[..., Any], positions: list[int]
    ) -> None:
        self._compiled = compiled
        self._positions = positions

    def __call__(self, *values: Any) -> Any:
        """Calls it with the graph's inputs."""
        return self._compiled(*with_tensors(list(values), self._positions))


def take_tensors(
    gm: torch.fx.GraphModule,
    positions: list[int],
    inputs: list[Any],
    fake_of: Callable[[torch.Tensor], Any],
) -> None:
    """Edits a captured graph to take tensors in the place of floats.

    Args:
        gm: the graph.
        positions: which of its inputs are floats.
        inputs: the inputs that it takes from then on, in order.
        fake_of: gives the fake of such an input.

    """
    graph = gm.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    with graph.inserting_after(placeholders[-1]):
        for i in reversed(positions):
            node = placeholders[i]
            item = graph.call_method("item", (node,))
            node.replace_all_uses_with(
                item, delete_user_cb=lambda user, item=item: user is not item
            )
            item.meta["example_value"] = node.meta["example_value"]
            fake = fake_of(inputs[i])
            node.meta["example_value"] = fake
            argument = node.meta["grapharg"]
            argument.is_tensor, argument.fake_tensor = True, fake
            argument.example_ref = lambda tensor=inputs[i]: tensor
    gm.recompile()
