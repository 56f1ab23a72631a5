# SPDX-License-Identifier: BSD-3-Clause
"""What tensors with symbolic sizes say of how they lie in memory."""

import itertools
import random

import pytest
import torch

import magneto
from magneto.testing import compare

SHAPES = [
    (3, 4, 5, 6),
    (2, 1, 5, 6),
    (3, 4, 1, 1),
    (1, 3, 4, 5),
    (2, 3, 4, 5, 6),
    (7, 5),
]
FORMATS = [torch.contiguous_format, torch.channels_last, torch.channels_last_3d]


def layout(t):
    """All that kernels ask of it."""
    formats = [
        t.is_contiguous(memory_format=f)
        for f in FORMATS
        if f is torch.contiguous_format or t.dim() == FORMATS.index(f) + 3
    ]
    return formats, t.stride(), (t + 1).stride(), torch.empty_like(t).stride()


def permuted(x, order):
    return layout(x.permute(order))


def sliced(x, order):
    y = x.permute(order)
    return layout(y[..., 1:]), layout(y[1:]), layout(y.narrow(1, 0, 1))


def viewed(x, order):
    y = x.permute(order).contiguous()
    return (
        layout(y.view(-1)),
        layout(y.view(y.size(0), -1)),
        layout(y.unsqueeze(1).expand(-1, 2, *y.shape[1:])),
        layout(y.flatten(0, 1)),
    )


def mixed(x, order):
    y = x.permute(order)
    z = torch.ones(y.shape)
    return (y + z).stride(), (z * y).stride(), (y[:, :1] + y).stride()


def last_channels(x, order):
    if x.dim() < 4:
        return layout(x)
    y = x.contiguous(memory_format=FORMATS[x.dim() - 3])
    return layout(y), layout(y.permute(order)), layout(y[:, 1:])


@pytest.mark.parametrize(
    "program",
    [permuted, sliced, viewed, mixed, last_channels],
    ids=lambda p: p.__name__,
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(program, shape):
    orders = list(itertools.permutations(range(len(shape))))[::5]
    for order in orders:
        magneto.reset()
        compiled = magneto.compile(program, backend="eager", dynamic=True)
        for scale in (1, 2):
            x = torch.rand([n if n == 1 else n * scale for n in shape])
            compare(program(x, order), compiled(x, order))


def written(x, notes):
    try:
        x.copy_(torch.ones(2, 3))
    except RuntimeError as error:
        notes.append(str(error))
    notes.append(x.stride())
    return x


LAYOUTS = {
    "plain": lambda: torch.zeros(2, 3),
    "every other": lambda: torch.zeros(2, 6)[:, ::2],
    "wide": lambda: torch.zeros(2, 7)[:, :3],
    "one row": lambda: torch.zeros(1, 3).expand(2, 3),
    "one column": lambda: torch.zeros(2, 1).expand(2, 3),
    "one item": lambda: torch.zeros(()).expand(2, 3),
    "overlapping": lambda: torch.zeros(4).as_strided((2, 3), (1, 1)),
    "transposed": lambda: torch.zeros(3, 2).t(),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dynamic", [None, True])
def test_memory_that_cannot_be_written_to_is_another_layout(seed, dynamic):
    names = [*LAYOUTS, *LAYOUTS]
    random.Random(seed).shuffle(names)
    compiled = magneto.compile(written, backend="eager", dynamic=dynamic)
    for name in names:
        results = []
        for call in (written, compiled):
            x, notes = LAYOUTS[name](), []
            call(x, notes)
            results.append((x.tolist(), notes))
        assert results[0] == results[1], name


def expanded_and_written(x, notes):
    y = x.expand(2, *x.shape)
    try:
        y.neg_()
    except RuntimeError as error:
        notes.append(str(error))
    y.fill_(3)
    return y + 1, x


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_write_to_an_expanded_tensor_of_varying_sizes(backend):
    compiled = magneto.compile(
        expanded_and_written, backend=backend, dynamic=True
    )
    for size in ((3, 4), (2, 5), (4, 4)):
        results = []
        for call in (expanded_and_written, compiled):
            notes = []
            results.append((call(torch.ones(size), notes), notes))
        compare(*results)
