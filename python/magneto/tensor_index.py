# SPDX-License-Identifier: BSD-3-Clause
"""Subscripts of fake tensors with positions or sizes that depend on data.

Torch's own subscripts ask for the plain number in a tensor that is a position.
Here positions select one after the other, which takes symbols, and torch does
the rest. Called while tracing, in place of `operator.getitem` and
`operator.setitem`.
"""

from __future__ import annotations

from typing import Any

import torch


def getitem(tensor: torch.Tensor, key: Any) -> torch.Tensor:
    """`tensor[key]`."""
    part, rest = _select(tensor, key)
    return part[rest]


def setitem(tensor: torch.Tensor, key: Any, value: Any) -> None:
    """`tensor[key] = value`."""
    part, rest = _select(tensor, key)
    if isinstance(value, torch.Tensor) and not any(map(_copies, rest)):
        # Torch would compare sizes that only the graph's run tells.
        target = part[rest]
        while value.dim() > target.dim() and value.shape[0] == 1:
            value = value[0]
        target.copy_(value)
    else:
        part[rest] = value


def _select(
    tensor: torch.Tensor, key: Any
) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """The view that tensors as positions select, and the rest of the key."""
    items = key if isinstance(key, tuple) else (key,)
    rest: list[Any] = []
    dim = 0
    for number, item in enumerate(items):
        if _is_position(item):
            tensor = tensor.select(dim, item.item())
            continue
        rest.append(item)
        if item is Ellipsis:
            dim = tensor.dim() - sum(map(_width, items[number + 1 :]))
        else:
            dim += _width(item)
    return tensor, tuple(rest)


def _is_position(item: Any) -> bool:
    """Whether an item of a key is a tensor with one number."""
    return (
        isinstance(item, torch.Tensor)
        and item.dim() == 0
        and not _is_mask(item)
    )


def _width(item: Any) -> int:
    """How many dimensions an item of a key is about."""
    if isinstance(item, torch.Tensor) and _is_mask(item):
        return item.dim()
    return 0 if item is None or isinstance(item, bool) else 1


def _copies(item: Any) -> bool:
    """Whether an item of a key selects by copying."""
    return isinstance(item, (torch.Tensor, list, bool))


def _is_mask(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.bool, torch.uint8)
