# SPDX-License-Identifier: BSD-3-Clause
"""Forward-mode differentiation around compiled functions, and within them."""

import pytest
import torch
from torch.autograd import forward_ad

import magneto
from magneto.testing import check

X = torch.tensor([-0.5, 0.0, 1.0])


class Ratio(torch.autograd.Function):
    """log(1 + x) / x, whose derivative autograd can't tell at zero."""

    @staticmethod
    def forward(x):
        return (x.log1p() / x).where(x != 0, 1.0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * Ratio.slope(*ctx.saved_tensors)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * Ratio.slope(*ctx.saved_tensors)

    @staticmethod
    def slope(x, y):
        return (((1 + x).reciprocal() - y) / x).where(x != 0, -0.5)


def own_function(x):
    return Ratio.apply(x) * 2


def sines(x):
    return (x.sin() * 2).relu()


def written(x):
    return torch.zeros_like(x).copy_(x) + x


def by_its_tangent(x):
    tangent = forward_ad.unpack_dual(x).tangent
    return x * 2 if tangent is None else x * 3


def without_gradients(x):
    with torch.no_grad():
        return x.exp()


def around_a_break(x):
    y = x.sin()
    magneto.graph_break()
    return y * y


PROGRAMS = [
    own_function,
    sines,
    written,
    by_its_tangent,
    without_gradients,
    around_a_break,
]


def name_of(program):
    return program.__name__


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program_within_a_level_and_outside(program, backend):
    compiled = magneto.compile(program, backend=backend)
    for within in (False, True, True, False, True):
        with forward_ad.dual_level():
            x = X
            if within:
                x = forward_ad.make_dual(X, torch.tensor([1.0, 2.0, 3.0]))
            expected = forward_ad.unpack_dual(program(x))
            actual = forward_ad.unpack_dual(compiled(x))
        torch.testing.assert_close(actual.primal, expected.primal)
        torch.testing.assert_close(actual.tangent, expected.tangent)
        torch.testing.assert_close(compiled(X), program(X))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program_that_enters_a_level(program, backend):
    def derivative(x, tangent):
        with forward_ad.dual_level():
            y = program(forward_ad.make_dual(x, tangent))
            return forward_ad.unpack_dual(y).tangent

    compiled = magneto.compile(derivative, backend=backend)
    for tangent in (torch.ones(3), torch.tensor([1.0, 2.0, 3.0])):
        torch.testing.assert_close(compiled(X, tangent), derivative(X, tangent))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_jacobian_vector_product(program):
    def product(x):
        return torch.func.jvp(program, (x,), (torch.ones(3),))

    check(product, X)


def test_checked_gradients():
    compiled = magneto.compile(own_function, backend="eager")
    x = X.double().requires_grad_()
    assert torch.autograd.gradcheck(compiled, x, check_forward_ad=True)
