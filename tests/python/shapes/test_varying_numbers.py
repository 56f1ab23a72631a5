# SPDX-License-Identifier: BSD-3-Clause
"""Ints and floats of the caller's that vary: inputs of the graph."""

from __future__ import annotations

import math
import operator

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.varying_calls import calls_of, x


def test_a_number_that_varies_becomes_an_input():
    def f(t, n):
        return t * n + n, n * 2, t.reshape(n, -1) if t.numel() % n == 0 else t

    check_calls(
        f,
        calls_of(*((x(4, 6), n) for n in (2, 3, 4, 6, 12, 8))),
        recompiles=1,
        fullgraph=True,
    )


def test_a_counter_on_a_module():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 2

        def forward(self, t):
            self.count += 1
            return t * self.count

    check_calls(Counter(), calls_of(*[x(3)] * 6), recompiles=1, fullgraph=True)


def test_a_number_of_more_than_64_bits():
    def f(t, n):
        return t + 1, n + 1

    check_calls(f, calls_of(*((x(2), n) for n in (5, 6, 2**70, 7, -3))))


def test_bools_and_numbers_are_told_apart():
    def f(t, n):
        return t * n, n

    check_calls(f, calls_of(*((x(2), n) for n in (5, 6, True, 1, 0, False, 7))))


def test_a_float_that_varies_becomes_an_input():
    def f(t, s):
        return t * s + s / 2, s - 1.0, s > 0.5, t.clamp(max=s)

    values = (0.5, 0.25, 3.0, 1.0, 0.0, 1e30, 1e-300, -2.5)
    for dynamic in (None, True):
        magneto.reset()
        check_calls(
            f,
            calls_of(*((x(4), s) for s in values)),
            recompiles=0 if dynamic else 1,
            dynamic=dynamic,
            fullgraph=True,
        )


def test_floats_that_are_special():
    def f(t, s):
        return t * s, s, math.copysign(1.0, s) if s == 0.0 else 2.0

    inf, nan = math.inf, math.nan
    values = (0.5, 0.25, 0.0, -0.0, 0.0, inf, -inf, nan, 1, True, 0.75)
    for dynamic in (None, True):
        magneto.reset()
        check_calls(f, calls_of(*((x(4), s) for s in values)), dynamic=dynamic)


def test_a_float_on_a_module():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 0.5
            self.eps = 1e-5

        def forward(self, t):
            self.scale = self.scale * 0.9
            return torch.nn.functional.layer_norm(t, (3,), eps=self.eps) * (
                self.scale + 1
            )

    check_calls(Scaled(), calls_of(*[x(3)] * 6), recompiles=1, fullgraph=True)


def with_all_arguments(*args):
    return torch.ones(3) * args[0] + args[1]


@torch.no_grad()
def behind_a_decorator(n, s):
    return torch.ones(n) * s


def with_a_shape(t, shape):
    return t.expand(shape) + shape[0]


def with_nested_numbers(t, numbers):
    (a, b), c = numbers
    return t * a + b * c


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (with_all_arguments, [(2, 0.5), (3, 1.5), (4, 2.5), (5, 0.25)]),
        (behind_a_decorator, [(2, 0.5), (3, 1.5), (4, 2.5), (5, 0.25)]),
        (with_a_shape, [(x(1), (n, 4)) for n in (2, 3, 7, 5)]),
        (with_nested_numbers, [(x(2), ((n, 3), n + 1)) for n in (4, 5, 9, 7)]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_in_tuples_vary(program, calls, dynamic):
    check_calls(
        program,
        calls_of(*calls),
        recompiles=0 if dynamic else 1,
        dynamic=dynamic,
        fullgraph=True,
    )


def test_the_graph_takes_a_float():
    def f(t, s):
        return t * s

    report = check_calls(f, calls_of((x(3), 0.5), (x(3), 1.5)), dynamic=True)
    (gm,) = report.graphs
    names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
    assert names == ["l_t_", "l_s_", "s0"]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_pytorchs_compilers_get_floats(backend):
    def f(t, w, s):
        return (t @ w * s + s).relu() / (s + 2), s * 2

    magneto.reset()
    compiled = magneto.compile(f, backend=backend, dynamic=True)
    w = torch.ones(4, 3, requires_grad=True)
    before = magneto.stats()["recompiles"]
    for s in (0.5, 0.25, 0.5, 0.0, -0.0, 2.0):
        expected, got = f(x(4), w, s), compiled(x(4), w, s)
        torch.testing.assert_close(got, expected)
        assert math.copysign(1.0, got[1]) == math.copysign(1.0, expected[1])
        gradients = [
            torch.autograd.grad(result[0].sum(), w)
            for result in (got, expected)
        ]
        torch.testing.assert_close(*gradients)
    assert magneto.stats()["recompiles"] == before


@pytest.mark.parametrize(
    ("program", "needs_numbers"),
    [
        (lambda t, s: torch.arange(s), False),
        (lambda t, s: torch.arange(end=s), False),
        (lambda t, s: torch.arange(0, s, 0.3), False),
        (lambda t, s: torch.arange(s, 0, -0.5), False),
        (lambda t, s: torch.arange(-s, s, dtype=torch.float64), False),
        (lambda t, s: torch.arange(0, s, dtype=torch.int64), True),
        (lambda t, s: torch.arange(0, s, dtype=torch.float16), True),
        (lambda t, s: torch.arange(0, 5, s), True),
    ],
)
def test_ranges_of_floats(program, needs_numbers):
    magneto.reset()
    floats = (2.5, 3.25, 7.0, 9.5, 5.9)
    check_calls(
        program,
        calls_of(*((x(2), s) for s in (*floats, 0.75, -2.5, 0.0))),
        dynamic=True,
    )
    magneto.reset()
    check_calls(
        program,
        calls_of(*((x(2), s) for s in floats)),
        dynamic=True,
        fullgraph=True,
        recompiles=4 if needs_numbers else 0,
    )


def test_positions_that_vary_select_once():
    def program(x, n):
        return str(x[n] * 1), str(x[n])

    x = torch.ones(6, 4, requires_grad=True)
    check_calls(program, [((x, n), {}) for n in (2, 3, 4, 5)])


def test_bools_of_sizes():
    def program(x):
        n = x.size(0)
        return x + 1, (n >= 4) ^ True, True ^ (n >= 4), (n >= 4) ^ (n > 2)

    for size in (2, 3, 5):
        check(program, torch.ones(size), dynamic=True)


def test_floats_are_no_indices():
    def program(x, number):
        y = x + 1
        try:
            return y, operator.index(number)
        except TypeError as error:
            return y, str(error)

    check(program, torch.arange(4.0), 2.5, dynamic=True)
