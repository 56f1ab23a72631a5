# SPDX-License-Identifier: BSD-3-Clause
"""The transforms of torch.func in the graph, and where they can't be."""

import functools

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

import magneto
from magneto.testing import check
from magneto.testing.graphs import magneto_graph_calls, torch_graph_calls
from support.whole_graphs import check_whole, expect_break

X = torch.linspace(-1, 1, 12).reshape(4, 3)
Y = torch.linspace(0.5, 2, 12).reshape(4, 3)
W = torch.linspace(-1, 1, 15).reshape(3, 5)


class Net(nn.Module):
    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(3, 4)
        self.norm = nn.LayerNorm(4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.norm(self.first(x))))


NET = Net()
PARAMETERS = dict(NET.named_parameters())
STACKED, BUFFERS = stack_module_state([Net(i) for i in range(3)])


def loss(a):
    return (a @ W).sin().sum()


def sample_loss(parameters, x, y):
    given = functional_call(NET, parameters, (x[None],))
    return F.mse_loss(given, y[None, :2])


def scaled(a, *, by):
    return a * by


def branches(a):
    return a.sin() if a.shape[0] == 3 else a.cos()


VMAP = {
    "plain": lambda x, y: vmap(lambda a: (a @ W).sin())(x),
    "two": lambda x, y: vmap(torch.dot)(x, y),
    "in_dims": lambda x, y: vmap(lambda a, b: a * b, (0, 1))(x, y.t()),
    "unbatched": lambda x, y: vmap(lambda a, b: a * b, (0, None))(x, y),
    "out_dims": lambda x, y: vmap(lambda a: a.exp(), out_dims=1)(x),
    "trees": lambda x, y: vmap(
        lambda d: {"sum": d["x"] + d["y"][0], "product": (d["x"] * 2,)}
    )({"x": x, "y": [y]}),
    "trees_of_dims": lambda x, y: vmap(
        lambda d, n: d["x"] + d["y"] * n, in_dims=({"x": 0, "y": 1}, None)
    )({"x": x, "y": y.t()}, 3),
    "nested": lambda x, y: vmap(lambda a: vmap(lambda b: (a * b).sum())(y))(x),
    "twice": lambda x, y: vmap(vmap(lambda a: a.sin()))(x),
    "chunks": lambda x, y: vmap(lambda a: a.sin(), chunk_size=2)(x),
    "keywords": lambda x, y: vmap(scaled)(x, by=y),
    "partial": lambda x, y: vmap(functools.partial(scaled, by=2))(x),
    "module": lambda x, y: vmap(NET)(x),
    "branches": lambda x, y: vmap(branches)(x),
    "in_place": lambda x, y: vmap(lambda a: a.clone().mul_(2).add_(1))(x),
    "views": lambda x, y: vmap(lambda a: a.view(3, 1).t()[..., 1:])(x),
    "made_inside": lambda x, y: vmap(
        lambda a: a + torch.ones(3) + torch.arange(3) * torch.eye(3)[0]
    )(x),
    "softmax": lambda x, y: vmap(lambda a: F.softmax(a, 0))(x) * y,
    "ensemble": lambda x, y: vmap(
        lambda p, b: functional_call(NET, (p, b), (x,))
    )(STACKED, BUFFERS),
    "said": lambda x, y: vmap(
        lambda a: a * a.dim() * a.shape[0] * a.numel() + a.size(0)
    )(x),
    "two_results": lambda x, y: vmap(
        lambda a: (a.sum(), a * 2), out_dims=(0, 1)
    )(x),
    "linear_algebra": lambda x, y: vmap(
        lambda a: torch.linalg.norm(torch.outer(a, a) + torch.eye(3))
    )(x),
}

GRAD = {
    "grad": lambda x, y: grad(loss)(x),
    "argnums": lambda x, y: grad(lambda a, b: (a * b).sum(), (0, 1))(x, y),
    "value": lambda x, y: grad_and_value(loss)(x),
    "auxiliary": lambda x, y: grad(lambda a: (loss(a), a * 2), has_aux=True)(x),
    "of_samples": lambda x, y: vmap(grad(loss))(x),
    "twice": lambda x, y: grad(lambda a: grad(loss)(a).sum())(x),
    "of_a_tree": lambda x, y: grad(lambda d: (d["x"] * d["y"]).sum())(
        {"x": x, "y": y}
    ),
    "of_parameters": lambda x, y: vmap(grad(sample_loss), (None, 0, 0))(
        PARAMETERS, x, y
    ),
    "vjp": lambda x, y: (lambda out, back: (out, back(out)))(
        *vjp(lambda a: (a @ W).sin(), x)
    ),
    "jacrev": lambda x, y: jacrev(lambda a: (a @ W).sin())(x),
    "jacrev_chunks": lambda x, y: jacrev(lambda a: (a @ W).sin(), chunk_size=2)(
        x
    ),
}

FORWARD = {
    "jvp": lambda x, y: jvp(lambda a: (a @ W).sin(), (x,), (y,)),
    "jacfwd": lambda x, y: jacfwd(lambda a: (a @ W).sin())(x),
    "hessian": lambda x, y: hessian(loss)(x[0]),
    "of_samples": lambda x, y: vmap(lambda a, b: jvp(torch.sin, (a,), (b,))[1])(
        x, y
    ),
}


# torch.compile fails at the text of a module, which vmap makes.
SAME_IN_TORCH = {name: VMAP[name] for name in VMAP if name != "module"}


def parametrized(tables):
    return [
        pytest.param(program, id=f"{kind}-{name}")
        for kind, table in tables.items()
        for name, program in table.items()
    ]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", parametrized({"vmap": VMAP, "grad": GRAD, "forward": FORWARD})
)
def test_one_graph(program, backend):
    check_whole(program, [((X, Y), {})] * 2, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["plain", "nested", "in_place", "softmax"])
def test_gradients_through_vmap(name, backend):
    x, y = (t.clone().requires_grad_() for t in (X, Y))
    check_whole(VMAP[name], [((x, y), {})] * 2, backend, backward=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_through_grad(backend):
    x = X.clone().requires_grad_()
    program = GRAD["grad"]
    check_whole(program, [((x, Y), {})] * 2, backend, backward=True)


@pytest.mark.parametrize("program", [VMAP["ensemble"], GRAD["of_parameters"]])
def test_behind_inductor(program):
    check_whole(program, [((X, Y), {})] * 2, "inductor")


def test_sizes_that_vary():
    calls = []
    for rows in (2, 5, 7):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        calls.append(((x, x + 1), {}))
    check_whole(VMAP["nested"], calls, "eager", dynamic=True)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers(randomness):
    def program(x):
        return vmap(
            lambda a: F.dropout(a + torch.randn(3), 0.5), randomness=randomness
        )(x)

    check(program, X, graphs=1, fullgraph=True)


@pytest.mark.parametrize(
    "program", parametrized({"vmap": SAME_IN_TORCH, "grad": GRAD})
)
def test_the_graph_is_torch_compiles(program):
    """But for what loads PyTorch's decompositions for vmap."""

    def calls(graph_calls):
        (graph,) = graph_calls(program, X, Y)
        return [
            call for call in graph if "lazy_load_decompositions" not in call[1]
        ]

    assert calls(magneto_graph_calls) == calls(torch_graph_calls)


# -- what breaks the graph -----------------------------------------------------


def breaks(a):
    b = a.sin()
    magneto.graph_break()
    return b


def asks_for_data(a):
    return a * 2 if a.sum() > 0 else a


BREAKS = {
    "break": (lambda x: vmap(breaks)(x) + x.sum(), "asked-for"),
    "break_in_grad": (
        lambda x: grad(lambda a: breaks(a).sum())(x) + 1,
        "asked-for",
    ),
    "break_in_both": (
        lambda x: vmap(grad(lambda a: breaks(a).sum()))(x) + 1,
        "asked-for",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_body_that_breaks_the_graph(name):
    program, said = BREAKS[name]
    expect_break(program, (X,), said)
    check(program, X)


ERRORS = {
    "data": lambda x: vmap(asks_for_data)(x),
    "sizes": lambda x: vmap(lambda a, b: a * b)(x, x[:2]),
    "no_tensor": lambda x: vmap(lambda a: 3)(x),
    "dims": lambda x: vmap(lambda a: a, in_dims=5)(x),
    "no_scalar": lambda x: grad(lambda a: a * 2)(x),
    "randomness": lambda x: vmap(lambda a: a + torch.randn(3))(x),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_plain_pythons(name):
    check(ERRORS[name], X)


def test_an_error_that_is_caught():
    def program(x):
        try:
            y = vmap(lambda a: a.reshape(7))(x)
        except RuntimeError:
            y = x + 1
        return vmap(torch.sin)(y)

    check(program, X)


def test_a_graph_that_fails_leaves_no_level():
    def program(x, index):
        return vmap(lambda a: a[index])(x)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    assert torch.equal(compiled(X, torch.tensor([1])), X[:, 1:2])
    with pytest.raises(IndexError):
        compiled(X, torch.tensor([7]))
    assert torch._C._functorch.maybe_current_level() is None
    assert torch.equal(compiled(X, torch.tensor([2])), X[:, 2:])


def test_a_graph_that_fails_leaves_the_callers_levels_alone():
    compiled = magneto.compile(lambda x, index: x[index], backend="eager")
    compiled(X, torch.tensor([1]))

    def body(a):
        with pytest.raises(IndexError):
            compiled(X, torch.tensor([7]))
        return a * 2

    for transform in (vmap, lambda f: grad(lambda a: f(a).sum())):
        assert torch.equal(transform(body)(Y), transform(lambda a: a * 2)(Y))


def test_transforms_of_a_compiled_function():
    compiled = magneto.compile(lambda a: (a @ W).sin().sum(), backend="eager")
    for transform in (vmap, grad, lambda f: vmap(grad(f))):
        assert torch.allclose(transform(compiled)(X), transform(loss)(X))


def test_hooks_of_saved_tensors_are_refused():
    compiled = magneto.compile(GRAD["grad"], backend="eager", fullgraph=True)
    assert torch.equal(compiled(X, Y), GRAD["grad"](X, Y))
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="don't yet support saved tensor"),
    ):
        compiled(X, Y)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


@pytest.mark.parametrize("name", ["vmap", "grad"])
def test_a_compiled_transform_within_another(name):
    """Levels are numbered, so its graph is one for plain calls."""

    def program(x):
        if name == "vmap":
            return vmap(lambda a: a.sin() * 2)(x)
        return grad(lambda a: a.sin().sum())(x)

    compiled = magneto.compile(program, backend="eager")
    expected = program(X)
    stacked = torch.stack([Y, Y + 1])
    for _ in range(2):
        assert torch.equal(compiled(X), expected)
        outer = vmap(lambda a: compiled(X) + a)(stacked)
        assert torch.equal(outer, expected + stacked)
        gradient = grad(lambda a: (compiled(X) * a).sum())(Y)
        assert torch.equal(gradient, expected)


def test_writes_are_seen_outside():
    log = []

    def program(x):
        def body(a):
            log.append(a.shape)
            return a * len(log)

        return vmap(body)(x)

    def run(call):
        log.clear()
        return call(X), list(log)

    expected, shapes = run(program)
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        result, seen = run(compiled)
        assert torch.equal(result, expected)
        assert seen == shapes


class Doubled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


APPLY_DOUBLED = {
    "vmap": lambda x: vmap(Doubled.apply)(x) + 1,
    "grad": lambda x: grad(lambda a: Doubled.apply(a).sum())(x) + 1,
    "both": lambda x: vmap(grad(lambda a: Doubled.apply(a).sum()))(x) + 1,
    "jvp": lambda x: jvp(lambda a: Doubled.apply(a) + 1, (x,), (x,)),
}


@pytest.mark.parametrize("name", APPLY_DOUBLED)
def test_a_function_of_the_programs_breaks_at_the_transform(name):
    """`vmap` without gradients is only its forward."""
    program = APPLY_DOUBLED[name]
    report = check(program, X.clone().requires_grad_())
    assert report.graph_breaks == 1
    for graph in report.graphs:
        assert "nesting" not in graph.code
