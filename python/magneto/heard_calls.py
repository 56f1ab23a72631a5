# SPDX-License-Identifier: BSD-3-Clause
"""Calls by which programs tell PyTorch's compiler what to do from now on:
`torch.compiler.set_stance` and `reset`, and two settings that are heard when
they are written. All of that ends in `torch._dynamo`, where it is heard,
however a program came by the function that it calls.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from magneto import _C, api, heard_settings
from magneto.backends import lookup_backend


def listen() -> None:
    """Hears of these calls once torch._dynamo is there; it is not loaded for
    that.
    """
    if "torch._dynamo.decorators" in sys.modules:
        _hook()
    else:
        sys.meta_path.insert(0, _WhenLoaded())


class _WhenLoaded(MetaPathFinder):
    """Waits for the import of torch._dynamo."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch._dynamo":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None:
            _call_behind_execution(spec, self)
        return spec


def _call_behind_execution(spec: ModuleSpec, finder: _WhenLoaded) -> None:
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        del loader.exec_module
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        _hook()

    loader.exec_module = exec_module


def _hook() -> None:
    from torch import _dynamo
    from torch._dynamo import decorators, eval_frame

    decorators._set_stance = _hearing_stance(decorators._set_stance)
    _dynamo.reset = _hearing_reset(_dynamo.reset)
    _take(eval_frame._stance)
    _hear_restrictions(_dynamo.config)


def _hear_restrictions(config: Any) -> None:
    """The module becomes one of a class that tells what is written."""

    class Heard(type(config)):  # type: ignore[misc]
        def __setattr__(self, name: str, value: Any) -> None:
            if name in heard_settings.RESTRICTIONS:
                before = getattr(self, name)
                heard_settings.note_restriction(name, before, value)
            super().__setattr__(name, value)

    for name in heard_settings.RESTRICTIONS:
        written = config._config[name].user_override.get()
        heard_settings.note_restriction(name, False, written)
    object.__setattr__(config, "__class__", Heard)


_C_FUNCTIONS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def substitute_of(original: Any) -> Any:
    """What the program has had traced in the place of a C function with
    `torch.compiler.substitute_in_graph`, or None. C++ asks for functions that
    would break the graph; PyTorch's own substitutes aren't meant.
    """
    functions: Any = sys.modules.get("torch._dynamo.variables.functions")
    kind = getattr(functions, "PolyfilledFunctionVariable", None)
    if kind is None or not isinstance(original, _C_FUNCTIONS):
        return None
    wrapper = kind._get_polyfill_handlers().get(original)
    substitute = getattr(wrapper, "__torch_dynamo_polyfill__", None)
    module = getattr(substitute, "__module__", None) or ""
    return None if module.startswith("torch._dynamo.") else substitute


def _hearing_stance(function: Any) -> Any:
    @functools.wraps(function)
    def set_stance(stance: Any) -> Any:
        _check(stance)
        before = function(stance)
        _take(stance)
        return before

    return set_stance


def _hearing_reset(function: Any) -> Any:
    @functools.wraps(function)
    def reset() -> None:
        function()
        api.reset()

    return reset


def _check(stance: Any) -> None:
    if _C.is_in_compiled_function():
        raise RuntimeError(
            "set_stance() was called in a compiled function; call it outside"
        )
    if stance.backend is not None:
        lookup_backend(stance.backend)  # raises when there is none


def _take(stance: Any) -> None:
    """That guards which could be left out are left out (which is what
    `skip_guard_eval_unsafe` asks for) isn't needed: all of them cost less than
    a microsecond, and no result is wrong with them.
    """
    from magneto import stances

    stances.take(stance.stance, stance.backend)
