# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write to ``Tensor.grad``."""

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)


def written_and_read(x):
    x.grad = torch.ones(4)
    x.grad += 1
    return x.grad * 2


def written_to_a_new_tensor(x):
    y = x + 10
    y.grad = x
    magneto.graph_break()
    return y.grad + 1, y


def cleared(x):
    y = x * 2
    x.grad = None
    return y + 1


def of_wrong_size(x):
    try:
        x.grad = torch.ones(5)
    except RuntimeError as error:
        return x + 1, str(error)


def by_its_other_name(x):
    x._grad = x.detach() + 1
    return x.grad is x._grad, x.grad * 2


def reshaped_behind_it(x):
    x.grad = torch.ones(4)
    with torch.no_grad():
        y = x + x.grad
    x.detach().unsqueeze_(0)
    z = x * 2
    z.grad = torch.ones(4)
    z.unsqueeze_(0)
    return y, z, z.grad.shape


@pytest.mark.parametrize(
    ("program", "breaks"),
    [
        (reshaped_behind_it, 0),
        (written_and_read, 0),
        (written_to_a_new_tensor, 1),
        (cleared, 0),
        (of_wrong_size, 0),
        (by_its_other_name, 0),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_gradients_are_written(program, breaks, requires_grad):
    x = X.clone().requires_grad_(requires_grad)
    check(program, x, graph_breaks=breaks)


def test_gradients_of_parameters_are_written():
    module = torch.nn.Linear(4, 2)

    def program(x):
        for parameter in module.parameters():
            parameter.grad = torch.full_like(parameter, 3)
        return module(x)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        module.zero_grad()
        compiled(X)
        for parameter in module.parameters():
            assert torch.equal(parameter.grad, torch.full_like(parameter, 3))


def test_the_same_tensor_twice_has_one_gradient():
    def program(x, y):
        x.grad = torch.ones(4)
        return x + 1 if y.grad is None else x + y.grad * 5

    compiled = magneto.compile(program, backend="eager")
    a, b = torch.ones(4), torch.ones(4)
    for pair in ((a, b), (a, a), (b.clone(), a)):
        for each in pair:
            each.grad = None
        result = compiled(*pair)
        for each in pair:
            each.grad = None
        assert torch.equal(result, program(*pair))


def test_a_tensor_is_reshaped_behind_a_write_to_its_gradient():
    def program(x):
        x.grad = torch.ones_like(x)
        x.unsqueeze_(0)
        return x + 1

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        x = X.clone()
        assert compiled(x).shape == (1, 4)
        assert x.shape == (1, 4)
        assert torch.equal(x._grad, torch.ones(4))


def test_sizes_that_vary_are_numbers_in_errors():
    def program(x, y):
        try:
            x.grad = y
        except RuntimeError as error:
            return str(error)

    compiled = magneto.compile(program, backend="eager", dynamic=True)
    for size in (5, 6):
        x, y = torch.ones(4), torch.ones(size)
        assert compiled(x, y) == program(x, y)
