# SPDX-License-Identifier: BSD-3-Clause
"""Calls that are in a graph for what they do and not for a tensor: of functions
that the program has marked with `torch.compiler.allow_in_graph`.

PyTorch's compilers call such a function while they compile, and never again.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils._pytree import tree_leaves


def call_without_tensors(handle: Any, gm: torch.fx.GraphModule) -> str:
    """The name of a marked function that a graph calls without getting a
    tensor from it; empty if there is none.
    """
    rules = sys.modules.get("torch._dynamo.trace_rules")
    if rules is None:  # nobody has marked anything
        return ""
    marked = rules._allowed_callable_ids.function_ids
    if not any(id(target) in marked for target in handle.targets()):
        return ""
    for node in gm.graph.nodes:
        if node.op == "call_function" and id(node.target) in marked:
            leaves = tree_leaves(node.meta.get("example_value"))
            if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
                return str(getattr(node.target, "__qualname__", node.target))
    return ""
