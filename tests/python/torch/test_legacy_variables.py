# SPDX-License-Identifier: BSD-3-Clause
"""torch.autograd.Variable(tensor), which older models are full of."""

import pytest
import torch
from torch import nn
from torch.autograd import Variable

from magneto.testing import check
from support.under_backends import check_under

X = torch.arange(4.0)
LINEAR = nn.Linear(4, 4)


def error(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except TypeError as caught:
        return str(caught)


def recurrent(x):
    state = Variable(torch.zeros(4))
    for _ in range(3):
        state = torch.tanh(LINEAR(x) + state)
    return state


def detached(x):
    hidden = LINEAR(x)
    return Variable(hidden) * hidden, Variable(hidden).requires_grad


def shared(x):
    y = x * 2
    Variable(y).add_(1)
    return y


def looked_at(x):
    v = Variable(x * 2)
    return (
        v,
        type(v) is torch.Tensor,
        isinstance(x, Variable),
        v is x,
        v.is_leaf,
    )


WHOLE = {
    "an argument": lambda x: Variable(x) + 1,
    "what is computed": lambda x: Variable(x * 2) + 1,
    "by name": lambda x: Variable(data=x * 2, requires_grad=False) + 1,
    "a new tensor": lambda x: Variable(torch.zeros(4), requires_grad=False) + x,
    "of new()": lambda x: Variable(x.data.new(4).zero_()) + x,
    "moved": lambda x: Variable(torch.FloatTensor([1.0, 2.0])).cpu() + x[:2],
    "a list of them": lambda x: sum(Variable(t) for t in (x, x + 1)),
    "a parameter": lambda x: Variable(LINEAR.weight) + x,
    "of another class": lambda x: (
        x + 1,
        error(Variable, 3),
        error(Variable, [1.0]),
    ),
    "a state": recurrent,
    "without a history": detached,
    "of the same memory": shared,
    "looked at": looked_at,
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_graphs(name):
    check(WHOLE[name], X, graphs=1, graph_breaks=0)


@pytest.mark.parametrize("name", ["a state", "without a history"])
def test_gradients(name):
    check(WHOLE[name], X.clone().requires_grad_(), backward=True, graphs=1)


@pytest.mark.parametrize("name", WHOLE)
def test_under_aot_eager(name):
    check_under("aot_eager", WHOLE[name], X)


@pytest.mark.parametrize("name", ["a state", "of the same memory"])
def test_under_inductor(name):
    check_under("inductor", WHOLE[name], X)


OTHERS = {
    "a leaf": lambda x: Variable(x * 2, requires_grad=True) + 1,
    "nothing": lambda x: (Variable(), Variable(None), x + 1),
    "volatile": lambda x: Variable(x, False, False) + 1,
    "too much": lambda x: (error(Variable, x, False, False, None, None, 1), x),
    "an unknown name": lambda x: (error(Variable, x, wanted=1), x + 1),
    "written to": lambda x: Variable(x * 1).resize_(2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms(name):
    check(OTHERS[name], X)
