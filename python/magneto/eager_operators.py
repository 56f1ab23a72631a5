# SPDX-License-Identifier: BSD-3-Clause
"""What a graph calls, when it runs as it is, in the place of operators that are
there for PyTorch's compilers: these see what the operator is called with, and
make of it what they need.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


def checkpoint(body: torch.fx.GraphModule, *args: Any, **options: Any) -> Any:
    """What `torch.utils.checkpoint` does with a function.

    The operator itself draws other random numbers in the backward than in the
    forward, which a compiler's partitioner sees to, and never takes the older
    way (`use_reentrant=True`).

    Args:
        body: the function's graph; `_checkpoint_context_fn` in its `meta` is
            what was given as `context_fn`.
        args: the graph's inputs.
        options: the keywords that `checkpoint()` was given.

    """
    from torch.utils.checkpoint import checkpoint

    if options.get("use_reentrant") is None:
        options["use_reentrant"] = True
    if "_checkpoint_context_fn" in body.meta:
        options["context_fn"] = body.meta["_checkpoint_context_fn"]
    return checkpoint(body, *args, **options)


class _Applied(torch.autograd.Function):
    """A function whose `forward` and `backward` are graphs."""

    @staticmethod
    def forward(
        ctx: Any,
        forward: torch.fx.GraphModule,
        backward: torch.fx.GraphModule,
        options: dict[str, list[int]],
        *args: Any,
    ) -> Any:
        outputs, saved = forward(*args)
        ctx.backward_graph = backward
        ctx.places = options["saved_for_backward_idx"]
        ctx.save_for_backward(*(saved[i] for i in ctx.places))
        ctx.others = [
            None if i in ctx.places else value for i, value in enumerate(saved)
        ]
        ctx.mark_non_differentiable(
            *(outputs[i] for i in options["non_differentiable_idx"])
        )
        ctx.mark_dirty(*(outputs[i] for i in options.get("dirty_idx", ())))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        saved = list(ctx.others)
        # Asked in vain, autograd says that the graph was freed.
        tensors = ctx.saved_tensors if ctx.places else ()
        for place, value in zip(ctx.places, tensors, strict=True):
            saved[place] = value
        return None, None, None, *ctx.backward_graph(*gradients, *saved)


def _class_of(forward: torch.fx.GraphModule) -> type[_Applied]:
    """Named as the program's, so that `grad_fn` is."""
    made = forward.meta.get("applied")
    if made is None:
        name = forward.meta.get("autograd_function", _Applied.__name__)
        made = forward.meta["applied"] = type(name, (_Applied,), {})
    return made


def apply_autograd_function(
    forward: torch.fx.GraphModule,
    backward: torch.fx.GraphModule,
    *args: Any,
    **options: Any,
) -> Any:
    """What `torch.autograd.Function.apply` does with a function.

    The operator itself keeps what the backward needs past autograd: no hooks
    for saved tensors see it, no write to it is noticed, and its gradients have
    none of their own.

    Args:
        forward: gives (outputs, what is saved); `autograd_function` in its
            `meta` is the function's name.
        backward: is given the gradients of the outputs and what was saved;
            gives a gradient, or None, for each of `args`.
        args: the inputs of `forward`.
        options: `non_differentiable_idx` and `dirty_idx`, places in the
            outputs, and `saved_for_backward_idx`, places in what is saved.

    """
    return _class_of(forward).apply(forward, backward, options, *args)


@functools.cache
def table() -> dict[Any, Callable[..., Any]]:
    """By operator: what is called instead."""
    operators = torch.ops.higher_order
    return {
        operators.autograd_function_apply: apply_autograd_function,
        operators.tag_activation_checkpoint: checkpoint,
    }
