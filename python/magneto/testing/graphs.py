# SPDX-License-Identifier: BSD-3-Clause
"""Which graphs a compiler makes of a program, as lists of calls."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

Call = tuple[str, str]  # (node's op, name of what it calls)

# Calls without tensors that torch.compile records and magneto doesn't; see
# docs/differences.md.
LEFT_OUT = frozenset({("call_function", "torch._log_api_usage_once")})

# What torch.compile calls otherwise since PyTorch 2.14: `x.T` and its kin.
RENAMED = {
    f"torch.{name}": "builtins.getattr"
    for name in ("numpy_T", "mT", "matrix_H", "mH")
}


class RecordingBackend:
    """A backend that keeps each graph and counts how often it is run.

    `inner` is a backend that does the compiling; without one, the graph runs as
    it was captured.
    """

    def __init__(self, inner: Callable[..., Any] | None = None) -> None:
        self.graphs: list[torch.fx.GraphModule] = []
        self.calls = 0
        self._inner = inner
        self.takes_symbolic_floats = inner is None

    def __call__(
        self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        """Keep the graph; hand back a callable that counts its calls."""
        self.graphs.append(gm)
        inner = self._inner
        compiled = inner(gm, example_inputs) if inner else gm.forward

        def run(*args: Any) -> Any:
            self.calls += 1
            return compiled(*args)

        return run

    def listing(self) -> list[list[Call]]:
        """The calls in each graph, in the order of compilation."""
        return [calls_in(gm) for gm in self.graphs]


def target_name(target: Any) -> str:
    """A name for what a node calls that both compilers agree on."""
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", None) or "torch"
    name = getattr(target, "__name__", None)
    if name is None:
        return repr(target)
    if target is getattr(operator, name, None):
        return f"operator.{name}"
    if isinstance(target, types.FunctionType):
        return f"{module}.{target.__qualname__}"
    # Written in C: torch's live in several private modules and classes.
    name = f"{module.split('.')[0]}.{name}"
    return RENAMED.get(name, name)


def calls_in(gm: torch.fx.GraphModule) -> list[Call]:
    """The calls of a graph in order; inputs, outputs and attributes are not,
    nor what is in LEFT_OUT.

    A higher-order operator's subgraphs follow it, as their own calls.
    """
    calls: list[Call] = []
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op in ("call_function", "call_method"):
            calls.append((node.op, target_name(node.target)))
        elif node.op == "call_module":
            kind = type(modules[node.target]).__name__
            calls.append((node.op, kind))
        for argument in node.all_input_nodes:
            child = (
                modules.get(argument.target)
                if (argument.op == "get_attr")
                else None
            )
            if isinstance(child, torch.fx.GraphModule):
                calls += calls_in(child)
    return [call for call in calls if call not in LEFT_OUT]


def torch_graph_calls(
    fn: Callable[..., Any], *args: Any, fullgraph: bool = True, **kwargs: Any
) -> list[list[Call]]:
    """The calls of each graph that `torch.compile` makes of `fn(*args)`.

    Whatever either compiler has cached is dropped first.
    """
    torch._dynamo.reset()
    backend = RecordingBackend()
    torch.compile(fn, backend=backend, fullgraph=fullgraph)(*args, **kwargs)
    torch._dynamo.reset()
    return backend.listing()


def magneto_graph_calls(
    fn: Callable[..., Any], *args: Any, fullgraph: bool = True, **kwargs: Any
) -> list[list[Call]]:
    """The calls of each graph that `magneto.compile` makes of `fn(*args)`."""
    import magneto

    backend = RecordingBackend()
    magneto.compile(fn, backend=backend, fullgraph=fullgraph)(*args, **kwargs)
    return backend.listing()
