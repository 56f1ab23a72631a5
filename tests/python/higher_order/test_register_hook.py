# SPDX-License-Identifier: BSD-3-Clause
"""Hooks of tensors in the graph: those of inputs are registered at its end,
those of what it computes become graphs.
"""

import functools

import pytest
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

import magneto
from magneto.testing.graphs import magneto_graph_calls, torch_graph_calls
from support.whole_graphs import check_whole, expect_break, name_of

X = torch.linspace(-1, 1, 6).reshape(2, 3)
Y = torch.linspace(0.5, 2, 6).reshape(2, 3)
W = torch.linspace(-1, 1, 3)


def scaled(grad, *, by):
    return grad * by


def of_an_intermediate(x, y):
    z = x * y
    z.register_hook(lambda grad: grad * 3)
    return z.sin()


def behind_a_use(x, y):
    z = x * y
    out = z.sin()
    z.register_hook(lambda grad: grad.clamp(min=0) + W)
    return out * z


def of_a_result(x, y):
    z = x * y
    z.register_hook(lambda grad: grad * y)
    return z, z.cos()


def twice_with_partials(x, y):
    z = x * 2
    z.register_hook(functools.partial(scaled, by=3))
    z.register_hook(functools.partial(scaled, by=torch.exp(y)))
    return (z * y).sum()


def that_gives_nothing(x, y):
    z = x * y

    def look(grad):
        grad.sum()

    z.register_hook(look)
    return z.exp()


def of_an_input(x, y):
    x.register_hook(lambda grad: grad * 5)
    return (x * y).sin()


def of_an_input_with_a_closure(x, y):
    z = x.sin()
    x.register_hook(lambda grad: grad + z.detach())
    return z * y


def whose_handle_is_removed(x, y):
    handle = x.register_hook(lambda grad: grad * 5)
    z = x * y
    handle.remove()
    y.register_hook(functools.partial(scaled, by=2))
    return z.cos()


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x, y):
        h = self.first(x).relu()
        h.register_hook(self.halve)
        return self.second(h) + y.sum()

    def halve(self, grad):
        return grad / 2


WHOLE = [
    of_an_intermediate,
    behind_a_use,
    of_a_result,
    twice_with_partials,
    that_gives_nothing,
    of_an_input,
    of_an_input_with_a_closure,
    whose_handle_is_removed,
    Hooked(),
]


def calls():
    return [
        ((X.clone().requires_grad_(), Y.clone().requires_grad_()), {})
        for _ in range(2)
    ]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE, ids=name_of)
def test_in_one_graph(program, backend):
    check_whole(program, calls(), backend, backward=True)


def test_behind_inductor():
    check_whole(behind_a_use, calls(), "inductor", backward=True)


@pytest.mark.parametrize(
    "program",
    [of_an_intermediate, behind_a_use, of_a_result, that_gives_nothing],
)
def test_the_graph_is_torch_compiles(program):
    (given, _), *_ = calls()
    assert magneto_graph_calls(program, *given) == torch_graph_calls(
        program, *given
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_handles_of_inputs(backend):
    """They are real ones: of the hook that was registered."""
    holder = nn.Module()

    def program(x):
        handle = x.register_hook(lambda grad: grad * 2)
        holder.handle = x.register_hook(lambda grad: grad + 1)
        return x * 3, handle, handle

    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    x = X.clone().requires_grad_()
    out, handle, same = compiled(x)
    assert type(handle) is RemovableHandle
    assert same is handle
    out.sum().backward()
    assert torch.equal(x.grad, torch.full_like(X, 7))
    handle.remove()
    x.grad = None
    compiled(X.clone().requires_grad_())[0].sum().backward()
    (x * 3).sum().backward()
    assert torch.equal(x.grad, torch.full_like(X, 4))
    holder.handle.remove()


def test_hooks_of_parameters_after_their_gradients():
    linear = nn.Linear(3, 2)
    seen = []

    def program(x):
        linear.weight.register_post_accumulate_grad_hook(
            lambda weight: seen.append(weight.grad.clone())
        )
        return linear(x).sum()

    compiled = magneto.compile(program, backend="aot_eager", fullgraph=True)
    compiled(X).backward()
    assert len(seen) == 1
    assert torch.equal(seen[0], linear.weight.grad)


def test_a_hook_of_an_input_that_is_written_to_afterwards():
    """It sees the gradient of what the input was: plain Python registers it."""

    def program(x):
        x = x * 1
        return written(x)

    @magneto.compile(backend="eager")
    def written(x):
        x.register_hook(lambda grad: grad * 10)
        x.mul_(3)
        return x.sin()

    def plain(x):
        x = x * 1
        x.register_hook(lambda grad: grad * 10)
        x.mul_(3)
        return x.sin()

    a, b = (X.clone().requires_grad_() for _ in range(2))
    program(a).sum().backward()
    plain(b).sum().backward()
    torch.testing.assert_close(a.grad, b.grad)


# What has no place in a graph: a program, and a part of what is said.
LOG = []


def hooked(hook):
    def program(x, y):
        z = x * y
        z.register_hook(hook)
        return z.sin()

    return program


def logs(grad):
    LOG.append(1)
    return grad


def breaks(grad):
    magneto.graph_break()
    return grad


def keeps_a_handle(x, y):
    z = x * y
    return z.register_hook(lambda grad: grad), z.sin()


def without_gradients(x, y):
    z = (x * y).detach()
    z.register_hook(lambda grad: grad)
    return z


REFUSED = {
    "effect": (hooked(logs), "a hook with effects: it writes to list .*LOG"),
    "break": (hooked(breaks), "a hook of a tensor breaks the graph"),
    "handle": (keeps_a_handle, "where its handle is used"),
    "no gradients": (without_gradients, "of a tensor without gradients"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_in_a_graph(name):
    program, said = REFUSED[name]
    (given, _), *_ = calls()
    expect_break(program, given, said)
    LOG.clear()


@pytest.mark.parametrize("name", ["effect", "break", "handle"])
def test_what_has_no_place_in_a_graph_is_done_by_plain_python(name):
    program, _ = REFUSED[name]
    (given, _), (others, _) = calls()
    outs = program(*given), magneto.compile(program, backend="eager")(*others)
    for out, inputs in zip(outs, (given, others), strict=True):
        out = out[1] if isinstance(out, tuple) else out
        out.sum().backward()
        assert all(each.grad is not None for each in inputs)
    assert torch.equal(given[0].grad, others[0].grad)
    LOG.clear()
