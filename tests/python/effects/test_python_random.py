# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that a program draws with Python's `random`: they are drawn when the
guards hold, in the program's order, and the graph takes them as numbers.
"""

import random

import pytest
import torch
from torch.nn import functional as F

import magneto
from magneto.testing import check
from magneto.testing.graphs import RecordingBackend

X = torch.arange(12.0).reshape(3, 4)


def name_of(value):
    return getattr(value, "__name__", "")


def scaled(x):
    return x * random.random()


def shifted(x):
    return x + random.uniform(-2, 3.5) - random.uniform(1.5, 1.5)


def of_ints(x):
    return x * random.randint(-3, 7), random.randrange(2, 40, 3)


def from_zero(x):
    return x + random.randrange(5)


def bits(x):
    return x + random.getrandbits(12), random.getrandbits(1)


def in_order(x):
    return [random.random(), random.randint(0, 9), random.random()], x + 1


def unused(x):
    random.random()
    return x + random.random()


def without_graph(x):
    return random.random()


def written(x):
    return f"{random.randint(1, 6)} and {random.random():.3f}", x * 2


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = 0.0
        self.seen = []

    def forward(self, x):
        self.last = random.random()
        self.seen.append(random.randint(1, 3))
        return x * self.last + self.seen[-1]


def in_a_module(x, layer):
    return layer(layer(x))


def in_a_generator(x):
    return sum(x * random.random() for _ in range(3))


def in_a_try(x):
    try:
        y = x * random.random()
        raise ValueError(y.shape)
    except ValueError:
        return y + random.random()


def in_a_list(x):
    scales = [random.random() for _ in range(4)]
    return x * max(1, len(scales)), scales


def dropped_out(x):
    return F.dropout(x * random.random(), 0.5) + random.random()


def caught(x, generator):
    noise = [generator.uniform(0, 1) for _ in range(2)]
    return x * noise[0] + noise[1], generator.randint(0, 3)


WHOLE = [
    (scaled, ()),
    (shifted, ()),
    (of_ints, ()),
    (from_zero, ()),
    (bits, ()),
    (in_order, ()),
    (unused, ()),
    (written, ()),
    (in_a_module, (Layer(),)),
    (in_a_generator, ()),
    (in_a_try, ()),
    (in_a_list, ()),
    (dropped_out, ()),
    (caught, (random.Random(5),)),
]


@pytest.mark.parametrize(("program", "more"), WHOLE, ids=name_of)
def test_draws_are_traced(program, more):
    check(program, X, *more, calls=4, fullgraph=True, graphs=1, recompiles=0)


@pytest.mark.parametrize("program", [scaled, of_ints, in_order, bits])
def test_compilers_take_draws(program):
    compiled = magneto.compile(program, backend="inductor", fullgraph=True)
    for seed in range(3):
        random.seed(seed)
        wanted = program(X), random.getstate()
        random.seed(seed)
        torch.testing.assert_close((compiled(X), random.getstate()), wanted)


def test_draws_alone_need_no_graph():
    check(without_graph, X, fullgraph=True, graphs=0)


def branch(x):
    y = x + 1
    if random.random() < 0.5:
        return y * 2
    return y - 1


def stochastic_depth(x, layers):
    for layer in layers:
        if random.random() < 0.3:
            continue
        x = layer(x)
    return x


def looked_at(x):
    n = random.randint(1, 4)
    return x[:, :n].sum(), [x] * n, "abcd"[n - 1]


def cropped(x):
    i = random.randint(0, 2)
    return x[:, i : i + 2] + 1


def chosen(x):
    return random.choice([x, x + 1, x + 2]) * 2


def shuffled(x):
    items = [1, 2, 3, 4]
    random.shuffle(items)
    return x * items[0], items, random.sample(items, 2), random.random()


def distributions(x):
    return (
        x * random.gauss(0, 1) + random.betavariate(1, 2),
        random.expovariate(2.0) + random.triangular(0, 1),
        random.normalvariate(0, 1),
    )


def seeded(x):
    random.seed(3)
    y = x * random.random()
    state = random.getstate()
    a = random.random()
    random.setstate(state)
    return y, a, random.random()


def made_here(x):
    generator = random.Random(4)
    return x * generator.random(), generator.randint(1, 3)


def too_large(x):
    return x + 1, random.getrandbits(61) * 12345678901


def divided(x):
    return x, 1 // random.randint(0, 1)


def divided_in_a_try(x):
    y = x * random.random()
    try:
        return y, 1 // random.randint(0, 1)
    except ZeroDivisionError:
        return y, random.random()


def asserted(x):
    u = random.random()
    assert u < 0.4, "too large"
    return x * u + random.random()


def fails_in_the_graph(x):
    u = random.random()
    i = (x.sum() * 0 + 7).long()
    try:
        return x[i] * u
    except IndexError:
        return x + random.random()


class Subclass(random.Random):
    def random(self):
        return super().random() / 2


class Counting(random.Random):
    count = 0

    def getrandbits(self, k):
        self.count += 1
        return super().getrandbits(k)


def of_a_subclass(x, generator):
    return x * generator.random(), generator.uniform(1, 2)


def of_a_counting_one(x, generator):
    return x * generator.randint(1, 9), generator.count


def of_the_system(x):
    generator = random.SystemRandom()
    return x * int(0 <= generator.random() < 1)


def as_an_attribute(x, generator):
    generator.label = random.randint(1, 5)
    return x * generator.random() + generator.label


def by_two_names(x, a, b):
    return x * a.random() + b.random() * 2 - a.random()


SAME = random.Random(11)
ANY = [
    (branch, ()),
    (stochastic_depth, ([torch.nn.Linear(4, 4) for _ in range(6)],)),
    (looked_at, ()),
    (cropped, ()),
    (chosen, ()),
    (shuffled, ()),
    (distributions, ()),
    (seeded, ()),
    (made_here, ()),
    (too_large, ()),
    (divided, ()),
    (divided_in_a_try, ()),
    (asserted, ()),
    (fails_in_the_graph, ()),
    (of_a_subclass, (Subclass(3),)),
    (of_a_counting_one, (Counting(3),)),
    (of_the_system, ()),
    (as_an_attribute, (random.Random(1),)),
    (by_two_names, (SAME, SAME)),
    (by_two_names, (random.Random(1), random.Random(2))),
]


@pytest.mark.parametrize(("program", "more"), ANY, ids=name_of)
def test_what_comes_of_draws_is_as_in_eager(program, more):
    check(program, X, *more, calls=8)


def test_a_branch_costs_one_break():
    check(branch, X, calls=8, graphs=3)


def test_the_graph_takes_them_as_numbers():
    backend = RecordingBackend()
    random.seed(0)
    magneto.compile(of_ints, backend=backend, fullgraph=True)(X)
    (graph,) = backend.graphs
    assert [node.op for node in graph.graph.nodes].count("placeholder") == 2


def test_compiling_draws_nothing():
    compiled = magneto.compile(scaled, backend="eager", fullgraph=True)
    random.seed(7)
    first = compiled(X)
    random.seed(7)
    assert torch.equal(first, X * random.random())


@pytest.mark.parametrize("dynamic", [False, True])
def test_another_generator_is_no_recompilation(dynamic):
    compiled = magneto.compile(
        caught, backend="eager", fullgraph=True, dynamic=dynamic
    )
    for seed in range(4):
        ours, eagers = random.Random(seed), random.Random(seed)
        got, wanted = compiled(X, ours), caught(X, eagers)
        assert torch.equal(got[0], wanted[0])
        assert got[1] == wanted[1]
        assert ours.getstate() == eagers.getstate()


def test_the_reason_of_a_break_names_the_draw():
    report = magneto.explain(branch)(X)
    assert "random() < 0.5 depends on a random number" in str(report)
