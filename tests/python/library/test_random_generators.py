# SPDX-License-Identifier: BSD-3-Clause
"""random.Random: generators that the program makes itself, passes and returns."""

from __future__ import annotations

import _random
import random
import time

import pytest
import torch

import magneto
from magneto.testing import compare
from support.compiled_calls import graphs_of

X = torch.arange(1.0, 7.0).reshape(2, 3)


class Dice(random.Random):
    def throw(self):
        return self.randint(1, 6)


class Unseeded(random.Random):
    def __init__(self, n):
        self.n = n


class SeededElsewhere(random.Random):
    def __init__(self, n):
        super().__init__(n * 2)

    def seed(self, a=None, version=2):
        super().seed(a + 1)


class Halved(random.Random):
    def random(self):
        return super().random() / 2


def loop(x):
    draw = random.Random(3)
    for _ in range(5):
        x = x * draw.random() + draw.choice((1, 2, 3))
    return x


def shuffled(x):
    order = list(range(6))
    random.Random("abc").shuffle(order)
    return x.flatten()[order]


def gone_on_with(x):
    draw = random.Random(5)
    first = draw.random()
    state = draw.getstate()
    second = draw.gauss(0, 1)
    draw.setstate(state)
    return x * first, second, draw.gauss(0, 1), draw.gauss(0, 1)


def seeded_again(x):
    draw = random.Random(5)
    a = draw.random()
    draw.seed(5)
    return x + (a == draw.random())


def behind_a_break(x):
    draw = random.Random(5)
    a = draw.random()
    print(end="")
    torch._dynamo.graph_break()
    return x * a * draw.random()


def given_back(x):
    draw = random.Random(9)
    draw.gauss(0, 1)
    return x * draw.random(), [draw.gauss(0, 1), draw.random()]


def refused_seed(x):
    try:
        random.Random([1])
    except TypeError as error:
        return x + 1, str(error)


def refused_state(x):
    draw = random.Random(1)
    try:
        draw.setstate((3, (1, 2), None))
    except ValueError as error:
        return x * draw.random(), str(error)


def caught(x):
    try:
        random.Random(3).randint(5, 1)
    except ValueError as error:
        return x + len(str(error))


def undone(x):
    draw = random.Random(3)
    try:
        draw.random()
        draw.sample([1, 2], 3)
    except ValueError:
        pass
    return x * draw.random()


DRAWS = {
    "random": lambda x: x * random.Random(4).random(),
    "keyword": lambda x: x * random.Random(x=4).random(),
    "text": lambda x: x * random.Random("seed").random(),
    "bytes": lambda x: x * random.Random(b"seed").random(),
    "float": lambda x: x * random.Random(2.5).random(),
    "bool": lambda x: x * random.Random(True).random(),
    "large": lambda x: x * random.Random(-(10**40)).random(),
    "of a size": lambda x: x * random.Random(x.shape[1]).random(),
    "uniform": lambda x: x * random.Random(4).uniform(-1, 1),
    "randint": lambda x: x + random.Random(4).randint(0, 100),
    "randrange": lambda x: x + random.Random(4).randrange(0, 100, 7),
    "getrandbits": lambda x: (x + 1, random.Random(4).getrandbits(200)),
    "choice": lambda x: x + random.Random(4).choice([1, 2, 3]),
    "choices": lambda x: x + sum(random.Random(4).choices([1, 2, 3], k=4)),
    "sample": lambda x: (x + 1, random.Random(4).sample(range(50), 5)),
    "gauss": lambda x: x * random.Random(4).gauss(0, 1),
    "normal": lambda x: x * random.Random(4).normalvariate(0, 1),
    "others": lambda x: (
        x * random.Random(4).expovariate(2),
        random.Random(4).betavariate(1, 2),
        random.Random(4).gammavariate(1, 2),
        random.Random(4).lognormvariate(0, 1),
        random.Random(4).triangular(0, 1),
        random.Random(4).randbytes(5),
    ),
    "derived": lambda x: x + Dice(4).throw(),
    "derived with its own random": lambda x: x * Halved(4).uniform(0, 3),
    "unseeded": lambda x: x + Unseeded(3).random(),
    "seeded elsewhere": lambda x: x + SeededElsewhere(3).random(),
    "in C": lambda x: x + _random.Random(3).random(),
    "refused seed": refused_seed,
    "refused state": refused_state,
    "loop": loop,
    "shuffle": shuffled,
    "state": gone_on_with,
    "seeded again": seeded_again,
    "given back": given_back,
    "caught": caught,
    "undone": undone,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", DRAWS.values(), ids=DRAWS)
def test_generator_made_on_the_way(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


def test_generator_lives_on():
    def program(x):
        draw = Dice(9)
        draw.gauss(0, 1)
        return x * draw.random(), draw

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        (a, mine), (b, other) = program(X), compiled(X)
        compare(a, b)
        assert type(other) is Dice
        assert mine.getstate() == other.getstate()
        assert [mine.gauss(0, 1), mine.random()] == [
            other.gauss(0, 1),
            other.random(),
        ]


def test_generator_behind_a_break():
    assert graphs_of(behind_a_break, (X,), (X + 1,)) == 1


def test_generator_that_the_system_seeds():
    def program(x, draw=None):
        draw = random.Random()
        return x + 1, draw.random(), random.SystemRandom().random()

    compiled = magneto.compile(program, backend="eager")
    drawn = {compiled(X)[1:] for _ in range(4)}
    assert len(drawn) == 4


def test_seed_that_varies():
    program = lambda x, n: x * random.Random(n).random()
    graphs_of(program, *[(X, n) for n in (1, 2, 3, 2, 1)])


def test_generators_of_the_caller_stay_what_they_are():
    def program(x, draw):
        return x * draw.random() + draw.choice([1, 2, 3])

    compiled = magneto.compile(program, backend="eager")
    mine, other = random.Random(3), random.Random(3)
    for _ in range(3):
        compare(program(X, mine), compiled(X, other))
    assert mine.getstate() == other.getstate()


def test_many_random_numbers_take_no_time_to_compile():
    def program(x, draw, count):
        hits = sum(draw.randrange(1 << 52) % 3 == 2 for _ in range(count))
        return x + hits

    compiled = magneto.compile(program, backend="eager")
    mine, other = random.Random(3), random.Random(3)
    start = time.perf_counter()
    compare(program(X, mine, 50_000), compiled(X, other, 50_000))
    # Without a limit on numbers that aren't known this takes minutes.
    assert time.perf_counter() - start < 30
    assert mine.getstate() == other.getstate()
