# SPDX-License-Identifier: BSD-3-Clause
"""NumPy: its numbers, which are constants as Python's own are, arrays that a
program makes of tensors for what they say without their data, and named
results.
"""

import numpy as np
import pytest
import torch
from torch.utils import _pytree as pytree

import magneto
from magneto.testing import check
from support.under_backends import check_under

X = torch.arange(12.0).reshape(3, 4)


def written_behind(x):
    y = x * 2
    a = y.numpy()
    y.add_(1)
    return y + a.shape[0], a.sum()


def shown(x):
    a = (x + 1).numpy()
    return x * a.shape[1], a


WHOLE = {
    "its shape": lambda x: x + x.numpy().shape[0],
    "of what is computed": lambda x: x * (x @ x.t()).numpy().shape[1],
    "its length": lambda x: x + len(x.detach().cpu().numpy()),
    "what it says": lambda x: (
        x + 1,
        (a := x.numpy()).ndim,
        a.size,
        a.nbytes,
        a.itemsize,
        isinstance(a, np.ndarray),
        a is None,
    ),
    "handed on": shown,
    "an argument's": lambda x: (x.numpy(), x + 1),
    "twice": lambda x: (x + 1, x.numpy() is x.numpy()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_graphs(name):
    check(WHOLE[name], X, graph_breaks=0)


@pytest.mark.parametrize("name", WHOLE)
def test_under_aot_eager(name):
    check_under("aot_eager", WHOLE[name], X)


def test_under_inductor():
    check_under("inductor", WHOLE["of what is computed"], X)


def error(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError) as caught:
        return type(caught).__name__, str(caught)


OTHERS = {
    "its dtype": lambda x: (x.long().numpy().dtype == np.int64, x + 1),
    "its data": lambda x: x + float(x.numpy().sum()),
    "an item": lambda x: x + float(x.numpy()[1, 2]),
    "computed with": lambda x: (x + 1, x.numpy() + 1, np.exp(x.numpy())),
    "written to": lambda x: (x.numpy().fill(3), x + 1),
    "back to a tensor": lambda x: torch.from_numpy((x + 1).numpy()) * 2,
    "made a tensor of": lambda x: torch.tensor((x + 1).numpy()) * 2,
    "written behind": written_behind,
    "with gradients": lambda x: (
        x + 1,
        error((x * torch.nn.Parameter(torch.ones(4))).numpy),
    ),
    "of complex numbers": lambda x: (
        x,
        error(x.to(torch.complex64).conj().numpy),
    ),
    "no dtype of NumPy's": lambda x: (x, error(x.bfloat16().numpy)),
    "of a number": lambda x: (x, error(len, x.sum().numpy())),
    "by force": lambda x: x + x.numpy(force=True).shape[0],
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_needs_the_data(name):
    check(OTHERS[name], X.clone())


def test_sizes_that_vary():
    def program(x):
        a = x.numpy()
        return x * a.shape[0] + len(a)

    compiled = magneto.compile(program, backend="eager")
    recompiles = magneto.stats()["recompiles"]
    for n in range(2, 8):
        x = torch.ones(n, 2)
        assert torch.equal(compiled(x), program(x))
    assert magneto.stats()["recompiles"] - recompiles == 1


def mapped(x):
    found = pytree.tree_map(lambda t: t + 1, torch.max(x, dim=0))
    return found.values, found


NAMED = {
    "mapped": mapped,
    "made": lambda x: torch.return_types.sort([x, x + 1]).indices,
    "of a generator": lambda x: torch.return_types.max(t for t in (x, x)),
    "too few": lambda x: (x + 1, error(torch.return_types.max, [x])),
    "no sequence": lambda x: (x + 1, error(torch.return_types.max, 3)),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_results(name):
    check(NAMED[name], X, graph_breaks=0)


@pytest.mark.parametrize("name", NAMED)
def test_named_results_under_aot_eager(name):
    check_under("aot_eager", NAMED[name], X)
