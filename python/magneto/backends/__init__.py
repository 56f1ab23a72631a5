# SPDX-License-Identifier: BSD-3-Clause
"""From a captured graph to a callable: backends, as `torch.compile` knows them.

A backend is any callable `backend(gm, example_inputs) -> callable`. `gm` is a
`torch.fx.GraphModule`, `example_inputs` the tensors that the graph will first
be run with, and the callable takes the graph's inputs by position and returns
a tuple of its outputs. Names stand for the backends that PyTorch registers.

Nothing here imports `torch._dynamo` or `torch._inductor` before a backend that
needs them is used.
"""

from magneto.backends.compile import compile_graph
from magneto.backends.graph_passes import register_pass, registered_passes
from magneto.backends.registry import (
    NamedBackend,
    list_backends,
    lookup_backend,
)

__all__ = [
    "NamedBackend",
    "compile_graph",
    "list_backends",
    "lookup_backend",
    "register_pass",
    "registered_passes",
]
