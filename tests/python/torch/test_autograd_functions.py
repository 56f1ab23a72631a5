# SPDX-License-Identifier: BSD-3-Clause
"""Functions with a backward of their own, results that are marked as constant,
and operators of libraries: each program eager and compiled.
"""

import importlib.metadata

import pytest
import torch
import torch.nn.functional as F

from magneto.testing import check, magneto_graph_calls, torch_graph_calls

X = torch.arange(12.0).reshape(3, 4) / 7
G = torch.linspace(0, 1, 12).reshape(3, 4).requires_grad_()


class Scale(torch.autograd.Function):
    """Saves tensors and numbers; looks at what the context says."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        y = x * factor
        return y + 1 if ctx.needs_input_grad[0] else y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + x * 0, None


class SetUp(torch.autograd.Function):
    """With the context set up apart, and a default."""

    @staticmethod
    def forward(x, power=2):
        return x**power, x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[0])
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx, grad, other):
        x, _ = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1) + other, None


class Same(torch.autograd.Function):
    """Gives back its input, changed if it says so."""

    @staticmethod
    def forward(ctx, x, change):
        if change:
            x.add_(1)
            ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GradMode(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * G
        return y + 1 if torch.is_grad_enabled() else y

    @staticmethod
    def backward(ctx, grad):
        return grad


def applied_without_gradients(x):
    with torch.no_grad():
        return Scale.apply(x * 2, 3) + 1


def with_setup_context(x):
    with torch.no_grad():
        return SetUp.apply(x), SetUp.apply(x, 3)


def input_returned(x):
    y = x + 1
    z, w = Same.apply(y, False), Same.apply(y, True)
    z.mul_(2)
    return y, z, w, z is y, w is y


def history_taken_over(x):
    y = x * 2
    with torch.no_grad():
        z = Same.apply(y, True)
    return z, z.requires_grad, y.requires_grad, z is y, z + 1, y._version


def no_gradients_inside(x):
    y = GradMode.apply(x)
    return y, y.requires_grad


@torch.compiler.assume_constant_result
def version(package, default=None):
    return importlib.metadata.version(package) or default


def marked_constant(x):
    if version("torch", default="0") >= "2":
        return x + 1
    return x - 1


@torch.library.custom_op("magneto_natives::counted", mutates_args=())
def counted(x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[:end] for end in ends.tolist()])


@counted.register_fake
def _(x, ends):
    return x.new_empty((3, x.shape[1]))


PROGRAMS = [
    pytest.param(fn, inputs, id=fn.__name__)
    for fn, inputs in (
        (applied_without_gradients, (X,)),
        (applied_without_gradients, (G,)),
        (marked_constant, (X,)),
    )
] + [
    pytest.param(
        lambda x, n: counted(x * 2, n) + 1,
        (X, torch.tensor([1, 2])),
        id="operator_of_a_library",
    ),
    pytest.param(
        lambda x: (F.max_pool1d(x, 2), torch.max_pool1d(x.T, 3, 1)),
        (X,),
        id="max_pool1d",
    ),
    pytest.param(
        lambda x: F.max_pool1d(x[None], 2, return_indices=True),
        (X,),
        id="max_pool1d_indices",
    ),
]

# torch.compile fails on the first, takes the second for its input, and doesn't
# turn gradients off in the third.
OTHERS = [
    pytest.param(with_setup_context, (G,), id="setup_context"),
    pytest.param(input_returned, (X,), id="input_returned"),
    pytest.param(no_gradients_inside, (X,), id="no_gradients_inside"),
]


@pytest.mark.parametrize(("fn", "inputs"), PROGRAMS + OTHERS)
def test_program_is_one_graph_and_eager(fn, inputs):
    check(fn, *inputs, fullgraph=True, graphs=1)


@pytest.mark.parametrize(("fn", "inputs"), PROGRAMS)
def test_program_has_torch_compile_calls(fn, inputs):
    mine = magneto_graph_calls(fn, *inputs)
    assert mine == torch_graph_calls(fn, *inputs)


@pytest.mark.parametrize("function", [Scale, SetUp])
def test_gradients_of_a_function_of_the_programs(function):
    def f(x):
        y = function.apply(x * 2, 3)
        return (y if isinstance(y, torch.Tensor) else y[0] + y[1]) * 2

    check(f, G, backward=True, graphs=1, fullgraph=True)


def test_function_that_takes_the_history_of_its_input():
    report = check(history_taken_over, G)
    assert report.graph_breaks >= 1


def test_constant_result_of_what_is_none_breaks():
    def f(x):
        return version(str(type(x)) and "torch", x) and x + 1

    check(f, X)
