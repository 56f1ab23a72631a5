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
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.fx._lazy_graph_module import _LazyGraphModule

from magneto.untraced import untraced


class CapturedGraphModule(_LazyGraphModule):
    """The graph that magneto captured. Made by `capture_module()`."""

    # What belongs to the C++ graph isn't in the instance's dict: never copied,
    # never pickled, and not part of the keys of PyTorch's caches.
    __slots__ = ("_captured", "forward")

    _captured: Captured
    forward: Callable[..., Any]

    def _get_name(self) -> str:
        return "GraphModule"

    # The torch.fx graph -------------------------------------------------------

    @property
    def _graph(self) -> torch.fx.Graph:
        graph = self.__dict__.get("_graph")
        if graph is None:
            captured = getattr(self, "_captured", None)
            if captured is None:  # a copy that is being made
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

    @property
    def runs_as_captured(self) -> bool:
        """Whether the C++ graph is what runs: nobody has edited it."""
        try:
            _FORWARD.__get__(self)
        except AttributeError:
            return False
        return True

    def recompile(self) -> None:  # type: ignore[override]
        """Makes edits of `graph` take effect; code is generated when needed."""
        self._graph  # noqa: B018  (the C++ graph is of no use from here on)
        if self.runs_as_captured:
            _FORWARD.__delete__(self)
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
        captured = getattr(self, "_captured", None)
        return captured.attribute_names if captured is not None else frozenset()

    def _attribute_changed(self, name: str) -> None:
        if name in self._captured_attributes() and self.runs_as_captured:
            self.recompile()

    # Copies are plain torch.fx and share nothing with the C++ graph -----------

    def __prepare_scriptable__(self) -> torch.fx.GraphModule:
        """What `torch.jit.script` compiles: it reads Python code."""
        return torch.fx.GraphModule(self, self.graph)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.fx.GraphModule:
        self._graph  # noqa: B018
        return super().__deepcopy__(memo)

    def __reduce__(self) -> tuple[Any, ...]:
        self._graph  # noqa: B018
        return super().__reduce__()

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        self._graph  # noqa: B018
        return super().__reduce_package__(exporter)


_FORWARD: Any = CapturedGraphModule.__dict__["forward"]


class Captured:
    """What a `CapturedGraphModule` is made from.

    Args:
        handle: the graph, a `magneto._C.Graph`.
        input_refs: weak references to the tensors that the graph is first run
            with, or None where an input is no tensor.
        symbols: a `backends.symbols.GraphSymbols` where sizes are symbols.

    """

    __slots__ = ("attribute_names", "handle", "input_refs", "symbols")

    def __init__(
        self, handle: Any, input_refs: list[Any], symbols: Any = None
    ) -> None:
        self.symbols = symbols
        self.handle = handle
        self.input_refs = input_refs
        self.attribute_names = frozenset(handle.attributes())


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
    gm = object.__new__(CapturedGraphModule)
    torch.nn.Module.__init__(gm)
    captured = Captured(
        handle, [_weak(value) for value in example_inputs], symbols
    )
    object.__setattr__(gm, "_captured", captured)
    _FORWARD.__set__(gm, handle.function())
    state = gm.__dict__
    state["_tracer_cls"] = None
    state["_tracer_extras"] = {}
    state["meta"] = {} if meta is None else meta
    for hooks in ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks"):
        state[hooks] = []
    state["_deepcopy_hooks"] = []
    state["shape_env"] = None
    if captured.attribute_names:
        _assign_attributes(gm, handle.attributes())
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
    if hooked or not compiled.runs_as_captured:
        return compiled
    return compiled.forward


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
