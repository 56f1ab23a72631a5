# SPDX-License-Identifier: BSD-3-Clause
"""Iterating over a tensor: where it has a history, the rows are views of one
operation, and can't be written to.
"""

import pytest
import torch

import magneto
from magneto.testing import oracle


def listed(x):
    return list(x * 2)


def unpacked(x):
    a, b, c = x * 2
    return a + b, c


def zipped(x):
    y = x * 2
    return [a * b for a, b in zip(y, y, strict=True)]


def across_a_break(x):
    total = 0
    for row in x * 2:
        magneto.graph_break()
        total = total + row
    return total


def written(x):
    y = x * 1
    try:
        for row in y:
            row.add_(1)
    except RuntimeError as error:
        return y, str(error)
    return y


def told(result):
    if isinstance(result, (list, tuple)):
        return [told(each) for each in result]
    if isinstance(result, torch.Tensor):
        # Under PyTorch's compilers a gradient is computed by what they made.
        name = type(result.grad_fn).__name__
        return oracle.behind or name, result.requires_grad, result.tolist()
    return result


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "program", [listed, unpacked, zipped, across_a_break, written]
)
def test_rows(program, dynamic, requires_grad):
    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for grad_mode in (True, False, True):
        with torch.set_grad_enabled(grad_mode):
            x, y = (
                torch.arange(6.0).view(3, 2).requires_grad_(requires_grad)
                for _ in range(2)
            )
            assert told(compiled(x)) == told(program(y))
