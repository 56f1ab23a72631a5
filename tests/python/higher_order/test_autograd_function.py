# SPDX-License-Identifier: BSD-3-Clause
"""torch.autograd.Function in training: its forward and its backward in the
graph, and where they can't be.
"""

import pytest
import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

import magneto
from magneto.backends import lookup_backend
from magneto.testing import check, check_calls
from magneto.testing.graphs import magneto_graph_calls, torch_graph_calls
from support.whole_graphs import check_whole, expect_break

X = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
Y = torch.linspace(0.5, 2, 6).reshape(2, 3).requires_grad_()
W = torch.linspace(-1, 1, 3)
LOG = []


class Scaled(Function):
    """Saves a tensor and a number; one argument has no gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + x.sign(), None


class TwoOutputs(Function):
    """Saves an intermediate, an output, and one by its own name."""

    @staticmethod
    def forward(ctx, x, y):
        root = x.abs().sqrt()
        product = x * y
        ctx.save_for_backward(root, product)
        ctx.other = y.cos()
        return product, root + y

    @staticmethod
    def backward(ctx, grad, other):
        root, product = ctx.saved_tensors
        return grad * root + other, other * ctx.other + product


class SetUp(Function):
    """With the context set up apart, and a default."""

    @staticmethod
    def forward(x, power=2):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        x, _ = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1) * 3, None


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Reversed(Function):
    """Gives a view of what it is given; nothing is saved."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.weight, None


class GivesItsArgument(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class WithIndices(Function):
    """An output without gradient, and one that is no tensor."""

    @staticmethod
    def forward(ctx, x, k):
        values, indices = x.topk(k)
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        ctx.shape = x.shape
        return values, None, indices

    @staticmethod
    def backward(ctx, grad, none, unused):
        assert none is None
        (indices,) = ctx.saved_tensors
        result = grad.new_zeros(ctx.shape)
        return result.scatter_add(-1, indices, grad), None


class Branches(Function):
    """Looks at which arguments need gradients."""

    @staticmethod
    def forward(ctx, x, y, z):
        ctx.save_for_backward(x, y, None)
        return x * y if z is None else x * y + z

    @staticmethod
    def backward(ctx, grad):
        x, y, none = ctx.saved_tensors
        assert none is None
        gradients = [None, None, None]
        if ctx.needs_input_grad[0]:
            gradients[0] = grad * y
        if ctx.needs_input_grad[1]:
            gradients[1] = grad * x
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            gradients[2] = grad
        return tuple(gradients)


class Vjp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def vjp(ctx, grad):
        return grad * ctx.saved_tensors[0]


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        with torch.enable_grad():
            y = x.sin()
        return y.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        assert not torch.is_grad_enabled()
        return grad * ctx.saved_tensors[0].cos() * 5


class FromAround(Function):
    """Reads a tensor that it isn't given, in both."""

    @staticmethod
    def forward(ctx, x):
        return x * W

    @staticmethod
    def backward(ctx, grad):
        return grad * W.sin()


class OfAnother(Function):
    """Applies another function in its forward, and in its backward."""

    @staticmethod
    def forward(ctx, x):
        return StraightThrough.apply(x) + Scaled.apply(x, 2)

    @staticmethod
    def backward(ctx, grad):
        return Scaled.apply(grad, 7)


class Inherits(Scaled):
    @staticmethod
    def forward(ctx, x, factor):
        return Scaled.forward(ctx, x + 1, factor)


class NoneAsGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return (0 if a is None else a) + (0 if b is None else b * 2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("scale", torch.full((3,), 2.0))

    def forward(self, x):
        return TwoOutputs.apply(self.linear(x), self.scale * self.linear.bias)


LAYER = Layer()

PROGRAMS = {
    "saved": lambda x, y: Scaled.apply(x * y, 3) + y,
    "twice": lambda x, y: Scaled.apply(Scaled.apply(x, 2), 3.5) * y,
    "two_outputs": lambda x, y: TwoOutputs.apply(x, y),
    "one_output_used": lambda x, y: TwoOutputs.apply(x * 2, y)[1].sum(),
    "set_up": lambda x, y: SetUp.apply(x) + SetUp.apply(y, 3),
    "straight_through": lambda x, y: StraightThrough.apply(x) * y,
    "view": lambda x, y: Reversed.apply(x, 0.5) * y,
    "argument": lambda x, y: GivesItsArgument.apply(x * 2) * y,
    "indices": lambda x, y: WithIndices.apply(x * y, 2),
    "needs": lambda x, y: Branches.apply(x, y.detach(), None) + y,
    "needs_all": lambda x, y: Branches.apply(x, y, W),
    "vjp": lambda x, y: Vjp.apply(x) * Vjp.apply(y),
    "once": lambda x, y: Once.apply(x) * y,
    "around": lambda x, y: FromAround.apply(x) * y,
    "of_another": lambda x, y: OfAnother.apply(x) * y,
    "inherits": lambda x, y: Inherits.apply(x, 2) * y,
    "sizes": lambda x, y: Scaled.apply(x, x.shape[0]) * y,
    "as_method": lambda x, y: getattr(Scaled, "apply")(x, 4) * y,  # noqa: B009
    "in_a_loop": lambda x, y: [Scaled.apply(x, i) + y for i in range(3)],
    "layer": lambda x, y: LAYER(x * y),
    "none_as_gradient": lambda x, y: NoneAsGradient.apply(x * y)[1],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph(name, backend):
    check_whole(PROGRAMS[name], [((X, Y), {})] * 2, backend, backward=True)


def mixed(x, y):
    a, b = TwoOutputs.apply(Scaled.apply(x, 3), y)
    return WithIndices.apply(a * b, 2)[0] + StraightThrough.apply(b)[:, :2]


def test_behind_inductor():
    check_whole(mixed, [((X, Y), {})] * 2, "inductor", backward=True)


def sized(x, y):
    return Scaled.apply(x, x.shape[0]) + WithIndices.apply(y, 2)[0].sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_that_vary(backend):
    calls = []
    for rows in (2, 5, 7):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        calls.append(((x.requires_grad_(), x.detach().exp()), {}))
    check_whole(sized, calls, backend, backward=True, dynamic=True)


@pytest.mark.parametrize(
    "name", ["saved", "two_outputs", "twice", "layer", "view"]
)
def test_the_graph_is_torch_compiles(name):
    """But for the grad mode, which torch.compile's backwards switch off, so
    that gradients of gradients are lost.
    """

    def calls(graph_calls):
        (graph,) = graph_calls(PROGRAMS[name], X, Y)
        return [call for call in graph if "_set_grad_enabled" not in call[1]]

    assert calls(magneto_graph_calls) == calls(torch_graph_calls)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_is_known_of_the_outputs(requires_grad):
    def program(x, y):
        a, b = TwoOutputs.apply(x, y)
        values, none, indices = WithIndices.apply(a, 2)
        view = Reversed.apply(x, 2)
        said = [
            (each.requires_grad, each.is_leaf)
            for each in (a, b, values, indices, view)
        ]
        return a + b, said, none

    x = X.detach().requires_grad_(requires_grad)
    check(program, x, Y.detach(), graphs=1, fullgraph=True)


def test_grad_fn_is_called_after_the_function():
    """Behind "eager"."""
    compiled = magneto.compile(
        lambda x: Scaled.apply(x, 3), backend="eager", fullgraph=True
    )
    assert compiled(X).grad_fn.name() == Scaled.apply(X, 3).grad_fn.name()


def test_gradients_of_gradients():
    """Behind "eager": PyTorch's compilers have none."""
    compiled = magneto.compile(
        lambda x: Scaled.apply(x * x, 3) * x, backend="eager", fullgraph=True
    )

    def second(function):
        x = X.detach().clone().requires_grad_()
        (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    expected = second(lambda x: Scaled.apply(x * x, 3) * x)
    assert torch.allclose(second(compiled), expected)


def test_a_saved_tensor_that_is_written_to():
    def program(x):
        y = x * 1
        z = Scaled.apply(y, 3)
        y.add_(1)
        return z

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        compiled(X).sum().backward()


class Dirty(Function):
    """Writes to its first argument, which it gives."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        ctx.mark_dirty(x)
        return x.mul_(y)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y, grad.sin()


def writes_to_what_was_computed(x, y):
    z = x * 2
    w = Dirty.apply(z, y)
    return w + z, w is z, z.requires_grad


def writes_to_a_view(x, y):
    z = x * 2
    w = Dirty.apply(z[0], y[1])
    return z * 3, w


def writes_before_and_behind(x, y):
    z = (x * 2).add_(1)
    w = Dirty.apply(z, y)
    z.add_(y)
    return w.sin()


def writes_to_what_is_given(x, y):
    """No gradient before, one afterwards."""
    z = Dirty.apply(x.detach().clone(), y)
    return z * 2, z.requires_grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program",
    [
        writes_to_what_was_computed,
        writes_before_and_behind,
        writes_to_what_is_given,
    ],
)
def test_writes_to_arguments(program, backend):
    check_whole(program, [((X, Y), {})] * 2, backend, backward=True)


def test_writes_to_views():
    """Behind "eager": PyTorch's compilers refuse this."""
    check_whole(writes_to_a_view, [((X, Y), {})] * 2, "eager", backward=True)


def test_writes_to_the_callers_tensor():
    """Which gets a history: PyTorch's compilers would give it none."""
    calls = [((X.detach().clone(), Y), {}), ((X.detach() + 1, Y), {})]
    for backend in ("eager", "aot_eager"):
        report = check_calls(
            lambda x, y: Dirty.apply(x, y) + 1,
            calls,
            backend=lookup_backend(backend),
        )
        assert report.graph_breaks


def test_a_leaf_that_needs_gradients_cannot_be_written_to():
    check(lambda x, y: Dirty.apply(x, y), X, Y)


class Logs(Function):
    @staticmethod
    def forward(ctx, x):
        LOG.append(len(LOG) + x.shape[0])
        return x * len(LOG)

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_effects_of_the_forward():
    def program(x):
        LOG.clear()
        y = Logs.apply(Logs.apply(x))
        return y, list(LOG)

    check_whole(program, [((X,), {})] * 2, "eager", backward=True)


# What has no place in a graph: a function, and a part of what is said. Plain
# Python does the same.


class LogsInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        LOG.append(1)
        return grad


class KeepsATensor(Function):
    @staticmethod
    def forward(ctx, x):
        LOG.append(x * 3)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


class Unmarked(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class MarkedOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Breaks(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        magneto.graph_break()
        return grad * 2


class InAList(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, [x * 3]

    @staticmethod
    def backward(ctx, a, b):
        return a


class Sum(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


REFUSED = {
    "keeps_a_tensor": (
        lambda x: KeepsATensor.apply(x),
        "in its forward it writes to",
    ),
    "effects_in_backward": (
        lambda x: LogsInBackward.apply(x),
        "in its backward it writes to",
    ),
    "writes_to_an_argument": (
        lambda x: Unmarked.apply(x * 1),
        "Unmarked.forward writes to a tensor that it takes from outside",
    ),
    "marks_what_it_does_not_give": (
        lambda x: MarkedOnly.apply(x * 1),
        "marks a tensor as dirty that it doesn't give",
    ),
    "breaks": (
        lambda x: Breaks.apply(x),
        r"Breaks.backward breaks the graph \(asked-for: .*\) at .* in "
        "Breaks.backward",
    ),
    "no_backward": (
        lambda x: Forward.apply(x),
        "Forward.backward raises NotImplementedError",
    ),
    "in_a_list": (lambda x: InAList.apply(x)[0], "some in a container"),
    "a_tensor_twice": (lambda x: Sum.apply(x, x), "given a tensor twice"),
}


class Forward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_the_graph(name):
    program, said = REFUSED[name]
    expect_break(program, (X,), said)
    check(program, X, backward=name != "no_backward")
    LOG.clear()


class Checks(Function):
    @staticmethod
    def forward(ctx, x):
        if x.shape[0] != 3:
            raise ValueError("three rows")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_what_it_raises_is_caught():
    def program(x, y):
        try:
            x = Checks.apply(x)
        except ValueError as error:
            return y * 2, str(error)
        return x

    check_whole(program, [((X, Y), {})] * 2, "eager", backward=True)


class Vmapped(Function):
    """For which PyTorch makes the batching rule."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, by):
        return x.sin() * by

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, by = ctx.saved_tensors
        return grad * x.cos() * by, None


def vmapped(x, y):
    return torch.func.vmap(lambda a: Vmapped.apply(a, y[0]))(x)


def vmapped_twice(x, y):
    inner = torch.func.vmap(Vmapped.apply, in_dims=(0, None))
    return torch.func.vmap(inner, in_dims=(0, None))(x, y[0, 0])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [vmapped, vmapped_twice])
def test_within_vmap_without_gradients(program, backend):
    x, y = X.detach(), Y.detach()
    check_whole(program, [((x, y), {}), ((x + 1, y), {})], backend)


def test_within_vmap_with_gradients_it_is_left_to_plain_python():
    compiled = magneto.compile(vmapped, backend="eager")
    a, b = (X.detach().requires_grad_() for _ in range(2))
    compiled(a, Y.detach()).sum().backward()
    vmapped(b, Y.detach()).sum().backward()
    torch.testing.assert_close(a.grad, b.grad)
