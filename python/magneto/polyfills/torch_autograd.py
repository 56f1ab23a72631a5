# SPDX-License-Identifier: BSD-3-Clause
"""Of ``torch.autograd``."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import FunctionCtx, _SingleLevelFunction
from torch.utils.hooks import RemovableHandle

from magneto.polyfills import leave_to_c

_NO_SETUP = _SingleLevelFunction.setup_context


def hook_handle() -> RemovableHandle:
    """What registering a hook gives, before the hook is registered."""
    return RemovableHandle.__new__(RemovableHandle)


class _Context(FunctionCtx):
    """What a function's `forward` and `backward` get as `ctx`."""

    to_save: tuple[torch.Tensor | None, ...] = ()
    non_differentiable: tuple[torch.Tensor, ...] = ()
    dirty_tensors: tuple[torch.Tensor, ...] = ()

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad

    @property
    def saved_tensors(self) -> tuple[torch.Tensor | None, ...]:
        return self.to_save


def function_apply(cls: Any, *args: Any) -> Any:
    """``Function.apply`` where nothing is differentiated: its `forward`."""
    result, context = _forward(cls, args)
    if any(item.requires_grad for item in context.dirty_tensors):
        leave_to_c("a torch.autograd.Function that takes a tensor's history")
    return result


def function_forward(cls: Any, *args: Any) -> tuple[Any, ...]:
    """``Function.apply`` where something is differentiated, and what the
    context then says.
    """
    result, context = _forward(cls, args)
    return (
        result,
        context.to_save,
        context.non_differentiable,
        context.dirty_tensors,
        context,
    )


def function_backward(
    cls: Any, context: Any, *gradients: Any
) -> tuple[Any, ...]:
    """What autograd calls for the gradients of the outputs."""
    has_own_name = cls.vjp is not _SingleLevelFunction.vjp
    function = cls.vjp if has_own_name else cls.backward
    result = function(context, *gradients)
    return result if isinstance(result, tuple) else (result,)


def _forward(cls: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    sets_up = cls.setup_context is not _NO_SETUP
    if sets_up:
        defaults = cls.forward.__defaults__ or ()
        missing = cls.forward.__code__.co_argcount - len(args)
        if 0 < missing <= len(defaults):
            args += defaults[-missing:]
    context = _Context(
        tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
    )
    with torch.no_grad():
        if sets_up:
            result = cls.forward(*args)
            cls.setup_context(context, args, result)
        else:
            result = cls.forward(context, *args)
        changed = context.dirty_tensors
        if isinstance(result, tuple):
            own = tuple(_own(item, args, changed) for item in result)
            return own, context
        return _own(result, args, changed), context


def _own(item: Any, args: tuple[Any, ...], changed: tuple[Any, ...]) -> Any:
    """An argument that is returned as it is becomes a view of it."""
    if (
        isinstance(item, torch.Tensor)
        and any(item is argument for argument in args)
        and not any(item is argument for argument in changed)
    ):
        return item.view_as(item)
    return item


# Not polyfills: they run while a trace is made, on its fakes.
def need_gradients(*tensors: torch.Tensor) -> bool:
    """Whether one does, or what it wraps for a transform of `torch.func`."""
    functorch = torch._C._functorch
    for tensor in tensors:
        while functorch.is_functorch_wrapped_tensor(tensor):
            tensor = functorch.get_unwrapped(tensor)
        if tensor.requires_grad:
            return True
    return False


class _Differentiated(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, outputs: Any, marked: Any, dirty: Any, *inputs: Any
    ) -> Any:
        ctx.mark_non_differentiable(*marked)
        ctx.mark_dirty(*dirty)
        return outputs


def differentiate(
    outputs: tuple[torch.Tensor, ...],
    non_differentiable: tuple[torch.Tensor, ...],
    dirty: tuple[torch.Tensor, ...],
    inputs: tuple[torch.Tensor, ...],
) -> None:
    """Give outputs the history that a function's have, in place.

    Args:
        outputs: what the function gives.
        non_differentiable: those of them that it marked as such.
        dirty: the arguments among them that it says it has written to.
        inputs: the tensors among its arguments.

    """
    _Differentiated.apply(outputs, non_differentiable, dirty, *inputs)
