# SPDX-License-Identifier: BSD-3-Clause
"""while_loop, scan, map and associative_scan in the graph."""

import collections

import pytest
import torch
from torch import nn
from torch._higher_order_ops import associative_scan, map, scan, while_loop

import magneto
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import (
    check_whole,
    expect_break,
    name_of,
    with_gradients,
)

X = torch.linspace(-1, 1, 6).reshape(2, 3)
Y = torch.linspace(0.5, 2, 6).reshape(2, 3)
W = torch.linspace(-1, 1, 3)
Pair = collections.namedtuple("Pair", ["first", "second"])


# -- while_loop
def counts(x, y):
    count = torch.zeros((), dtype=torch.int64)
    return while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.sin() + y), (count, x)
    )


def until_large(x, y):
    def grow(a):
        return (a * 1.5 + W,)

    return while_loop(lambda a: a.abs().sum() < 20, grow, (x + y,))[0] * 2


def no_step(x, y):
    count = torch.full((), 9)
    return while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a * y), (count, x)
    )


def carries_an_int(x, y):
    i, out = while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a + i), (0, x * y)
    )
    return out + i


def carries_a_tree(x, y):
    def step(state, pair):
        return (
            {"n": state["n"] + 1, "h": state["h"] * y},
            Pair(pair.first + state["h"], pair.second.cos()),
        )

    state, pair = while_loop(
        lambda state, pair: state["n"] < 3,
        step,
        ({"n": torch.zeros((), dtype=torch.int64), "h": x}, Pair(y, x)),
    )
    assert type(pair) is Pair
    return state["h"], pair.first - pair.second


def a_loop_in_a_loop(x, y):
    def inner(i, a):
        j, b = while_loop(
            lambda j, b: j < 2, lambda j, b: (j + 1, b + y), (i - i, a)
        )
        return i + j, b * 0.5

    zero = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, a: i < 5, inner, (zero, x))[1]


def a_cond_in_a_loop(x, y):
    def step(i, a):
        return i + 1, torch.cond(
            a.sum() > 0, lambda b: b - 1, lambda b: b + y, (a,)
        )

    zero = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, a: i < 5, step, (zero, x))[1]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x, y):
        def step(i, h):
            return i + 1, self.cell(y, h)

        zero = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, h: i < 4, step, (zero, x))[1]


# -- scan
def running_sum(x, y):
    def add(carry, row):
        carry = carry + row
        return carry, carry * 2

    return scan(add, W, x + y)


def backwards_along_another(x, y):
    def step(carry, row):
        return carry * 0.5 + row, carry.sin() + row

    return scan(step, x.sum(1), y, dim=1, reverse=True)


def scans_a_tree(x, y):
    def step(carry, at):
        h = carry["h"] * at[0] + at[1]
        return {"h": h}, (h.sin(), {"sum": h.sum()})

    carry, (sines, sums) = scan(step, {"h": W}, (x, y))
    return carry["h"], sines, sums["sum"]


class Recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(3, 3)

    def forward(self, x, y):
        def step(h, row):
            h = torch.tanh(self.inner(h) + row)
            return h, h.clone()

        carry, all_of_them = scan(step, torch.zeros(3), x * y)
        return carry + all_of_them


# -- map
def maps_rows(x, y):
    return map(lambda row: row.sin() + W, x) * y


def maps_with_operands(x, y):
    return map(lambda row, b, s: (row[0] * b + row[1]).sum() * s, (x, y), W, 2)


def maps_to_a_tree(x, y):
    out = map(lambda row: {"a": row + 1, "b": (row.sum(),)}, x)
    return out["a"] * y, out["b"][0]


def a_map_in_a_map(x, y):
    return map(lambda row: map(lambda item: item * W, row), x) + y[0, 0]


# -- associative_scan
def generic_products(x, y):
    return associative_scan(
        lambda a, b: a * b, x + y, dim=1, combine_mode="generic"
    )


def generic_trees(x, y):
    def combine(a, b):
        return {"s": a["s"] * b["s"], "v": b["s"] * a["v"] + b["v"]}

    out = associative_scan(
        combine, {"s": x, "v": y}, dim=0, reverse=True, combine_mode="generic"
    )
    return out["s"], out["v"]


def of_the_operator_itself(x, y):
    (out,) = torch.ops.higher_order.associative_scan(
        lambda a, b: (a + b * 1,), (x,), ()
    )
    return out * y


WHOLE = [
    counts,
    until_large,
    no_step,
    carries_an_int,
    carries_a_tree,
    a_loop_in_a_loop,
    a_cond_in_a_loop,
    Decoder(),
    running_sum,
    backwards_along_another,
    scans_a_tree,
    Recurrence(),
    maps_rows,
    maps_with_operands,
    maps_to_a_tree,
    a_map_in_a_map,
    generic_products,
    generic_trees,
    of_the_operator_itself,
]
CALLS = [((X, Y), {}), ((X + 1, Y), {}), ((X - 1, Y), {})]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE, ids=name_of)
def test_in_one_graph(program, backend):
    with torch.no_grad():
        check_whole(program, CALLS, backend)


# What PyTorch's own operators don't differentiate: an int that is carried, and
# behind AOTAutograd a sum (its gradient is a view). The gradient of a loop that
# makes no step is zero there.
UNDIFFERENTIATED = {
    (no_step, "eager"),
    (carries_an_int, "eager"),
    (carries_an_int, "aot_eager"),
    (scans_a_tree, "aot_eager"),
}


@pytest.mark.parametrize(
    ("program", "backend"),
    [
        (program, backend)
        for program in WHOLE
        for backend in ("eager", "aot_eager")
        if (program, backend) not in UNDIFFERENTIATED
    ],
    ids=name_of,
)
def test_gradients(program, backend):
    check_whole(program, with_gradients(CALLS), backend, backward=True)


def test_gradients_of_a_loop_that_carries_an_int():
    """PyTorch's own while_loop refuses to differentiate it."""
    x, y, a, b = (each.clone().requires_grad_() for each in (X, Y, X, Y))
    compiled = magneto.compile(carries_an_int, backend="eager", fullgraph=True)
    compiled(x, y).sum().backward()
    (a * b + 0 + 1 + 2 + 3).sum().backward()
    assert torch.equal(x.grad, a.grad)
    assert torch.equal(y.grad, b.grad)


def test_gradients_of_a_loop_that_makes_no_step():
    x = X.clone().requires_grad_()
    compiled = magneto.compile(no_step, backend="eager", fullgraph=True)
    compiled(x, Y)[1].sum().backward()
    assert torch.equal(x.grad, torch.ones_like(X))


@pytest.mark.parametrize(
    "program", [until_large, running_sum, maps_rows, generic_products]
)
def test_behind_inductor(program):
    with torch.no_grad():
        check_whole(program, CALLS, "inductor")


# Not of programs whose operands share memory, which are copied here, or that
# compare ints: `i < 3` is `i <= 2`.
@pytest.mark.parametrize(
    "program",
    [
        counts,
        until_large,
        a_loop_in_a_loop,
        running_sum,
        backwards_along_another,
        scans_a_tree,
        maps_rows,
        maps_to_a_tree,
        a_map_in_a_map,
    ],
)
def test_the_graph_is_torch_compiles(program):
    assert magneto_graph_calls(program, X, Y) == torch_graph_calls(
        program, X, Y
    )


@pytest.mark.parametrize(
    "program",
    [
        counts,
        until_large,
        carries_an_int,
        a_cond_in_a_loop,
        running_sum,
        backwards_along_another,
        maps_rows,
        generic_products,
    ],
)
def test_sizes_that_vary(program):
    backend = RecordingBackend()
    compiled = magneto.compile(
        program, backend=backend, dynamic=True, fullgraph=True
    )
    for rows in (2, 3, 5):
        x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3)
        given = x, x.exp()
        expected = program(*given)
        actual = compiled(*given)
        if isinstance(expected, torch.Tensor):
            expected, actual = [expected], [actual]
        for a, b in zip(actual, expected, strict=True):
            torch.testing.assert_close(a, b)
    assert len(backend.graphs) == 1


def test_names_in_the_graph():
    backend = RecordingBackend()
    compiled = magneto.compile(a_loop_in_a_loop, backend=backend)
    compiled(X, Y)
    text = backend.graphs[0].print_readable(print_output=False)
    for name in ("cond_fn_0", "body_fn_0", "cond_fn_1", "body_fn_1"):
        assert f"{name} = self.{name}" in text


# What has no place in a graph: a program, and a part of what is said.
LOG = []


def loop(condition, step, *carried):
    return lambda x, y: while_loop(condition, step, (x * 1, *carried))[0] + y


def scanned(step):
    return lambda x, y: scan(step, x[0] * 1, y)


def mapped(function):
    return lambda x, y: map(function, x) + y


def logs(row):
    LOG.append(1)
    return row + 1


def breaks(row):
    row = row + 1
    magneto.graph_break()
    return row


REFUSED = {
    "shape": (
        loop(lambda a: a.sum() < 3, lambda a: (a[:1] + 1,)),
        r"torch.while_loop: carried\[0\] before and after a step: "
        r"float32\[2, 3\] and float32\[1, 3\]",
    ),
    "dtype": (
        loop(lambda a: a.sum() < 3, lambda a: (a.double(),)),
        r"float32\[2, 3\] and float64\[2, 3\]",
    ),
    "strides": (
        loop(lambda a: a.sum() < 3, lambda a: (a.t().contiguous().t() + 1,)),
        r"with strides \[3, 1\] and \[1, 2\]",
    ),
    "fewer": (
        loop(lambda a, n: n < 3, lambda a, n: (a + 1,), 0),
        "body_fn gives 1 values, where it is given 2",
    ),
    "more": (
        loop(lambda a: a.sum() < 3, lambda a: (a + 1, a + 2)),
        "body_fn gives more than is carried",
    ),
    "kind": (
        loop(lambda a, n: n < 3, lambda a, n: (a + 1, a.sum()), 0),
        r"carried\[1\] before and after a step",
    ),
    "forever": (
        loop(lambda a: True, lambda a: (a + 1,)),
        "cond_fn is always true",
    ),
    "condition": (
        loop(lambda a: a < 3, lambda a: (a + 1,)),
        r"cond_fn gives a bool\[2, 3\] tensor",
    ),
    "alias": (
        loop(lambda a, b: a.sum() < 3, lambda a, b: (b, a), torch.ones(2, 3)),
        r"output\[0\] of body_fn is an input",
    ),
    "write": (
        loop(lambda a: a.sum() < 3, lambda a: (a.add_(1) * 1,)),
        "body_fn writes to a tensor that it is given",
    ),
    "text": (
        loop(lambda a, n: a.sum() < 3, lambda a, n: (a + 1, n), "text"),
        "it carries 'text'",
    ),
    "scan of another carry": (
        scanned(lambda carry, row: (carry[:1] + 1, row + 1)),
        r"torch.scan: carried\[0\] before and after a step: "
        r"float32\[3\] and float32\[1\]",
    ),
    "scan that gives its carry": (
        scanned(lambda carry, row: ((new := carry + row), new)),
        r"output\[1\] of combine_fn is an input, or shares memory",
    ),
    "write from outside": (
        mapped(lambda row: W.add_(0) + row),
        "torch.map: f writes to a tensor that it takes from outside",
    ),
    "number": (mapped(lambda row: (row + 1, 3.5)), r"f gives 3.5"),
    "effect": (mapped(logs), r"f: it writes to list .*LOG"),
    "break": (mapped(breaks), r"asked-for.*test_loops.py:"),
    "raise": (mapped(lambda row: row.view(7)), "f raises RuntimeError"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_in_a_graph(name):
    program, said = REFUSED[name]
    expect_break(program, (X, Y), said)
    LOG.clear()
