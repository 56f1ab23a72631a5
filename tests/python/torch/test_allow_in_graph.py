# SPDX-License-Identifier: BSD-3-Clause
"""torch.compiler.allow_in_graph: the effects of a marked function happen in
each call, whatever it returns.
"""

from __future__ import annotations

import pytest
import torch

import magneto

LOG = []


@torch.compiler.allow_in_graph
def note(value):
    LOG.append(value)


@torch.compiler.allow_in_graph
def count():
    LOG.append("count")
    return len(LOG)


@torch.compiler.allow_in_graph
def look(x):
    LOG.append("look")


@torch.compiler.allow_in_graph
def rank(x):
    LOG.append("rank")
    return x.dim()


@torch.compiler.allow_in_graph
def made(n):
    return torch.ones(n)


@torch.compiler.allow_in_graph
def doubled(x):
    return x * 2


def effect_only(x):
    note(3)
    return x + 1


def effects_in_order(x):
    note("first")
    y = x + 1
    note("second")
    return y


def dropped_number(x):
    count()
    return x + 1


def number(x):
    return x + count()


def nothing_of_a_tensor(x):
    look(x)
    return x + 1


def number_of_a_tensor(x):
    return x + rank(x)


def new_tensor(x):
    return x + made(3)


def of_a_tensor(x):
    return doubled(x) + 1


PROGRAMS = {
    effect_only: 1,
    effects_in_order: 1,
    dropped_number: 1,
    number: 2,
    nothing_of_a_tensor: 1,
    number_of_a_tensor: 1,
    new_tensor: 1,
    of_a_tensor: 1,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_each_call_does_what_it_does(program, backend):
    x = torch.ones(3)
    compiled = magneto.compile(program, backend=backend)
    LOG.clear()
    # Fakes are what some of these functions meet, too; and a number varies.
    for _ in range(3):
        compiled(x)
    before = magneto.stats()["graphs"]
    for _ in range(3):
        LOG.clear()
        expected = program(x), list(LOG)
        LOG.clear()
        got = compiled(x), list(LOG)
        torch.testing.assert_close(got[0], expected[0])
        assert got[1] == expected[1]
    assert magneto.stats()["graphs"] == before


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_graphs(program):
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    magneto.compile(program, backend=backend)(torch.ones(3))
    # An empty piece has no graph.
    assert len(graphs) <= PROGRAMS[program]


@pytest.mark.parametrize(
    "program", [effect_only, effects_in_order, dropped_number]
)
def test_what_takes_no_tensor_isnt_called_while_tracing(program):
    for backend in ("eager", "aot_eager"):
        LOG.clear()
        magneto.compile(program, backend=backend, fullgraph=True)(torch.ones(3))
        got = list(LOG)
        LOG.clear()
        program(torch.ones(3))
        assert got == LOG


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_objects_that_are_marked(backend):
    class Scale:
        def __init__(self, by):
            self.by = by
            self.__name__ = "scale"

        def __call__(self, x):
            magneto.graph_break()
            return x * self.by

    scale = Scale(3)
    torch.compiler.allow_in_graph(scale)
    compiled = magneto.compile(
        lambda x: scale(x + 1), backend=backend, fullgraph=True
    )
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 6.0))
    scale = Scale(4)
    torch.compiler.allow_in_graph(scale)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 8.0))


def test_autograd_functions_that_are_marked():
    @torch.compiler.allow_in_graph
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            magneto.graph_break()
            ctx.rows = x.size(0)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.rows

    compiled = magneto.compile(
        lambda x: Doubled.apply(x) + 1, backend="eager", fullgraph=True
    )
    x = torch.ones(3, requires_grad=True)
    out = compiled(x)
    assert torch.equal(out, torch.full((3,), 3.0))
    out.sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 3.0))
