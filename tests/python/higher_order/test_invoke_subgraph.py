# SPDX-License-Identifier: BSD-3-Clause
"""torch.compiler.nested_compile_region: calls that share one graph."""

import pytest
import torch
from torch import nn

import magneto
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import check_whole, name_of

region = torch.compiler.nested_compile_region
X = torch.linspace(-1, 1, 6).reshape(2, 3)
Y = torch.linspace(0.5, 2, 6).reshape(2, 3)
W = torch.linspace(-1, 1, 3)


@region
def mixed(a, b):
    return a.sin() * b + W


@region
def summed(a, *, by):
    return {"sum": (a * by).sum(), "all": [a + by]}


def once(x, y):
    return mixed(x, y) * 2


def three_times(x, y):
    x = mixed(x, y)
    x = mixed(x, y.exp())
    return mixed(x, x)


def of_another_shape(x, y):
    return mixed(x, y) + mixed(x[:1], y[:1])


def with_other_constants(x, y):
    a, b = summed(x, by=2), summed(x, by=3)
    return a["sum"] * b["all"][0] + summed(y, by=2)["sum"]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    @region
    def forward(self, x):
        return self.inner(x).tanh()


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x, y):
        for layer in self.layers:
            x = layer(x)
        return x * y


# How many graphs each has for its regions: one that is called once is part of
# the graph around it.
SHARED = {
    once: 0,
    three_times: 1,  # in the last call both arguments are one
    of_another_shape: 0,
    with_other_constants: 1,
    Layers(): 1,  # but for the first, whose argument has no gradient
}
CALLS = [((X, Y), {}), ((X + 1, Y), {})]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", SHARED, ids=name_of)
def test_in_one_graph(program, backend):
    (graph,) = check_whole(program, CALLS, backend, backward=True).graphs
    subgraphs = {
        node.target
        for node in graph.graph.nodes
        if node.op == "get_attr" and node.target.startswith("subgraph")
    }
    assert len(subgraphs) == SHARED[program]


def test_behind_inductor():
    check_whole(three_times, CALLS, "inductor")


# torch.compile refuses a region that is given one tensor twice.
@pytest.mark.parametrize(
    "program", [once, of_another_shape, with_other_constants]
)
def test_the_graph_is_torch_compiles(program):
    assert magneto_graph_calls(program, X, Y) == torch_graph_calls(
        program, X, Y
    )


def test_names_in_the_graph():
    backend = RecordingBackend()
    magneto.compile(three_times, backend=backend)(X, Y)
    text = backend.graphs[0].print_readable(print_output=False)
    assert "invoke_subgraph(subgraph_0, 'subgraph_0'," in text


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_that_vary(backend):
    compiled = magneto.compile(
        three_times, backend=backend, dynamic=True, fullgraph=True
    )
    for rows in (2, 3, 5):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        given = x, x.exp()
        torch.testing.assert_close(compiled(*given), three_times(*given))


# Regions that no graph can stand for are called as any function.
LOG = []


@region
def gives_its_argument(a):
    return a


@region
def gives_a_view(a):
    return a[0]


@region
def writes(a):
    return a.add_(1) * 2


@region
def keeps(a):
    LOG.append(a * 2)
    return a + 1


@region
def counts(a):
    LOG.append(1)
    return a + 1


@region
def breaks(a):
    a = a + 1
    magneto.graph_break()
    return a * 2


@pytest.mark.parametrize(
    "function",
    [gives_its_argument, gives_a_view, writes, keeps, counts, breaks],
    ids=lambda f: f.__marked_compile_region_fn__.__name__,
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_regions_that_are_called_as_they_are(function, backend):
    def program(x):
        return function(x * 1) - 1

    LOG.clear()
    expected = program(X)
    seen = list(LOG)
    LOG.clear()
    compiled = magneto.compile(
        program, backend=backend, fullgraph=function is not breaks
    )
    assert torch.equal(compiled(X), expected)
    for a, b in zip(LOG, seen, strict=True):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))
    LOG.clear()


def test_what_a_region_raises():
    @region
    def fails(a):
        raise KeyError(a.dim())

    def program(x):
        try:
            return fails(x)
        except KeyError as error:
            return x + error.args[0]

    compiled = magneto.compile(program, backend="eager")
    assert torch.equal(compiled(X), X + 2)
