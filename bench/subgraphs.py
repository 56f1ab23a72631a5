# SPDX-License-Identifier: BSD-3-Clause
"""Programs with operators that are given functions: each is captured whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

Function = Callable[[torch.Tensor], torch.Tensor]


def chain_of_conds(x: torch.Tensor) -> torch.Tensor:
    """200 calls of torch.cond, one after the other."""
    for i in range(200):
        x = torch.cond(
            x.sum() > i,
            lambda a: a.sin() + 1,
            lambda a: a.cos() * 2,
            (x,),
        )
    return x


def nested_conds(x: torch.Tensor, levels: int = 6) -> torch.Tensor:
    """torch.cond in each branch of torch.cond, six deep: 63 calls."""
    if levels == 0:
        return x.sin()
    return torch.cond(
        x.sum() > levels,
        lambda a: nested_conds(a + 1, levels - 1),
        lambda a: nested_conds(a * 2, levels - 1),
        (x,),
    )


def vmapped_mlp() -> Function:
    """torch.vmap over a perceptron with one hidden layer."""
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return lambda x: torch.vmap(mlp)(x.expand(3, 4))


def checkpointed_layers() -> Function:
    """32 layers under torch.utils.checkpoint."""
    torch.manual_seed(0)
    layers = [
        nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())
        for _ in range(32)
    ]

    def run(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x

    return run


class Scaled(torch.autograd.Function):
    """A product with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: int) -> torch.Tensor:
        """The product."""
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        """Something else than its gradient."""
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + x.sign(), None


def autograd_functions(x: torch.Tensor) -> torch.Tensor:
    """100 calls of one torch.autograd.Function, on what needs gradients."""
    for i in range(100):
        x = Scaled.apply(x, i)
    return x
