# SPDX-License-Identifier: BSD-3-Clause
"""Of ``torch.autograd``."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import FunctionCtx, _SingleLevelFunction

from magneto.polyfills import leave_to_c

_NO_SETUP = _SingleLevelFunction.setup_context


class _Context(FunctionCtx):
    """What a function's `forward` gets as `ctx`."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad


def function_apply(cls: Any, *args: Any) -> Any:
    """``Function.apply`` where nothing is differentiated: its `forward`."""
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
        changed = getattr(context, "dirty_tensors", ())
        if any(item.requires_grad for item in changed):
            leave_to_c(
                "a torch.autograd.Function that takes a tensor's history"
            )
        if isinstance(result, tuple):
            return tuple(_own(item, args, changed) for item in result)
        return _own(result, args, changed)


def _own(item: Any, args: tuple[Any, ...], changed: tuple[Any, ...]) -> Any:
    """An argument that is returned as it is becomes a view of it."""
    if (
        isinstance(item, torch.Tensor)
        and any(item is argument for argument in args)
        and not any(item is argument for argument in changed)
    ):
        return item.view_as(item)
    return item
