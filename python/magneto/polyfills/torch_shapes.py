# SPDX-License-Identifier: BSD-3-Clause
"""What some of torch's functions yield, without looking at any data.

Run on fake tensors in the place of the function that the graph records, which
reads its input. Those of the tables at the end stand in where that one did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def one_hot(tensor: Tensor, num_classes: int) -> Tensor:
    """`torch.nn.functional.one_hot` of an int64 tensor of any shape."""
    return tensor.new_zeros((*tensor.shape, num_classes))


def one_hot_of_data(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """The same with as many classes as the data asks for."""
    if tensor.dtype != torch.int64:
        raise TypeError("one_hot is only applicable to index tensors")
    classes = tensor.flatten().bincount().shape[0]
    return tensor.new_zeros((*tensor.shape, classes))


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`torch.nn.functional.max_pool1d`; PyTorch's own differentiates through
    an operator, and without gradients reads the data of an input on the CPU.
    """
    pooled = F.max_pool1d_with_indices(
        input.contiguous(), kernel_size, stride, padding, dilation, ceil_mode
    )
    return pooled if return_indices else pooled[0]


def quantile(
    input: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`torch.quantile`, which looks whether `q` lies between 0 and 1. Kernels
    that have got that far like the rest of the arguments.
    """
    rows = input.flatten() if dim is None else input
    least = rows.amin(-1 if dim is None else dim, keepdim=keepdim)
    if dim is None and keepdim:
        least = least.reshape([1] * input.dim())
    if not isinstance(q, Tensor) or q.dim() == 0:
        return least.contiguous()
    return least.unsqueeze(-1).repeat(*[1] * least.dim(), len(q)).movedim(-1, 0)


def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """`torch.cov`, which looks whether there are degrees of freedom."""
    rows = input if input.dim() == 2 else input.view(1, -1)
    if aweights is not None:
        rows = rows * aweights
    return torch.true_divide(rows @ rows.conj().t(), 1.0).squeeze()


def corrcoef(input: Tensor) -> Tensor:
    """`torch.corrcoef`, by way of `cov`."""
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    return covariance / covariance.diag().real.sqrt().unsqueeze(-1)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.quantile: quantile,
    torch.nanquantile: quantile,
    torch.cov: cov,
    torch.corrcoef: corrcoef,
}
"""By torch's function."""

METHODS: dict[str, Callable[..., Any]] = {
    "quantile": quantile,
    "nanquantile": quantile,
    "cov": cov,
    "corrcoef": corrcoef,
}
"""By the name of the tensor's method."""
