# SPDX-License-Identifier: BSD-3-Clause
"""Sizes that vary, under PyTorch's compilers: what they ask of them, and floats
that come of them.
"""

import pytest
import torch
import torch.nn.functional as F

import magneto
from magneto.testing import compare


def padded(n, m):
    """The compilers slice the kernel, up to the largest number of 64 bits."""
    x = torch.arange(float(6 * n * m)).view(2, 3, n, m)
    return (
        lambda x, w: F.conv2d(x, w, padding="same"),
        x,
        torch.ones(4, 3, 3, 3),
    )


def scaled(n, m):
    """The factor is a float of a size that no tensor in their graph has."""
    x = torch.arange(float(24 * n * m)).view(2, 3, 2 * n, 2 * m)
    return lambda x: F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0), x


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("make", [padded, scaled])
def test_sizes_that_vary(make, dynamic, backend):
    program = make(5, 8)[0]
    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for n, m in [(5, 8), (6, 9), (7, 7), (8, 13)]:
        inputs = make(n, m)[1:]
        compare(program(*inputs), compiled(*inputs), rtol=1e-5, atol=1e-5)


KINDS = {
    "conjugate": lambda x: x.conj(),
    "negative": torch._neg_view,
    "both": lambda x: torch._neg_view(x.conj()),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", KINDS)
def test_views_that_stand_for_others_numbers(kind, backend):
    def program(x):
        return x.imag, x * 2, x.is_conj(), x.is_neg()

    compiled = magneto.compile(program, backend=backend, dynamic=True)
    for size in (2, 3, 5):
        x = KINDS[kind](torch.ones(size, 2) * (1 + 2j))
        compare(program(x), compiled(x))
