# SPDX-License-Identifier: BSD-3-Clause
"""Tensors on the meta device that are made of numbers: `torch.tensor([1])`
within `torch.device("meta")`.

PyTorch's fake mode gives a real tensor for such a call, and refuses that as
soon as an operator takes it that the mode doesn't take apart.
"""

from __future__ import annotations

from typing import Any

import torch

_MADE_OF_DATA = {torch.tensor, torch.as_tensor, torch.asarray}


def are_made_of_data(handle: Any, gm: torch.fx.GraphModule) -> bool:
    """Whether a graph makes one.

    Args:
        handle: of the graph that was captured.
        gm: the module of that, whose nodes are made when somebody asks.

    """
    return not _MADE_OF_DATA.isdisjoint(handle.targets()) and any(
        node.target in _MADE_OF_DATA and _is_meta(node.kwargs.get("device"))
        for node in gm.graph.nodes
    )


def _is_meta(device: Any) -> bool:
    return device is not None and torch.device(device).type == "meta"
