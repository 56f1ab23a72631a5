# SPDX-License-Identifier: BSD-3-Clause
"""torch.ops.higher_order.wrap: a call whose graph is nested in another."""

import pytest
import torch

import magneto
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import check_whole, expect_break

wrap = torch.ops.higher_order.wrap
X = torch.linspace(-1, 1, 6).reshape(2, 3)
Y = torch.linspace(0.5, 2, 6).reshape(2, 3)
W = torch.linspace(-1, 1, 3)


def plain(x, y):
    return wrap(lambda a: a.sin() + y, x)


def keywords_and_containers(x, y):
    out = wrap(lambda a, *, by: {"h": [a * by, a + W]}, x, by=y)
    return out["h"][0] - out["h"][1]


def nested(x, y):
    def outer(a):
        return wrap(lambda b: b * y + a, a.cos())

    return wrap(outer, x) * 2


def with_a_cond(x, y):
    def body(a):
        return torch.cond(
            a.sum() > 0, lambda b: b.sin(), lambda b: b.cos() * y, (a,)
        )

    return wrap(body, x)


WHOLE = [plain, keywords_and_containers, nested, with_a_cond]
CALLS = [((X, Y), {}), ((X + 1, Y), {})]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE)
def test_in_one_graph(program, backend):
    check_whole(program, CALLS, backend)


@pytest.mark.parametrize("program", WHOLE)
def test_the_graph_is_torch_compiles(program):
    assert magneto_graph_calls(program, X, Y) == torch_graph_calls(
        program, X, Y
    )


def test_nodes_tell_which_calls_they_are_in():
    backend = RecordingBackend()
    magneto.compile(with_a_cond, backend=backend)(X, Y)
    (graph,) = backend.graphs
    body = graph.wrap_body_0
    stacks = {
        node.name: [name for name, _ in node.meta["source_fn_stack"]]
        for branch in (body.cond_true_0, body.cond_false_0)
        for node in branch.graph.nodes
        if node.op == "call_method"
    }
    assert stacks == {
        "sin": ["wrap", "cond", "sin"],
        "cos": ["wrap", "cond", "cos"],
    }


LOG = []


def logs(a):
    LOG.append(1)
    return a + 1


def test_effects_are_left_to_plain_python():
    expect_break(lambda x: wrap(logs, x), (X,), "it writes to list .*LOG")
    LOG.clear()
    out = magneto.compile(lambda x: wrap(logs, x), backend="eager")(X)
    assert torch.equal(out, X + 1)
    assert LOG == [1]
    LOG.clear()
