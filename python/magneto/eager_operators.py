# SPDX-License-Identifier: BSD-3-Clause
"""What a graph calls, when it runs as it is, in the place of operators that are
there for PyTorch's compilers: these see what the operator is called with, and
make of it what they need.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


def checkpoint(body: torch.fx.GraphModule, *args: Any, **options: Any) -> Any:
    """What `torch.utils.checkpoint` does with a function.

    The operator itself draws other random numbers in the backward than in the
    forward, which a compiler's partitioner sees to, and never takes the older
    way (`use_reentrant=True`).

    Args:
        body: the function's graph; `_checkpoint_context_fn` in its `meta` is
            what was given as `context_fn`.
        args: the graph's inputs.
        options: the keywords that `checkpoint()` was given.

    """
    from torch.utils.checkpoint import checkpoint

    if options.get("use_reentrant") is None:
        options["use_reentrant"] = True
    if "_checkpoint_context_fn" in body.meta:
        options["context_fn"] = body.meta["_checkpoint_context_fn"]
    return checkpoint(body, *args, **options)


@functools.cache
def table() -> dict[Any, Callable[..., Any]]:
    """By operator: what is called instead."""
    operators = torch.ops.higher_order
    return {operators.tag_activation_checkpoint: checkpoint}
