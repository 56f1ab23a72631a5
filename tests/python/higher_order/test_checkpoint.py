# SPDX-License-Identifier: BSD-3-Clause
"""torch.utils.checkpoint in the graph, and where it can't be."""

import functools

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

import magneto
from magneto.testing import check
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import check_whole

X = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
Y = torch.linspace(0.5, 2, 6).reshape(2, 3).requires_grad_()
W = torch.linspace(-1, 1, 9).reshape(3, 3)
CALLS = [((X, Y), {})] * 2
once = functools.partial(checkpoint, use_reentrant=False)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) + x


class Stack(nn.Module):
    def __init__(self, use_reentrant=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.use_reentrant = use_reentrant

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.use_reentrant)
        return x.sum()


def plain(x, y):
    return once(lambda a: torch.sin(a) * 2, x) + y


def takes_from_around(x, y):
    z = x * y
    return once(lambda a: (a * z).sin() + W[0], x)


def gives_containers(x, y):
    def inner(a, b):
        return {"sum": a + b, "more": [a * b, (a.sin(), None, 3)]}

    given = once(inner, x, y)
    return given["sum"] * given["more"][0] + given["more"][1][0]


def gives_an_argument(x, y):
    def inner(a, b):
        return a, a * b

    same, product = once(inner, x, y)
    assert same is x
    return product + same


def keyword_arguments(x, y):
    def inner(a, *, scale, other=None):
        return a * scale if other is None else a * scale + other

    return once(inner, x, scale=2.0) + once(inner, x, scale=3, other=y)


def nested(x, y):
    def inner(a):
        return once(lambda b: b.sin() * y, a).cos()

    return once(inner, x)


def used_twice(x, y):
    def inner(a):
        return torch.tanh(a) * y

    return once(inner, x) + once(inner, once(inner, y))


def options(x, y):
    return checkpoint(
        lambda a: a.sin() * y,
        x,
        use_reentrant=False,
        preserve_rng_state=False,
        determinism_check="none",
        debug=False,
        early_stop=False,
    )


def in_a_loop(x, y):
    for i in range(3):
        x = once(lambda a, i=i: a * i + y, x)
    return x


def sizes_of_the_body(x, y):
    def inner(a):
        b = torch.cat([a, a])
        return b, b.shape[0] * 2

    b, n = once(inner, x)
    return b * n + y.sum()


def dropout(x, y):
    return once(lambda a: nn.functional.dropout(a, 0.5) * y, x)


def raises_inside(x, y):
    def inner(a):
        if a.shape[0] == 2:
            raise ValueError("two")
        return a

    try:
        return once(inner, x)
    except ValueError:
        return x * y


def reentrant(x, y):
    return checkpoint(lambda a, b: a.sin() * b, x, y, use_reentrant=True)


class Holder:
    def scale(self, a, by):
        return a.sin() * by


def partial_of_a_method(x, y):
    return once(functools.partial(Holder().scale, by=y), x)


def without_grad_inside(x, y):
    def inner(a):
        with torch.no_grad():
            b = a * 2
        return b + a.sin()

    return once(inner, x) * y


def autocast_inside(x, y):
    def inner(a):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            b = a @ W
        return b.float() * a.sum()

    return once(inner, x) * y


def default_device_inside(x, y):
    def inner(a):
        with torch.device("cpu"):
            return a.sin() * torch.ones(3)

    return once(inner, x) * y


def leaves_the_grad_mode_off(x, y):
    def inner(a):
        b = a.sin()
        torch.set_grad_enabled(False)
        return b

    z = once(inner, x)
    torch.set_grad_enabled(True)
    return z * y


def keeps_products(ctx, op, *args, **kwargs):
    if op == torch.ops.aten.mm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE


def selective(x, y):
    return checkpoint(
        lambda a: (a.sin() @ W).cos() * y,
        x,
        use_reentrant=False,
        context_fn=functools.partial(
            create_selective_checkpoint_contexts, keeps_products
        ),
    )


def keeps_operators():
    return create_selective_checkpoint_contexts([torch.ops.aten.mm.default])


def selective_by_a_function(x, y):
    return checkpoint(
        lambda a: (a.sin() @ W).cos() * y,
        x,
        use_reentrant=False,
        context_fn=keeps_operators,
    )


WHOLE = [
    plain,
    takes_from_around,
    gives_containers,
    gives_an_argument,
    keyword_arguments,
    nested,
    used_twice,
    options,
    in_a_loop,
    sizes_of_the_body,
    raises_inside,
    reentrant,
    partial_of_a_method,
    selective,
    selective_by_a_function,
    without_grad_inside,
    autocast_inside,
    default_device_inside,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE)
def test_in_one_graph(program, backend):
    check_whole(program, CALLS, backend, backward=True)


def test_dropout_is_drawn_once():
    check(dropout, X, Y, backward=True, graphs=1, fullgraph=True)


def test_behind_inductor():
    check_whole(plain, CALLS, "inductor", backward=True)


# torch.compile warns of nothing, and takes either way for the newer one.
@pytest.mark.parametrize(
    "program",
    [
        plain,
        takes_from_around,
        keyword_arguments,
        nested,
        used_twice,
        options,
        in_a_loop,
        reentrant,
        without_grad_inside,
    ],
)
def test_the_graph_is_torch_compiles(program):
    assert magneto_graph_calls(program, X, Y) == torch_graph_calls(
        program, X, Y
    )


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_layers(use_reentrant):
    check_whole(
        Stack(use_reentrant), [((X,), {})] * 2, "aot_eager", backward=True
    )


def test_sizes_that_vary():
    backend = RecordingBackend()
    compiled = magneto.compile(
        takes_from_around, backend=backend, dynamic=True, fullgraph=True
    )
    for rows in (2, 3, 5):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        assert torch.equal(compiled(x, x + 1), takes_from_around(x, x + 1))
        x.requires_grad_()
        assert torch.equal(compiled(x, x + 1), takes_from_around(x, x + 1))
    assert len(backend.graphs) == 2


def test_names_in_the_graph():
    backend = RecordingBackend()
    magneto.compile(nested, backend=backend)(X, Y)
    (graph,) = backend.graphs
    text = graph.print_readable(print_output=False)
    assert "wrap_body_1 = self.wrap_body_1" in text
    assert "wrap_body_0 = self.wrap_body_0" in text
    assert "tag_activation_checkpoint(wrap_body_1, l_x_, l_y_" in text


def test_without_gradients_there_is_only_the_function():
    def program(x, y):
        with torch.no_grad():
            return plain(x, y)

    backend = RecordingBackend()
    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    assert torch.equal(compiled(X, Y), program(X, Y))
    assert not any("checkpoint" in name for _, name in backend.listing()[0])


# Where the graph breaks, plain Python's checkpoint() does what it does.


def writes_to_a_list(x, y):
    log = []

    def inner(a):
        log.append(1)
        return a.sin()

    return once(inner, x) * y, log


def writes_to_a_tensor(x, y):
    total = torch.zeros(3)

    def inner(a):
        total.add_(1)
        return a.sin() * 2

    return once(inner, x) * y, total


def writes_through_a_view(x, y):
    total = torch.zeros(2, 3)

    def inner(a):
        total[0].mul_(2).add_(1)
        return a.sin() * 2

    return once(inner, x) * y, total


def breaks_inside(x, y):
    def inner(a):
        b = a.sin()
        magneto.graph_break()
        return b * y

    return once(inner, x) * y


def turns_inside(x, y):
    """What a body that was taken back has done to metadata isn't seen."""

    def inner(a):
        b = a * y
        b.t_()
        b.unsqueeze_(0)
        magneto.graph_break()
        return b.sum()

    z = x * 1
    return once(inner, z) * z


def gives_no_gradient_to_one(x, y):
    """The older way gives all outputs a gradient, or refuses."""
    a, _ = checkpoint(lambda a: (a.sin(), a.detach()), x, use_reentrant=True)
    return a * y


def reentrant_gives_an_argument(x, y):
    """It becomes a view there."""
    same, product = checkpoint(lambda a: (a, a * y), x, use_reentrant=True)
    assert same is not x
    return same * product


def reentrant_without_arguments(x, y):
    return checkpoint(lambda a: a.sin(), x.detach(), use_reentrant=True) * y


def contexts(x, y):
    from contextlib import nullcontext

    def both():
        return nullcontext(), nullcontext()

    return checkpoint(
        lambda a: a.sin() * y, x, use_reentrant=False, context_fn=both
    )


BREAKS = [
    writes_to_a_list,
    writes_to_a_tensor,
    writes_through_a_view,
    breaks_inside,
    turns_inside,
    gives_no_gradient_to_one,
    reentrant_gives_an_argument,
    reentrant_without_arguments,
    contexts,
    leaves_the_grad_mode_off,
]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("program", BREAKS)
def test_breaks_at_the_operator(program):
    check(program, X, Y, backward=True)
    with pytest.raises(magneto.exc.Unsupported, match="higher-order-body"):
        magneto.compile(program, backend="eager", fullgraph=True)(X, Y)


@pytest.mark.parametrize(
    "keywords", [{"debug": True}, {"scale": 2}, {"context_fn": keeps_operators}]
)
@pytest.mark.parametrize("grad", [True, False])
def test_keywords_of_the_newer_way_only(keywords, grad):
    def program(x):
        return checkpoint(torch.sin, x, use_reentrant=True, **keywords)

    with torch.set_grad_enabled(grad):
        check(program, X)


def test_a_mark_of_the_programs_counts(monkeypatch):
    def program(x):
        return once(torch.sin, x) * 2

    monkeypatch.setattr(checkpoint, "_torchdynamo_disable", True, raising=False)
    with pytest.raises(magneto.exc.Unsupported, match="disabled-function"):
        magneto.compile(program, backend="eager", fullgraph=True)(X)


def test_the_break_says_both_places():
    with pytest.raises(magneto.exc.Unsupported) as raised:
        magneto.compile(breaks_inside, backend="eager", fullgraph=True)(X, Y)
    text = str(raised.value)
    assert "asked-for" in text
    first = breaks_inside.__code__.co_firstlineno
    assert f"test_checkpoint.py:{first + 3} in" in text
    assert f"test_checkpoint.py:{first + 6}" in text or (
        f'test_checkpoint.py", line {first + 6}' in text
    )


def test_sequential():
    layers = nn.Sequential(*(Block() for _ in range(4)))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return checkpoint_sequential(self.layers, 2, x, use_reentrant=False)

    check(Model(), X, backward=True, graphs=1, fullgraph=True)
