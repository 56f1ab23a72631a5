# SPDX-License-Identifier: BSD-3-Clause
"""random.Random: generators that the program makes itself, passes and returns."""

from __future__ import annotations

import _random
import collections
import dataclasses
import random

import pytest
import torch

import magneto
from magneto.testing import compare
from support.under_backends import check_under

X = torch.arange(1.0, 7.0).reshape(2, 3)


class Plain:
    pass


class Named:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


class Shown:
    def __str__(self):
        return "<" + super().__str__() + ">"


PLAIN, SHOWN, OBJECT = Plain(), Shown(), object()
ENTRIES: dict[str, int] = {}


def counts_by_text(x, thing):
    key = f"{thing!r}:count"
    return x + len(key.split(":")), key


def inner_class():
    class Inner:
        pass

    return Inner()


INNER = inner_class()

TEXTS = {
    "str": lambda x: (x + 1, str(PLAIN)),
    "repr": lambda x: (x + 1, repr(PLAIN)),
    "in an f-string": lambda x: (x + 1, f"{PLAIN} and {PLAIN!r}"),
    "format": lambda x: (x + 1, format(PLAIN), "{}".format(PLAIN)),
    "percent": lambda x: (x + 1, "%s %r" % (PLAIN, PLAIN)),
    "its length": lambda x: x + len(str(PLAIN)),
    "super's": lambda x: (x + 1, str(SHOWN), repr(SHOWN)),
    "by hand": lambda x: (x + 1, object.__repr__(PLAIN), object.__str__(SHOWN)),
    "of a number": lambda x: (x + 1, object.__repr__(x.dim())[:11]),
    "plain object": lambda x: (x + 1, str(OBJECT)),
    "local class": lambda x: (x + 1, str(INNER)),
    "in a list": lambda x: (x + 1, str([PLAIN, (PLAIN,), {"a": PLAIN}])),
    "decides": lambda x: x + 1 if "Plain object" in str(PLAIN) else x - 1,
}


def graphs_of(program, *calls, backend="eager", **options):
    """How many graphs all calls make, each with the results of plain Python."""
    magneto.reset()
    compiled = magneto.compile(program, backend=backend, **options)
    before = magneto.stats()["graphs"]
    for given in calls:
        compare(program(*given), compiled(*given))
    return magneto.stats()["graphs"] - before


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", TEXTS.values(), ids=TEXTS)
def test_text_with_an_address(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_one_graph_for_texts_of_all_objects(backend):
    things = [Plain() for _ in range(4)]
    calls = [(X, thing) for thing in things]
    program = lambda x, thing: (x + 1, f"{thing}")
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1
    assert graphs_of(counts_by_text, *calls, backend=backend) <= 4


def test_text_knows_of_another_name_of_the_class():
    class Renamed:
        pass

    thing = Renamed()
    program = lambda x: (x + 1, str(thing))
    compiled = magneto.compile(program, backend="eager")
    compare(program(X), compiled(X))
    Renamed.__qualname__ = "Other"
    compare(program(X), compiled(X))
    Renamed.__module__ = "elsewhere"
    compare(program(X), compiled(X))
    Renamed.__repr__ = lambda self: "mine"
    compare(program(X), compiled(X))


def test_text_of_what_the_trace_makes():
    def program(x):
        return x + len(str(Plain()).split("0x")[0])

    compare(program(X), magneto.compile(program, backend="eager")(X))


# -- generators of random numbers ----------------------------------------------


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


# -- classes made on the way ---------------------------------------------------


def replaced(x):
    Pair = collections.namedtuple("Pair", ["a", "b"], defaults=(4,))
    pair = Pair(x)._replace(a=x + 1)
    a, b = pair
    return a * b + len(pair), pair._asdict(), Pair._fields


def two_alike(x):
    A = collections.namedtuple("A", "v")
    B = collections.namedtuple("A", "v")
    return x + (A is B) + isinstance(A(1), B) + (A(1) == B(1))


def shown(x):
    Pair = collections.namedtuple("Pair", "a b", module="somewhere")
    return x + 1, str(Pair(1, 2)), Pair.__module__, Pair.__name__


def renamed(x):
    Pair = collections.namedtuple("Pair", "a def a", rename=True)
    return x + Pair(1, 2, 3)._1


def refused(x):
    try:
        collections.namedtuple("Pair", "a def")
    except ValueError as error:
        return x + len(str(error))


def matched(x):
    Pair = collections.namedtuple("Pair", "a b")
    match Pair(x, 3):
        case Pair(a=a, b=3):
            return a * 2
    return x


NAMED = {
    "fields": lambda x: collections.namedtuple("P", "a b")(x, 2).a * 2,
    "module": lambda x: (x + 1, collections.namedtuple("P", "a").__module__),
    "replaced": replaced,
    "two alike": two_alike,
    "shown": shown,
    "renamed": renamed,
    "refused": refused,
    "matched": matched,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", NAMED.values(), ids=NAMED)
def test_named_tuples_made_on_the_way(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_each_call_has_a_class_of_its_own(backend):
    def program(x):
        Pair = collections.namedtuple("Pair", "a b")
        return Pair(x + 1, Pair(2, 3)), Pair, type(Pair(1, 2))

    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    seen = []
    for _ in range(3):
        pair, cls, again = compiled(X)
        assert type(pair) is cls is again is type(pair.b)
        assert cls.__module__ == __name__
        assert cls._fields == ("a", "b")
        compare(pair.a, X + 1)
        seen.append(cls)
    assert len(set(seen)) == 3


def test_class_that_is_written_to():
    def program(x):
        Pair = collections.namedtuple("Pair", "a b")
        Pair.sum = lambda self: self.a + self.b
        Pair.__doc__ = "two"
        return Pair(x, 1).sum(), Pair.__doc__

    graphs_of(program, (X,), (X + 1,))


# -- dataclasses as arguments --------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Scale:
    a: torch.Tensor
    b: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    a: torch.Tensor
    b: int = 2


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Scale
    items: list
    by_name: dict = dataclasses.field(kw_only=True)


@dataclasses.dataclass(frozen=True)
class Computed:
    a: torch.Tensor
    b: int = 2

    def __post_init__(self):
        object.__setattr__(self, "c", self.b * 2)


@dataclasses.dataclass
class Changing:
    a: torch.Tensor
    b: int = 2


class Derived(Scale):
    pass


@torch.compiler.allow_in_graph
def scaled(scale, x):
    return scale.a * scale.b + x


@torch.compiler.allow_in_graph
def of_nested(outer):
    return outer.inner.a * outer.items[0] + outer.by_name["x"]


@torch.compiler.allow_in_graph
def writes(scale):
    scale.a.add_(1)
    return scale.a * 1


@torch.compiler.allow_in_graph
def same(scale):
    return scale


@torch.compiler.allow_in_graph
def another(scale):
    return Scale(scale.a * 2, scale.b)


@torch.compiler.allow_in_graph
def holder(x):
    made = Plain()
    made.value = [x * 2]
    return made


CALLERS = Scale(torch.ones(2, 3), 5)

WHOLE = {
    "made": lambda x: scaled(Scale(x, 3), x),
    "default": lambda x: scaled(Scale(x * 2), x),
    "keyword": lambda x: scaled(x=x, scale=Scale(a=x)),
    "slots": lambda x: scaled(Slots(x), x),
    "size": lambda x: scaled(Scale(x, x.shape[0]), x),
    "nested": lambda x: of_nested(
        Outer(Scale(x, 1), [x + 1, 2], by_name={"x": x})
    ),
    "of the caller": lambda x: scaled(CALLERS, x),
    "given back": lambda x: same(Scale(x, 3)).a + 1,
    "written to": lambda x: (writes(Scale(x.clone(), 3)), x),
}
BROKEN = {
    "another given": lambda x: another(Scale(x, 3)).a + 1,
    "object given": lambda x: holder(x).value[0] + 1,
    "with a method behind": lambda x: scaled(Computed(x), x),
    "that changes": lambda x: scaled(Changing(x), x),
    "derived": lambda x: scaled(Derived(x), x),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", WHOLE.values(), ids=WHOLE)
def test_frozen_dataclass_for_a_marked_function(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


@pytest.mark.parametrize("program", BROKEN.values(), ids=BROKEN)
def test_other_objects_end_the_graph(program):
    graphs_of(program, (X,), (X + 1,))


def test_gradients_through_a_dataclass():
    def program(x):
        return scaled(Scale(x * 2, 3), x).sum()

    for backend in ("eager", "aot_eager"):
        results = []
        for function in (program, magneto.compile(program, backend=backend)):
            x = X.clone().requires_grad_()
            function(x).backward()
            results.append(x.grad)
        compare(*results)


# -- settings of torch's -------------------------------------------------------


def asks_for_determinism(x):
    torch.use_deterministic_algorithms(True)
    return x + torch.are_deterministic_algorithms_enabled()


def asks_to_warn(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    return x + torch.is_deterministic_algorithms_warn_only_enabled()


def filled(x):
    torch.use_deterministic_algorithms(True)
    made = torch.empty(3)
    torch.use_deterministic_algorithms(False)
    return x + 1, made.isnan()


@pytest.fixture
def restored():
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [asks_for_determinism, asks_to_warn, filled]
)
def test_determinism_is_asked_for(program, backend, restored):
    compiled = magneto.compile(program, backend=backend)
    for _ in range(3):
        results = []
        for function in (program, compiled):
            torch.use_deterministic_algorithms(False)
            results.append((function(X), torch.get_deterministic_debug_mode()))
        compare(*results)


@pytest.mark.parametrize("program", [asks_for_determinism, asks_to_warn])
def test_determinism_that_is_there_already(program, restored):
    program(X)
    assert graphs_of(program, (X,), (X + 1,), fullgraph=True) == 1


# -- what torch.compile breaks at, too -----------------------------------------

STATES = {
    "manual_seed": lambda x: (torch.manual_seed(3), x + torch.rand(2, 3))[1],
    "of torch.random": lambda x: (
        torch.random.manual_seed(3),
        x + torch.rand(2, 3),
        torch.rand(2),
    )[1:],
    "between draws": lambda x: (
        torch.rand(2),
        torch.manual_seed(5) and torch.rand(2),
        torch.rand(2) + x.sum(),
    ),
    "state": lambda x: (
        state := torch.get_rng_state(),
        torch.rand(2),
        torch.set_rng_state(state),
        torch.rand(2) * x.sum(),
    )[1::2],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", STATES.values(), ids=STATES)
def test_draws_behind_a_seed(program, backend):
    check_under(backend, program, X, calls=3)
