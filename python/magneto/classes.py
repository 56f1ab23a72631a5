# SPDX-License-Identifier: BSD-3-Clause
"""What `compile()` and `disable()` do to classes: they change the methods that
run when an instance is made or called, and give the class back.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from magneto import _C

# From Py_TPFLAGS_IMMUTABLETYPE: classes written in C take no other methods.
_IMMUTABLE = 1 << 8

_OURS = (_C.CompiledFunction, _C.DisabledFunction)


def is_immutable(cls: type) -> bool:
    """Whether no method of the class can be replaced (`int`, `torch.Size`)."""
    return bool(cls.__flags__ & _IMMUTABLE)


def own_method(cls: type, name: str) -> Any:
    """The method of that name as the class or a base of it has it, if Python
    code or something of ours runs for it; else None.
    """
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if found is None:
            continue
        found = getattr(found, "__func__", found)  # a static method
        is_python = isinstance(found, (types.FunctionType, *_OURS))
        return found if is_python else None
    return None


def compile_class(cls: Any, settings: _C.Settings) -> Any:
    """Calls of the class's instances are compiled from now on.

    A class whose instances can't be called stays what it is: making an
    instance is no more compiled than under `torch.compile`.
    """
    call = own_method(cls, "__call__")
    if isinstance(call, _C.CompiledFunction):
        call = call.target
    if not isinstance(call, types.FunctionType):
        return cls
    anchor = None
    if issubclass(cls, torch.nn.Module):
        anchor = getattr(cls.forward, "__code__", None)
    compiled = _C.CompiledFunction(call, settings, anchor)
    cls.__call__ = functools.update_wrapper(compiled, call)
    return cls


# What runs when an instance is made or called.
_DISABLED = ("__new__", "__init__", "__call__")


def disable_class(cls: Any, disable: Callable[[Any], Any]) -> Any:
    """Neither making nor calling an instance is compiled from now on.

    Other methods are: `disable` each that shall not be.
    """
    for name in _DISABLED:
        method = own_method(cls, name)
        if method is None or isinstance(method, _C.DisabledFunction):
            continue
        if isinstance(method, _C.CompiledFunction):
            method = method.target
        disabled = disable(method)
        setattr(
            cls, name, staticmethod(disabled) if name == "__new__" else disabled
        )
    return cls
