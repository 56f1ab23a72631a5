# SPDX-License-Identifier: BSD-3-Clause
"""What some of torch's functions yield, without looking at any data.

Run on fake tensors in the place of the function that the graph records, which
reads its input.
"""

from __future__ import annotations

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
