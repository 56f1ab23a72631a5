# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks inside inlined calls: the callee goes on where it broke, then
its callers do; what came before the break is one graph, traced once.
"""

import dataclasses
import enum
import functools
import io
import sys
import traceback

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from magneto.testing.graphs import calls_in

X = torch.arange(4.0)


def broken(x, k=2):
    y = x * k
    magneto.graph_break()
    return y + k


def plain_call(x):
    y = x + 1
    return broken(y) * y


def keyword_call(x):
    y = x + 1
    return broken(k=3, x=y) * y


def star_call(x):
    args, options = (x + 1,), {"k": 5}
    return broken(*args, **options) * x


def star_call_without_keywords(x):
    args = (x + 1, 7)
    return broken(*args) * x


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return broken(x, self.k) * self.k

    def method(self, x):
        return self(x) + broken(x)

    @staticmethod
    def static(x):
        return broken(x) - 1

    @classmethod
    def klass(cls, x):
        return cls(4)(x)

    @property
    def doubled(self):
        magneto.graph_break()
        return self.k * 2

    def __add__(self, x):
        return broken(x) + self.k


def methods(x):
    scale = Scale(3)
    return scale.method(x), Scale.static(x), Scale.klass(x)


def calls_that_are_not_direct(x):
    scale = Scale(3)
    return (
        scale + x,
        x * scale.doubled,
        [broken(y) for y in (x, x + 1)],
        list(map(broken, [x, x + 2])),
        functools.reduce(lambda a, b: broken(a) + b, [x, x]),
        max([x], key=lambda y: magneto.graph_break() or 1),
    )


def closures(x):
    total = 0
    seen = []

    def add(y):
        nonlocal total
        total += 1
        z = y * total
        magneto.graph_break()
        seen.append(total)
        total += 10
        return z + total

    first = add(x)
    second = add(first)
    return first, second, total, seen


def cells_of_the_callee(x):
    def callee(y):
        k = 2

        def inner():
            nonlocal k
            k += 1
            return y * k

        a = inner()
        magneto.graph_break()
        return a + inner(), k

    return callee(x + 1)


def loops_in_callee_and_caller(x):
    def step(y):
        for i in range(3):
            y = y + i
            magneto.graph_break()
        return y

    for _ in range(2):
        x = step(x) * 2
    return x


def caught_by_the_caller(x):
    def fail(y):
        z = y + 1
        magneto.graph_break()
        raise ValueError(z.shape)

    def between(y):
        try:
            return fail(y)
        finally:
            notes.append("between")

    notes = []
    try:
        y = between(x * 2)
    except ValueError as error:
        notes.append(str(error))
        y = x - 1
    return y, notes


def contexts_in_callers(x):
    def callee(y):
        z = W * y
        magneto.graph_break()
        return z * W, torch.is_grad_enabled()

    def between(y):
        with torch.no_grad():
            return callee(y + 1)

    return between(x), torch.is_grad_enabled()


def recursion(x, depth=4):
    if depth == 0:
        magneto.graph_break()
        return x
    return recursion(x + depth, depth - 1) * 2


def deep(x, depth=60):
    if depth == 0:
        magneto.graph_break()
        return x
    return deep(x, depth - 1) + 1


def generator_around(x):
    def values():
        yield broken(x)
        yield broken(x + 1)

    return list(values())


def unsupported_in_one_branch(x, flag):
    def callee(y):
        if flag:
            magneto.graph_break()
        return y * 2

    return callee(x + 1) + 1


W = torch.ones(4, requires_grad=True)

PROGRAMS = [
    plain_call,
    keyword_call,
    star_call,
    star_call_without_keywords,
    methods,
    calls_that_are_not_direct,
    closures,
    cells_of_the_callee,
    loops_in_callee_and_caller,
    caught_by_the_caller,
    contexts_in_callers,
    recursion,
    deep,
    generator_around,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_break_in_a_call_gives_what_plain_python_gives(program):
    check(program, X, calls=3)


def test_branch_that_does_not_break_is_whole():
    check_calls(
        unsupported_in_one_branch,
        [((X, False), {}), ((X, True), {}), ((X, False), {})],
    )


@pytest.mark.parametrize(
    ("program", "graphs"),
    [
        (plain_call, 3),
        (keyword_call, 3),
        (star_call, 3),
        (star_call_without_keywords, 3),
        # All callers go on at the same place of the same code.
        (recursion, 2),
    ],
    ids=lambda p: getattr(p, "__name__", p),
)
def test_frames_share_the_graph_before_the_break(program, graphs):
    check(program, X, calls=2, graphs=graphs, graph_breaks=1)


class Block(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, scale=1):
        return self.inner(self.linear(x)) * scale


class Leaf(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        magneto.graph_break()
        return y + 1


class Failing(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        magneto.graph_break()
        raise ValueError(len(y))


def test_break_inside_of_nested_modules():
    net = Block(Block(Leaf()))
    report = check(net, X, calls=3, graph_breaks=1)
    # Down to the break, the leaf's rest, and that of both blocks, which go on
    # at the same place.
    assert len(report.graphs) == 3


def test_break_inside_of_modules_with_hooks():
    net = Block(Leaf())
    net.inner.register_forward_hook(lambda module, args, out: out * 3)
    check(net, X, calls=3)


def test_error_behind_a_break_in_modules_has_all_frames():
    check(Block(Block(Failing())), X, calls=2)


def test_training_through_a_break_inside_of_modules():
    check(Block(Block(Leaf())), X, calls=2, backward=True)


def test_callers_of_who_breaks_are_on_the_stack():
    @magneto.disable
    def look():
        names = []
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "outermost":
            names.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        assert frame is not None
        return names, [entry.name for entry in traceback.extract_stack()[-4:-1]]

    def inner(x):
        y = x + 1
        return y, look()

    def middle(x):
        y = inner(x * 2)
        return y

    def outermost(x):
        return middle(x + 1)

    check(outermost, X, calls=2)


def test_backend_sees_the_first_graph_only_once():
    graphs = []

    def backend(gm, inputs):
        graphs.append([node.target for node in gm.graph.nodes])
        return gm.forward

    magneto.compile(plain_call, backend=backend)(X)
    targets = [t for graph in graphs for t in graph if callable(t)]
    assert len(targets) == 4


# -- Functions of libraries are traced to their end or called in plain Python.


def makes_a_dataclass(x):
    y = x + 1
    pair = dataclasses.make_dataclass("Pair", ["a", "b"])
    return pair(y, 2).a * y


def makes_an_enum(x):
    y = x + 1
    return enum.Enum("Color", "RED GREEN").GREEN.value * y


def writes_to_a_file(x, file):
    y = x + 1
    torch.save(y, file)
    return y * 2


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        (makes_a_dataclass, ()),
        (makes_an_enum, ()),
        (writes_to_a_file, (io.BytesIO(),)),
    ],
)
def test_calls_of_library_functions_break_once(program, inputs):
    check(program, X, *inputs, calls=1, graph_breaks=1, graphs=2)


@functools.singledispatch
def dispatched(x):
    raise TypeError(x)


@dispatched.register(torch.Tensor)
def _(x):
    return broken(x + 1) * 2


def goes_through_a_library(x):
    y = x + 1
    return dispatched(y) * y


def test_what_libraries_call_is_compiled():
    report = check(goes_through_a_library, X, calls=2)
    names = [name for graph in report.graphs for _, name in calls_in(graph)]
    # In broken, behind it in its caller, and in the outermost function.
    assert names.count("operator.mul") == 3
