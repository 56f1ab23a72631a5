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


class _Zero(torch.autograd.Function):
    """A zero whose gradient is zeros for all that it is given."""

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.alike = [(t.size(), t.dtype, t.device) for t in tensors]
        return tensors[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return tuple(
            torch.zeros(size, dtype=dtype, device=device)
            for size, dtype, device in ctx.alike
        )


def cond(
    predicate: Any,
    on_true: torch.fx.GraphModule,
    on_false: torch.fx.GraphModule,
    operands: tuple[Any, ...],
) -> Any:
    """What `torch.cond` does: each output has a gradient if an operand has, and
    what the branch doesn't use has one of zeros. The operator itself traces
    both branches again in each call that is differentiated.

    Args:
        predicate: a bool, or a tensor of one.
        on_true: is called if it is true.
        on_false: is called otherwise.
        operands: the inputs of both.

    """
    result = (on_true if predicate else on_false)(*operands)
    given = [
        each
        for each in operands
        if isinstance(each, torch.Tensor) and each.requires_grad
    ]
    if not given or not torch.is_grad_enabled():
        return result
    zero = _Zero.apply(*given)
    return tuple(
        each - zero.to(each)
        if each.is_floating_point() or each.is_complex()
        else each
        for each in result
    )


def while_loop(
    condition: torch.fx.GraphModule,
    body: torch.fx.GraphModule,
    carried: tuple[Any, ...],
    additional: tuple[Any, ...],
) -> tuple[Any, ...]:
    """What `torch.while_loop` does, differentiated step by step.

    Args:
        condition: gives a bool, or a tensor of one.
        body: gives what is carried on.
        carried: what both are given first.
        additional: what both are given behind it.

    """
    values = carried
    while condition(*values, *additional):
        values = body(*values, *additional)
    if values is carried:
        return tuple(
            each.clone() if isinstance(each, torch.Tensor) else each
            for each in carried
        )
    return values


def scan(
    combine: torch.fx.GraphModule,
    init: list[torch.Tensor],
    xs: list[torch.Tensor],
    additional: list[Any],
) -> tuple[torch.Tensor, ...]:
    """What `torch.scan` does, differentiated step by step.

    Args:
        combine: is given what is carried, a slice of each of `xs` and
            `additional`; gives what is carried on, and others.
        init: what is carried first.
        xs: go step by step along their first dimension.
        additional: what each step is given as it is.

    Returns:
        What was carried last, and the others of all steps, stacked.

    """
    carried = list(init)
    others = []
    for i in range(xs[0].size(0)):
        result = combine(*carried, *(x.select(0, i) for x in xs), *additional)
        carried = list(result[: len(init)])
        others.append(result[len(init) :])
    return (*carried, *map(torch.stack, zip(*others, strict=True)))


def map_slices(
    body: torch.fx.GraphModule, xs: list[torch.Tensor], additional: list[Any]
) -> tuple[torch.Tensor, ...]:
    """What `torch.map` does, differentiated slice by slice.

    Args:
        body: is given a slice of each of `xs` and `additional`.
        xs: are cut along their first dimension.
        additional: what is given to each call as it is.

    """
    return scan(body, [], xs, additional)


def associative_scan(
    combine: torch.fx.GraphModule,
    xs: list[torch.Tensor],
    additional: tuple[Any, ...],
) -> list[torch.Tensor]:
    """What `torch.associative_scan` does.

    Args:
        combine: gives a slice for two of each of `xs`, and `additional`.
        xs: go along their first dimension.
        additional: what each call is given as it is.

    """
    from torch._higher_order_ops.associative_scan import (
        generic_associative_scan,
    )

    return generic_associative_scan(combine, xs, 0, additional)


def wrap(body: torch.fx.GraphModule, *args: Any) -> Any:
    """A call of the graph.

    Args:
        body: the graph.
        args: its inputs.

    """
    return body(*args)


def invoke_subgraph(
    body: torch.fx.GraphModule, identifier: str, *args: Any
) -> Any:
    """A call of the graph, which the operator itself would trace again.

    Args:
        body: the graph.
        identifier: its name.
        args: its inputs.

    """
    return body(*args)


_TRACERS = (
    torch._C._TorchDispatchModeKey.FAKE,
    torch._C._TorchDispatchModeKey.PROXY,
    torch._C._TorchDispatchModeKey.FUNCTIONAL,
)


def _unless_traced(
    operator: Any, function: Callable[..., Any]
) -> Callable[..., Any]:
    """`function`, but where PyTorch's compilers trace a graph by running it:
    they are to see the operator.
    """
    mode_of = torch._C._get_dispatch_mode

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        is_traced = any(mode_of(key) is not None for key in _TRACERS)
        return (operator if is_traced else function)(*args, **options)

    return call


@functools.cache
def table() -> dict[Any, Callable[..., Any]]:
    """By operator: what is called instead."""
    operators = torch.ops.higher_order
    functions: dict[Any, Callable[..., Any]] = {
        operators.associative_scan: associative_scan,
        operators.autograd_function_apply: apply_autograd_function,
        operators.cond: cond,
        operators.invoke_subgraph: invoke_subgraph,
        operators.map_impl: map_slices,
        operators.scan: scan,
        operators.tag_activation_checkpoint: checkpoint,
        operators.while_loop: while_loop,
        operators.wrap: wrap,
    }
    return {
        operator: _unless_traced(operator, function)
        for operator, function in functions.items()
    }
