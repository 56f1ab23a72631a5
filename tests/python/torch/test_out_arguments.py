# SPDX-License-Identifier: BSD-3-Clause
"""Calls with out=: those that PyTorch's compilers cannot do break the graph."""

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(6.0).view(2, 3)


def added(x, out):
    y = torch.add(x, 1, out=out)
    return y * 2, y is out


def to_a_new_tensor(x, out):
    y = torch.empty_like(x)
    torch.mul(x, 2, out=y)
    return y + out.sum()


def to_several(x, out):
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return values + 1, indices


def to_empty(x, out):
    y = torch.empty(0)
    torch.sum(x, 0, out=y)
    return y, out


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("program", "out", "breaks"),
    [
        (added, torch.zeros(2, 3), 0),
        (added, torch.zeros(0), 1),
        (added, torch.zeros(7), 1),
        (added, torch.zeros(2, 6)[:, ::2], 1),
        (added, torch.zeros(3, 2).t(), 1),
        (added, torch.zeros(3).expand(2, 3), 1),
        (to_a_new_tensor, X, 0),
        (to_several, X, 0),
        (to_empty, X, 1),
    ],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements")
def test_outputs(program, out, breaks, dynamic):
    check(program, X, out, graph_breaks=breaks, dynamic=dynamic)


def test_compilers_survive_what_resizes_an_input():
    def program(x, out):
        last = out.unbind(0)[-1]
        torch.add(x, 1, out=out)
        return last + 1, x.T

    compiled = magneto.compile(program, backend="aot_eager")
    with pytest.warns(UserWarning, match="was resized"):
        ours = compiled(X, torch.ones(4))
    with pytest.warns(UserWarning, match="was resized"):
        eagers = program(X, torch.ones(4))
    for a, b in zip(ours, eagers, strict=True):
        assert torch.equal(a, b)
