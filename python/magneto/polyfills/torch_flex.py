# SPDX-License-Identifier: BSD-3-Clause
"""Of ``torch.nn.attention.flex_attention``."""

from __future__ import annotations

from typing import Any

import torch


def item(tensor: torch.Tensor, key: Any) -> torch.Tensor:
    """``tensor[key]``, where tensors in the key stay such, though they are
    single numbers: what ``TransformGetItemToIndex`` makes of it.
    """
    keys = key if isinstance(key, tuple | list) else (key,)
    indices = [
        each
        if isinstance(each, torch.Tensor)
        else torch.tensor(each, dtype=torch.int64, device=tensor.device)
        for each in keys
    ]
    return torch.ops.aten.index(tensor, indices)


# Not polyfills: they run while a trace is made, on its fakes.
def score_of(query: torch.Tensor) -> torch.Tensor:
    """One score."""
    return query.detach().new_empty((), requires_grad=query.requires_grad)


def position_of(query: torch.Tensor) -> torch.Tensor:
    """The number of a batch, a head, a query or a key."""
    return query.detach().new_empty((), dtype=torch.int32)


def results_of(
    query: torch.Tensor, value: torch.Tensor, is_differentiated: bool
) -> tuple[torch.Tensor, ...]:
    """What the operator gives: the result, and of each row the logarithm of
    the sum of its scores' exponentials and the largest score.
    """
    from torch._higher_order_ops.flex_attention import (
        flex_attention_fake_impl,
    )

    with torch.no_grad():
        result, sums, largest = flex_attention_fake_impl(
            query, value, value, None, (), 1.0, {}
        )
    if is_differentiated:
        result.requires_grad_()
        sums.requires_grad_()
    return result, sums, largest
