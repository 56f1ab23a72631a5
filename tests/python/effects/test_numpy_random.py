# SPDX-License-Identifier: BSD-3-Clause
"""Plain numbers that a program draws with numpy.random: they are drawn when the
guards hold, in the program's order, and the graph takes them as numbers.
"""

import random
import threading

import numpy as np
import pytest
import torch

import magneto
from magneto.testing import check
from support.expressions import check_error, check_expression, lines

X = torch.arange(12.0).reshape(3, 4)


def name_of(value):
    return getattr(value, "__name__", "")


def scaled(x):
    return x * np.random.rand()


def mixed_up(x):
    share = np.random.beta(0.4, 0.4)
    return x * share + x.flip(0) * (1 - share)


def noise(x):
    return x + np.random.normal(scale=0.1, loc=2) + np.random.randn()


def of_ints(x):
    return x * np.random.randint(3, 9), np.random.randint(5), "ok"


def in_order(x):
    drawn = [np.random.uniform(-1, 1), random.random(), np.random.poisson(3.0)]
    return drawn, x + torch.rand(4)


def unused(x):
    np.random.rand()
    return x + np.random.random_sample()


def of_a_generator(x, generator):
    return x * generator.random() + generator.normal(0, 1), generator.uniform()


def of_two(x, a, b):
    return x * a.random() + b.standard_normal() - a.random()


def of_a_state(x, state):
    return x * state.randn() + state.randn(), state.randint(1, 4)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = np.random.default_rng(3)
        self.last = 0.0

    def forward(self, x):
        self.last = self.generator.exponential(2.0)
        return x * self.last


def in_a_module(x, layer):
    return layer(layer(x))


SAME = np.random.default_rng(11)
WHOLE = [
    (scaled, ()),
    (mixed_up, ()),
    (noise, ()),
    (of_ints, ()),
    (in_order, ()),
    (unused, ()),
    (of_a_generator, (np.random.default_rng(5),)),
    (of_a_generator, (np.random.Generator(np.random.MT19937(2)),)),
    (of_a_generator, (np.random.Generator(np.random.Philox(2)),)),
    (of_a_generator, (np.random.Generator(np.random.SFC64(2)),)),
    (of_a_generator, (np.random.Generator(np.random.PCG64DXSM(2)),)),
    (of_a_state, (np.random.RandomState(2),)),
    (of_a_state, (np.random.RandomState(np.random.PCG64(2)),)),
    (of_two, (SAME, SAME)),
    (of_two, (np.random.default_rng(1), np.random.default_rng(2))),
    (in_a_module, (Layer(),)),
]


@pytest.mark.parametrize(("program", "more"), WHOLE, ids=name_of)
def test_draws_are_traced(program, more):
    check(program, X, *more, calls=4, fullgraph=True, graphs=1, recompiles=0)


NAMESPACE = {"np": np, "torch": torch}


@pytest.mark.parametrize(
    "expression",
    lines("""
    x * np.random.random(), x * np.random.chisquare(2), x * np.random.gamma(2.0), x * np.random.f(2, 3), x * np.random.gumbel(), x * np.random.laplace(), x * np.random.logistic(), x * np.random.lognormal(0, 0.5), x * np.random.pareto(3), x * np.random.power(2)
    x * np.random.rayleigh(), x * np.random.standard_cauchy(), x * np.random.standard_exponential(), x * np.random.standard_gamma(1), x * np.random.standard_normal(), x * np.random.standard_t(3), x * np.random.triangular(0, 1, 2), x * np.random.vonmises(0, 1), x * np.random.wald(1, 1), x * np.random.weibull(2), x * np.random.noncentral_chisquare(1, 2), x * np.random.noncentral_f(5, 6, 7)
    x * np.random.binomial(5, 0.5), x * np.random.geometric(0.3), x * np.random.hypergeometric(5, 6, 7), x * np.random.logseries(0.5), x * np.random.negative_binomial(3, 0.5), x * np.random.poisson(), x * np.random.zipf(3)
    x * np.random.uniform(high=3.0), x * np.random.normal(size=None)
    """),
)
def test_functions(expression):
    check_expression(expression, NAMESPACE)


@pytest.mark.parametrize(
    "expression",
    lines("""
    # Arrays, other kinds of numbers, what looks at a number
    np.random.rand(3).sum() > 0, np.random.permutation(4).tolist(), np.random.choice(5), np.random.choice([1, 2]), np.random.randint(4, size=2).tolist(), np.random.randint(4, dtype=np.int8), np.random.normal(np.zeros(2)).shape, np.random.ranf(), np.random.uniform(np.float32(1), 2) > 0
    [1, 2, 3, 4, 5][np.random.randint(5)], x.view(-1)[: np.random.randint(1, 5)], "a" if np.random.rand() < 0.5 else x + 1
    np.random.uniform("a", "b")
    np.random.RandomState.rand(3)
    int(np.random.default_rng(3).integers(4)), np.random.default_rng(3).random(), np.random.RandomState(4).rand()
    """),
)
def test_what_looks_at_a_draw_or_gives_no_plain_number(expression):
    program = eval(f"lambda x: (x + 1, {expression})", dict(NAMESPACE))
    check(program, torch.arange(3.0), calls=4)


@pytest.mark.parametrize(
    "expression",
    lines("""
    np.random.uniform(0, float("inf"))
    np.random.randint(3, 1)
    np.random.normal(0, -1)
    np.random.beta(-1, 2)
    np.random.randint()
    np.random.normal(nothing=3)
    np.random.RandomState.rand()
    """),
)
def test_errors(expression):
    check_error(expression, NAMESPACE)


def branch(x):
    y = x + 1
    return y * 2 if np.random.rand() < 0.5 else y - 1


def seeded(x):
    np.random.seed(3)
    y = x * np.random.rand()
    state = np.random.get_state()
    a = np.random.rand()
    np.random.set_state(state)
    return y, a, np.random.randn(), np.random.randn()


def shuffled(x):
    items = [1, 2, 3, 4]
    np.random.shuffle(items)
    return x * items[0] + np.random.rand(), items


def fails_in_the_graph(x):
    u = np.random.randn()
    i = (x.sum() * 0 + 7).long()
    try:
        return x[i] * u
    except IndexError:
        return x + np.random.randn()


def asserted(x):
    u = np.random.rand()
    assert u < 0.4, "too large"
    return x * u + np.random.rand()


def divided_in_a_try(x):
    y = x * np.random.rand()
    try:
        return y, 1 // np.random.randint(0, 2)
    except ZeroDivisionError:
        return y, np.random.rand()


class Halved(np.random.RandomState):
    def rand(self):
        return super().rand() / 2


def of_a_subclass(x, state):
    return x * state.rand() + state.randn()


ANY = [
    (branch, ()),
    (seeded, ()),
    (shuffled, ()),
    (fails_in_the_graph, ()),
    (asserted, ()),
    (divided_in_a_try, ()),
    (of_a_subclass, (Halved(3),)),
]


@pytest.mark.parametrize(("program", "more"), ANY, ids=name_of)
def test_what_comes_of_draws_is_as_in_eager(program, more):
    check(program, X, *more, calls=8)


def test_a_generator_that_another_thread_uses_is_waited_for():
    generator = np.random.default_rng(7)
    compiled = magneto.compile(of_a_generator, backend="eager", fullgraph=True)
    compiled(X, generator)
    is_taken, is_done = threading.Event(), threading.Event()

    def take():
        with generator.bit_generator.lock:
            is_taken.set()
            is_done.wait(5)

    other = threading.Thread(target=take)
    other.start()
    is_taken.wait()
    threading.Timer(0.1, is_done.set).start()
    wanted = np.random.default_rng(7)
    of_a_generator(X, wanted)
    torch.testing.assert_close(
        compiled(X, generator), of_a_generator(X, wanted)
    )
    other.join()
    assert generator.random() == wanted.random()


def test_threads_share_a_generator():
    """Each call draws once, whichever thread it is in."""
    generator = np.random.default_rng(7)
    compiled = magneto.compile(
        lambda x: x * generator.random(), backend="eager", fullgraph=True
    )

    def draw():
        for _ in range(500):
            compiled(X)

    def fill():
        for _ in range(50):
            generator.random(4000)

    threads = [threading.Thread(target=target) for target in [draw, fill] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = np.random.default_rng(7)
    wanted.random(3 * 500 + 3 * 50 * 4000)
    assert generator.random() == wanted.random()


def test_another_bit_generator_takes_its_place():
    compiled = magneto.compile(of_a_state, backend="eager", fullgraph=True)
    state, eagers = np.random.RandomState(1), np.random.RandomState(1)
    compiled(X, state), of_a_state(X, eagers)
    for each in (state, eagers):
        each.__init__(np.random.Philox(4))
    torch.testing.assert_close(compiled(X, state), of_a_state(X, eagers))


def test_compiling_draws_nothing():
    compiled = magneto.compile(scaled, backend="eager", fullgraph=True)
    np.random.seed(7)
    first = compiled(X)
    np.random.seed(7)
    assert torch.equal(first, X * np.random.rand())


def test_the_reason_of_a_break_names_the_draw():
    report = str(magneto.explain(branch)(X))
    assert "RandomState.rand < 0.5 depends on a random number" in report
