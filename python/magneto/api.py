# SPDX-License-Identifier: BSD-3-Clause
"""`compile()` and what belongs to it."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

import torch

from magneto import _C, classes, heard_settings
from magneto.backends import lookup_backend
from magneto.backends.registry import NamedBackend, reset_backends

T = TypeVar("T")


@overload
def compile(
    model: T,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: None = ...,
    dynamic_shapes: None = ...,
) -> T: ...


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: None = ...,
    dynamic_shapes: None = ...,
) -> Callable[[T], T]: ...


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: None = None,
    dynamic_shapes: None = None,
) -> Any:
    """Compiles a function or a module, as `torch.compile` does.

    The result is called as the original is. The first call with inputs of a new
    kind (other types, dtypes, shapes, ...) captures what the function does with
    its tensors as a graph and has the backend compile it; later calls with
    inputs of that kind run what was compiled.

    Args:
        model: a function, method, lambda, `nn.Module`, class, or any callable.
            Without it the result is a decorator.
        fullgraph: raise `magneto.exc.Unsupported` where something can't be in
            the graph, instead of running it in plain Python between two graphs.
        dynamic: whether sizes are symbols; None: those that vary.
        backend: a name (see `magneto.backends.list_backends()`) or a callable
            `backend(gm, example_inputs) -> callable`; "inductor" if not given,
            or what `torch.compiler.set_default_backend()` was told.
        mode: a mode of the backend, "max-autotune" for example.
        options: options of the backend; not together with `mode`.
        name: what the program calls what it compiles. Accepted, and without
            meaning: logs and errors name functions and lines.
        disable: return `model` as it is.
        recompile_limit: how often one function is compiled for different
            guards; None: `magneto.config.recompile_limit`.
        isolate_recompiles: share what is compiled, and the limit, with no other
            call of `compile()`; else functions compiled with equal arguments
            share both.
        shapes_spec: not supported; None. PyTorch 2.13 has this name for it.
        dynamic_shapes: not supported; None. PyTorch 2.14 and later have this
            name for it.

    Returns:
        For a module a module that wraps it; for a class the class itself, whose
        instances' calls are compiled (making one is not); else, for the classes
        of the interpreter too (`bool`), a callable.

    Raises:
        TypeError: `model` can't be called, or an argument is of the wrong type.
        InvalidBackend: there is no such backend.
        InvalidOptions: the backend has no such mode or option.

    Example:
        >>> import torch, magneto
        >>> @magneto.compile(backend="eager")
        ... def f(x, y):
        ...     return torch.relu(x) + y
        >>> f(torch.tensor([-1.0, 2.0]), 3)
        tensor([3., 5.])

    """
    arguments = {
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "backend": backend,
        "mode": mode,
        "options": options,
        "name": name,
        "disable": disable,
        "recompile_limit": recompile_limit,
        "isolate_recompiles": isolate_recompiles,
        "shapes_spec": shapes_spec,
        "dynamic_shapes": dynamic_shapes,
    }
    if model is None:
        return functools.partial(_compile_given, **arguments)
    if disable or heard_settings.is_switched_off():
        return _checked_callable(model)
    _check_types(arguments)
    function = lookup_backend(
        heard_settings.default_backend() if backend is None else backend,
        mode,
        _without_guard_filter(options),
        dynamic,
    )
    key = fullgraph, dynamic, recompile_limit or 0
    settings = (
        _C.Settings(function, *key)
        if isolate_recompiles
        else _settings(function, key)
    )
    return _compile_with(_checked_callable(model), settings, arguments)


def _without_guard_filter(options: Any) -> Any:
    """A filter (`torch.compiler.skip_all_guards_unsafe`) chooses guards to
    leave out for the time that they take. All of ours together take less than
    a microsecond, and with all of them no result is wrong.
    """
    if not isinstance(options, dict) or "guard_filter_fn" not in options:
        return options
    return {k: v for k, v in options.items() if k != "guard_filter_fn"} or None


def _check_types(arguments: dict[str, Any]) -> None:
    for name in ("fullgraph", "isolate_recompiles"):
        if not isinstance(arguments[name], bool):
            kind = _kind(arguments[name])
            raise TypeError(f"{name} must be a bool, not {kind}")
    dynamic, name = arguments["dynamic"], arguments["name"]
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be None or a bool, not {_kind(dynamic)}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be None or a str, not {_kind(name)}")
    limit = arguments["recompile_limit"]
    if limit is not None and not (type(limit) is int and limit > 0):
        raise TypeError(
            f"recompile_limit must be None or a positive int, not {limit!r}"
        )
    for spec in ("shapes_spec", "dynamic_shapes"):
        if arguments[spec] is not None:
            raise TypeError(
                f"{spec} isn't supported; use dynamic=True or False, or "
                "torch._dynamo.mark_dynamic and mark_unbacked"
            )


def _compile_given(model: Any, **arguments: Any) -> Any:
    if model is None:
        raise TypeError("compile() was given None; give it a callable")
    return compile(model, **arguments)


def _checked_callable(model: Any) -> Any:
    if not callable(model):
        raise TypeError(
            f"compile() takes a callable or an nn.Module, not {_kind(model)}"
        )
    return model


def _kind(value: Any) -> str:
    return f"{value!r}" if value is None else f"a {type(value).__name__}"


# -- settings ------------------------------------------------------------------

# Settings by backend and the other arguments, so that functions compiled with
# the same ones share what was compiled. A backend that nobody else holds takes
# its Settings, and what it compiled, away with it.
_by_name: dict[NamedBackend, dict[Any, _C.Settings]] = {}
_by_callable: weakref.WeakKeyDictionary[Any, dict[Any, _C.Settings]] = (
    weakref.WeakKeyDictionary()
)


def _settings(
    backend: Callable[..., Any], key: tuple[bool, bool | None, int]
) -> _C.Settings:
    table: Any = _by_name if isinstance(backend, NamedBackend) else _by_callable
    try:
        of_backend = table.setdefault(backend, {})
    except TypeError:  # can't be hashed or referred to weakly
        return _C.Settings(backend, *key)
    if key in of_backend and of_backend[key].backend is None:
        del of_backend[key]  # an equal backend took the place of a dead one
    if key not in of_backend:
        of_backend[key] = _C.Settings(backend, *key)
    return of_backend[key]


def with_backend(
    compiled: _C.CompiledFunction, backend: Callable[..., Any]
) -> _C.CompiledFunction:
    """The same function, compiled with another backend."""
    told = compiled.settings
    key = told.fullgraph, told.dynamic, told.recompile_limit
    return _C.CompiledFunction(
        compiled.target, _settings(backend, key), compiled.anchor
    )


# -- kinds of callables --------------------------------------------------------


def _compile_with(
    model: Any, settings: _C.Settings, arguments: dict[str, Any]
) -> Any:
    if _is_disabled(model):
        return model
    if isinstance(model, _C.CompiledFunction):
        model = model.target
    if isinstance(model, torch.nn.Module):
        from magneto.compiled_module import CompiledModule

        if isinstance(model, CompiledModule):
            model = model._orig_mod
        call = _compiled_function(model.__call__, settings)
        return CompiledModule(model, call, arguments)
    if isinstance(model, type) and not classes.is_immutable(model):
        return classes.compile_class(model, settings)
    return _compiled_function(model, settings)


def _is_disabled(model: Any) -> bool:
    if isinstance(model, _C.DisabledFunction):
        return model.recursive
    return getattr(model, "_torchdynamo_disable", False) and getattr(
        model, "_torchdynamo_disable_recursive", True
    )


def _compiled_function(
    target: Callable[..., Any], settings: _C.Settings
) -> _C.CompiledFunction:
    function = _function_to_trace(target)
    anchor = _anchor(target) if function is target else None
    compiled = _C.CompiledFunction(function, settings, anchor)
    return functools.update_wrapper(compiled, target)


def _function_to_trace(target: Callable[..., Any]) -> Callable[..., Any]:
    """A function or method that does what calling the target does."""
    if isinstance(target, types.MethodType):
        if isinstance(target.__func__, types.FunctionType):
            return target
    elif isinstance(target, types.FunctionType):
        # What a call of PyTorch's own means isn't always what its body does.
        return _as_python_function(target) if _is_torchs(target) else target
    elif not _is_torchs(type(target)):
        call = inspect.getattr_static(type(target), "__call__", None)
        if isinstance(call, types.FunctionType):
            return types.MethodType(call, target)
    return _as_python_function(target)


def _is_torchs(thing: Any) -> bool:
    return (thing.__module__ or "").partition(".")[0] == "torch"


def _as_python_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Something to trace, for callables written in C and `partial` objects."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    # A code object of its own, on which what is compiled for it hangs.
    call.__code__ = call.__code__.replace()
    return call


def _anchor(target: Any) -> types.CodeType | None:
    """Where to keep what is compiled for a module's `__call__`, of which there
    is only one for all modules: with its `forward`.
    """
    module = getattr(target, "__self__", None)
    if not isinstance(module, torch.nn.Module):
        return None
    if target.__code__.co_filename != torch.nn.modules.module.__file__:
        return None
    forward = getattr(module.forward, "__func__", module.forward)
    return getattr(forward, "__code__", None)


# -- the rest ------------------------------------------------------------------


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """Keeps a function, and what it calls, from being compiled.

    Where a compiled function calls it, the graph breaks.

    Args:
        fn: a function, method, `nn.Module` or class; without it the result is
            a decorator.
        recursive: also what `fn` calls; else only `fn` itself.
        reason: said in the message of the graph break where it is called.

    Returns:
        A callable that runs `fn` in plain Python (for a module, a module that
        does; for a class the class itself, whose instances are made and called
        so).

    Raises:
        TypeError: `fn` can't be called.

    Example:
        >>> import torch, magneto
        >>> @magneto.disable
        ... def mean(x):
        ...     return x.sum().item() / len(x)
        >>> def f(x):
        ...     return x * mean(x)
        >>> magneto.compile(f, backend="eager")(torch.ones(2))
        tensor([1., 1.])

    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise TypeError(f"disable() takes a callable, not {_kind(fn)}")
    if isinstance(fn, _C.CompiledFunction):
        fn = fn.target
    if isinstance(fn, torch.nn.Module):
        from magneto.compiled_module import CompiledModule

        call = _disabled(fn.__call__, recursive, reason)
        return CompiledModule(
            fn, call, {"disable": True, "recursive": recursive}
        )
    if isinstance(fn, type) and not classes.is_immutable(fn):
        disabled = functools.partial(
            _disabled, recursive=recursive, reason=reason
        )
        return classes.disable_class(fn, disabled)
    return _disabled(fn, recursive, reason)


def _disabled(
    fn: Any, recursive: bool, reason: str | None
) -> _C.DisabledFunction:
    function = getattr(fn, "__func__", fn)
    if not recursive and isinstance(function, types.FunctionType):
        _C.skip_code(function.__code__)
    disabled = _C.DisabledFunction(fn, recursive)
    functools.update_wrapper(disabled, fn)
    disabled._magneto_disable_reason = reason
    return disabled


def graph_break(msg: str = "") -> None:
    """Ends the graph here when compiled; does nothing else.

    Args:
        msg: said in the message of the graph break.

    """


def is_compiling() -> bool:
    """Whether the code that asks is being captured.

    Returns:
        True in a graph; False in plain Python, also between two graphs.

    """
    return _C.is_compiling()


def reset() -> None:
    """Forgets everything that was compiled.

    Compiled functions stay what they are: the next call of each compiles again.
    """
    _C.reset()
    reset_backends()


def stats() -> dict[str, int]:
    """How often what happened since the process began.

    Returns:
        Counts by name: `compilations` (functions traced, whatever came of it),
        `graphs` (given to a backend), `graph_breaks` (compiled pieces that end
        with one), `recompiles` (compilations of what had been compiled for
        other inputs), `skips` (functions that run in plain Python, with a
        reason) and `internal_errors`.

    """
    return _C.counters()
