# SPDX-License-Identifier: BSD-3-Clause
"""A captured graph as a `torch.fx.GraphModule`.

Making torch.fx nodes costs some 10 µs each and generating code some 25 µs
more, while most backends either hand the graph to PyTorch's compilers or just
call it. So a `CapturedGraphModule` is made in microseconds around the C++ graph
(`magneto._C.Graph`), and

- `forward` is a C++ callable that runs the graph,
- `graph` makes the torch.fx graph when it is first read,
- `code` generates code when it is first read,
- `recompile()`, or setting `graph` or an attribute that the graph reads, makes
  `forward` what torch.fx generates, as for any other GraphModule.

An edit of `gm.graph` takes effect at `gm.recompile()`: torch.fx's own rule.

A nested graph, the body that an operator such as `torch.ops.higher_order.cond`
is given, is a submodule of the same kind under its name, `cond_true_0`.
"""

from __future__ import annotations

import copyreg
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.fx._lazy_graph_module import _LazyGraphModule

from magneto import _C, eager_operators
from magneto.untraced import untraced

# Attributes of an instance that belong to the C++ graph: never copied, never
# pickled.
_CAPTURED = ("_captured", "forward")


class CapturedGraphModule(_LazyGraphModule):
    """The graph that magneto captured. Made by `capture_module()`."""

    def _get_name(self) -> str:
        return "GraphModule"

    # The torch.fx graph -------------------------------------------------------

    @property
    def _graph(self) -> torch.fx.Graph:
        graph = self.__dict__.get("_graph")
        if graph is None:
            captured = self.__dict__.get("_captured")
            if captured is None:
                raise AttributeError("_graph")
            from magneto.graph_materialize import materialize

            try:
                with untraced():
                    graph = materialize(captured)
            except AttributeError as error:
                # nn.Module would take it for "there is no attribute graph".
                raise RuntimeError("the graph can't be materialized") from error
            graph.owning_module = self
            self.__dict__["_graph"] = graph
        return graph

    @_graph.setter
    def _graph(self, graph: torch.fx.Graph) -> None:
        self.__dict__["_graph"] = graph

    @property
    def has_fx_graph(self) -> bool:
        """Whether the torch.fx graph was made already."""
        return self.__dict__.get("_graph") is not None

    # Which forward ------------------------------------------------------------

    def recompile(self) -> None:  # type: ignore[override]
        """Makes edits of `graph` take effect; code is generated when needed."""
        self._graph  # noqa: B018  (the C++ graph is of no use from here on)
        self.__dict__.pop("forward", None)
        cls = self._own_class()
        cls.forward = cls._lazy_forward  # type: ignore[method-assign]

    def _real_recompile(self) -> Any:
        self._own_class()
        return super(_LazyGraphModule, self).recompile()

    def _own_class(self) -> type[CapturedGraphModule]:
        """torch.fx installs generated code on the class, so an instance that
        has such code needs a class of its own.
        """
        if type(self) is CapturedGraphModule:
            self.__class__ = type("GraphModuleImpl", (CapturedGraphModule,), {})
            type(self).__name__ = "GraphModule"
        return type(self)

    # The runner holds the attributes' values, so it ends when one is replaced.

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._attribute_changed(name)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._attribute_changed(name)

    def register_buffer(self, name: str, *args: Any, **kwargs: Any) -> None:
        """As for any module; a buffer that the graph reads is read anew."""
        super().register_buffer(name, *args, **kwargs)
        self._attribute_changed(name)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._apply(*args, **kwargs)
        for name in self._captured_attributes():
            self._attribute_changed(name)
        return result

    def _captured_attributes(self) -> frozenset[str]:
        captured = self.__dict__.get("_captured")
        return captured.attribute_names if captured is not None else frozenset()

    def _attribute_changed(self, name: str) -> None:
        if "forward" in self.__dict__ and name in self._captured_attributes():
            self.recompile()

    # Copies are plain torch.fx and share nothing with the C++ graph -----------

    def __prepare_scriptable__(self) -> torch.fx.GraphModule:
        """What `torch.jit.script` compiles: it reads Python code."""
        return torch.fx.GraphModule(self, self.graph)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.fx.GraphModule:
        self._graph  # noqa: B018
        return _without_captured(
            self, lambda: super(CapturedGraphModule, self).__deepcopy__(memo)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        self._graph  # noqa: B018
        return _without_captured(
            self, lambda: super(CapturedGraphModule, self).__reduce__()
        )

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        self._graph  # noqa: B018
        return _without_captured(
            self,
            lambda: super(CapturedGraphModule, self).__reduce_package__(
                exporter
            ),
        )


class Captured:
    """What a `CapturedGraphModule` is made from.

    Args:
        handle: the graph, a `magneto._C.Graph`.
        input_refs: weak references to the tensors that the graph is first run
            with, or None where an input is no tensor.
        symbols: a `backends.symbols.GraphSymbols` where sizes are symbols.
        outer: of a nested graph: that of the graph which it is nested in.
        name: what it is called there.

    """

    __slots__ = (
        "attribute_names",
        "callers",
        "fakes",
        "handle",
        "input_refs",
        "name",
        "nested",
        "outer",
        "symbols",
    )

    def __init__(
        self,
        handle: Any,
        input_refs: list[Any],
        symbols: Any = None,
        outer: Captured | None = None,
        name: str = "",
    ) -> None:
        self.symbols = symbols
        self.handle = handle
        self.input_refs = input_refs
        self.outer = outer
        self.name = name
        self.callers = None  # made when a nested graph asks: handle.callers()
        self.fakes = None  # a root's: made with its first torch.fx graph
        self.nested = handle.nested()
        self.attribute_names = frozenset(handle.attributes()).union(self.nested)


def _load() -> None:
    raise TypeError(
        "a captured graph can't be copied or pickled by itself; its "
        "GraphModule can"
    )


# The keys of PyTorch's caches are pickles of a module's whole dict, of which
# the code says all that there is to say of these.
for _type in (Captured, _C.GraphFunction):
    copyreg.pickle(_type, lambda _: (_load, ()))  # type: ignore[arg-type]


def capture_module(
    handle: Any,
    example_inputs: list[Any],
    meta: dict[str, Any] | None = None,
    symbols: Any = None,
) -> CapturedGraphModule:
    """The GraphModule of a graph.

    Args:
        handle: a `magneto._C.Graph`.
        example_inputs: real values of the graph's inputs; held weakly.
        meta: becomes `gm.meta`.
        symbols: see `Captured`.

    """
    refs = [_weak(value) for value in example_inputs]
    captured = Captured(handle, refs, symbols)
    return _module_of(captured, {} if meta is None else meta)


def graph_function(handle: Any) -> Any:
    """The C++ callable that runs a graph. Operators are given GraphModules for
    the graphs that are nested in it: some read their nodes.
    """
    if not handle.nested():
        return handle.function()
    return _forward(Captured(handle, []))[0]


def _forward(captured: Captured) -> tuple[Any, dict[str, CapturedGraphModule]]:
    """What runs a graph, and the modules of those that it reads."""
    if not captured.nested:
        return captured.handle.function(), {}
    modules = {}
    for name, handle in captured.nested.items():
        nested = Captured(
            handle, [], captured.symbols, outer=captured, name=name
        )
        modules[name] = _module_of(nested, handle.meta())
        modules[name].__dict__["__name__"] = name
    callables = {**eager_operators.table(), **modules}
    return captured.handle.function(callables), modules


def _module_of(captured: Captured, meta: dict[str, Any]) -> CapturedGraphModule:
    gm = object.__new__(CapturedGraphModule)
    torch.nn.Module.__init__(gm)
    state = gm.__dict__
    state["_captured"] = captured
    state["forward"], modules = _forward(captured)
    state["_tracer_cls"] = None
    state["_tracer_extras"] = {}
    state["meta"] = meta
    for hooks in ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks"):
        state[hooks] = []
    state["_deepcopy_hooks"] = []
    state["shape_env"] = None
    if captured.attribute_names:
        _assign_attributes(gm, captured.handle.attributes())
        gm._modules.update(modules)
    return gm


def fast_forward(compiled: Any) -> Any:
    """`compiled`, or, where it is a captured graph module that nobody edited
    and that has no hooks, the C++ callable that does the same.
    """
    if type(compiled) is not CapturedGraphModule:
        return compiled
    state = compiled.__dict__
    hooked = (
        state["_forward_hooks"]
        or state["_forward_pre_hooks"]
        or state["_backward_hooks"]
        or state["_backward_pre_hooks"]
        or torch.nn.modules.module._has_any_global_hook()
    )
    return compiled if hooked else state.get("forward", compiled)


def _weak(value: Any) -> Any:
    return weakref.ref(value) if isinstance(value, torch.Tensor) else None


def _assign_attributes(
    gm: CapturedGraphModule, attributes: dict[str, Any]
) -> None:
    for name, value in attributes.items():
        is_buffer = isinstance(value, torch.Tensor) and not isinstance(
            value, torch.nn.Parameter
        )
        if is_buffer:
            gm._buffers[name] = value
        else:
            torch.nn.Module.__setattr__(gm, name, value)


def _without_captured(
    gm: CapturedGraphModule, action: Callable[[], Any]
) -> Any:
    """Runs `action` while the C++ parts are out of the instance's dict."""
    state = gm.__dict__
    hidden = {name: state.pop(name) for name in _CAPTURED if name in state}
    try:
        return action()
    finally:
        state.update(hidden)
