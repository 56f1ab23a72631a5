# SPDX-License-Identifier: BSD-3-Clause
"""torch.cond in the graph: both branches, and what they must agree in."""

import collections
import functools
import subprocess
import sys

import pytest
import torch
from torch import nn

import magneto
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import check_whole, expect_break, with_gradients

X = torch.linspace(-1, 1, 6).reshape(2, 3)
Y = torch.linspace(0.5, 2, 6).reshape(2, 3)
W = torch.linspace(-1, 1, 3)
Pair = collections.namedtuple("Pair", ["first", "second"])


def plain(x, y):
    return torch.cond(
        x.sum() > 0, lambda a, b: a + b, lambda a, b: a * b, (x, y)
    )


def by_name(x, y):
    return torch.cond(
        pred=x.sum() > 0,
        true_fn=lambda a: a + y,
        false_fn=lambda a: a.sin() * W,
        operands=[x],
    )


def without_operands(x, y):
    return torch.cond(x.sum() > 0, lambda: x.sin() + y, lambda: x.cos() * W)


def gives_containers(x, y):
    def on_true(a):
        return {"h": [a + 1, a.sum()], "pair": Pair(a * y, (a.sin(),))}

    def on_false(a):
        return {"h": [a - 1, a.mean()], "pair": Pair(a / y, (a * 2,))}

    out = torch.cond(x.sum() > 0, on_true, on_false, (x,))
    assert type(out["pair"]) is Pair
    return out["h"][0] * out["h"][1] + out["pair"].first, out["pair"].second[0]


def nested(x, y):
    def on_true(a):
        return torch.cond(
            a.max() > 1, lambda b: b + y, lambda b: b - W, (a.sin(),)
        )

    return torch.cond(x.sum() > 0, on_true, lambda a: a.cos(), (x,)) * 2


def predicate_from_outside(x, y):
    flag = torch.tensor(True)
    return torch.cond(flag & (x.sum() > 0), torch.sin, torch.cos, (x,)) * y


def known_predicates(x, y):
    a = torch.cond(True, lambda a: a + 1, lambda a: a - 1, (x,))
    b = torch.cond(x.dim() > 5, lambda a: a + 1, lambda a: a - 1, (y,))
    return torch.cond(0, torch.sin, torch.cos, (a,)) + b


class Holder:
    def __init__(self, by):
        self.by = by

    def scale(self, a):
        return a * self.by


def partials_and_methods(x, y):
    return torch.cond(
        x.sum() > 0,
        functools.partial(torch.add, y),
        Holder(W).scale,
        (x,),
    )


def intermediates_are_written(x, y):
    def on_true(a):
        b = a.clone()
        b.mul_(2)
        b[0] = 1
        return b

    return torch.cond(x.sum() > 0, on_true, lambda a: a + y, (x,))


def in_a_loop(x, y):
    for _ in range(3):
        x = torch.cond(x.sum() > 0, lambda a: a - 1, lambda a: a + y, (x,))
    return x


def containers_of_operands(x, y):
    return torch.cond(
        x.sum() > 0,
        lambda d, t: d["a"] + t[0],
        lambda d, t: d["a"] * t[0],
        ({"a": x}, (y,)),
    )


def the_operator_itself(x, y):
    (out,) = torch.ops.higher_order.cond(
        x.sum() > 0, lambda a, b: (a + b,), lambda a, b: (a * b,), (x, y)
    )
    return out


WHOLE = [
    plain,
    the_operator_itself,
    by_name,
    without_operands,
    gives_containers,
    nested,
    predicate_from_outside,
    known_predicates,
    partials_and_methods,
    intermediates_are_written,
    in_a_loop,
    containers_of_operands,
]
CALLS = [((X, Y), {}), ((X + 1, Y), {}), ((X - 1, Y), {}), ((X + 3, Y), {})]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE)
def test_in_one_graph(program, backend):
    check_whole(program, CALLS, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE)
def test_gradients(program, backend):
    check_whole(program, with_gradients(CALLS), backend, backward=True)


def test_behind_inductor():
    check_whole(plain, CALLS, "inductor")


@pytest.mark.parametrize(
    "program",
    [
        plain,
        by_name,
        without_operands,
        nested,
        predicate_from_outside,
        intermediates_are_written,
        in_a_loop,
    ],
)
def test_the_graph_is_torch_compiles(program):
    assert magneto_graph_calls(program, X, Y) == torch_graph_calls(
        program, X, Y
    )


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.shared = nn.Linear(3, 3)
        self.own = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(
            x.sum() > 0,
            lambda a: self.own(self.shared(a)),
            lambda a: self.shared(a).relu(),
            (x,),
        )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_module_of_both_branches(backend):
    calls = [((X,), {}), ((X + 1,), {}), ((X - 1,), {})]
    (graph,) = check_whole(Experts(), calls, backend, backward=True).graphs
    inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
    assert len(inputs) == 5  # x, and two parameters of each module


def test_names_in_the_graph():
    backend = RecordingBackend()
    magneto.compile(nested, backend=backend)(X, Y)
    text = backend.graphs[0].print_readable(print_output=False)
    for name in ("cond_true_0", "cond_false_0", "cond_true_1", "cond_false_1"):
        assert f"{name} = self.{name}" in text


def test_sizes_that_vary():
    backend = RecordingBackend()
    compiled = magneto.compile(
        nested, backend=backend, dynamic=True, fullgraph=True
    )
    for rows in (2, 3, 5):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        for shift in (-1, 1, 3):
            given = x + shift, x.exp()
            assert torch.equal(compiled(*given), nested(*given))
    assert len(backend.graphs) == 1


# What has no place in a graph: a function, and a part of what is said.


def differs(on_true, on_false):
    def program(x, y):
        z = x * 1
        return torch.cond(z.sum() > 0, on_true, on_false, (z,)) * y

    return program


LOG = []


def logs(a):
    LOG.append(1)
    return a + 1


def breaks(a):
    b = a.sin()
    magneto.graph_break()
    return b


REFUSED = {
    "shapes": (
        differs(lambda a: a + 1, lambda a: a[0] + 1),
        r"output of the two branches: float32\[2, 3\] and float32\[3\]",
    ),
    "dtypes": (
        differs(lambda a: a + 1, lambda a: (a + 1).double()),
        r"float32\[2, 3\] and float64\[2, 3\]",
    ),
    "strides": (
        differs(lambda a: a + 1, lambda a: (a + 1).t().contiguous().t()),
        r"with strides \[3, 1\] and \[1, 2\]",
    ),
    "containers": (
        differs(lambda a: (a + 1,), lambda a: [a + 1]),
        r"the true branch gives \(\*\), the false branch gives \[\*\]",
    ),
    "texts": (
        differs(lambda a: (a + 1, "x"), lambda a: (a, "x")),
        r"output\[1\] is 'x' in the true branch",
    ),
    "operand": (differs(lambda a: a, lambda a: a + 1), "is an operand"),
    "view": (differs(lambda a: a.view(-1), lambda a: a + 1), "is an operand"),
    "twice": (
        differs(lambda a: (a2 := a + 1, a2), lambda a: (a + 1, a + 2)),
        "shares memory",
    ),
    "effect": (
        differs(logs, lambda a: a + 1),
        r"the true branch: it writes to list .*LOG",
    ),
    "write": (
        differs(lambda a: a.add_(1) * 1, lambda a: a + 1),
        "the true branch writes to a tensor that it takes from outside",
    ),
    "metadata": (
        differs(lambda a: a.t_() + 1, lambda a: (a + 1).t()),
        "writes to a tensor",
    ),
    "break": (differs(breaks, lambda a: a + 1), r"asked-for.*test_cond.py:"),
    "raise": (
        differs(lambda a: a.reshape(5), lambda a: a + 1),
        "the true branch raises RuntimeError",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_branches_must_agree_in(name):
    program, said = REFUSED[name]
    expect_break(program, (X, Y), said)
    LOG.clear()


def test_plain_data_that_both_branches_give():
    """Plain Python's torch.cond refuses None; torch.compile's makes numbers of
    ints that differ.
    """

    def program(x):
        return torch.cond(
            x.sum() > 0,
            lambda a: (a + 1, None, {"n": 3}),
            lambda a: (a - 1, None, {"n": 3}),
            (x,),
        )

    compiled = magneto.compile(program, backend="aot_eager", fullgraph=True)
    for x, expected in ((X + 1, X + 2), (X - 1, X - 2)):
        out, none, data = compiled(x)
        assert torch.equal(out, expected)
        assert none is None
        assert data == {"n": 3}


# PyTorch leaves its frame hook where it is when its own torch.cond fails, so a
# process of its own.
BRANCHES_DONT_FIT = """
import sys
import torch
import magneto

def program(x):
    return torch.cond(x.sum() > 0, lambda a: (a + 1,), lambda a: [a], (x,))

def depth(x, levels):
    return x if levels == 0 else depth(x, levels - 1) + 1

x = torch.ones(2)
for function in (program, magneto.compile(program, backend="eager")):
    try:
        function(x)
    except torch._dynamo.exc.UncapturedHigherOrderOpError:
        print("raised")
sys.setrecursionlimit(200_000)
deep = magneto.compile(depth, backend="eager")(x, 30_000)
assert torch.equal(deep, torch.full((2,), 30_001.0))
"""


def test_plain_python_raises_where_branches_dont_fit():
    done = subprocess.run(
        [sys.executable, "-c", BRANCHES_DONT_FIT],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "raised\nraised\n"), (
        done.stderr
    )
