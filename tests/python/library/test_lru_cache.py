# SPDX-License-Identifier: BSD-3-Clause
"""functools.lru_cache: a traced call gives what the cache has, and fills the
cache as plain Python would.
"""

import functools

import pytest
import torch

import magneto
from magneto.testing import check, check_calls

X = torch.arange(12.0).reshape(3, 4)


class Recipe:
    def __init__(self, text):
        self.left, self.right = text.split("->")
        self.order = [self.left.index(c) for c in self.right]
        self.used = 0


@functools.lru_cache
def recipe(text):
    return Recipe(text)


@functools.lru_cache
def sizes_by(plan, shape, factor):
    """Lists and a dict, out of an object and numbers."""
    return [shape[i] for i in plan.order], {"factor": factor}, shape[0] * factor


@functools.lru_cache(maxsize=None)
def numbers_to(n):
    return [n, n + 1]


@functools.lru_cache
def squares(n):
    return {k: [k * k] for k in range(n)}


@functools.lru_cache
def mask(n):
    return torch.ones(n).cumsum(0)


@functools.lru_cache
def refuses(n):
    if n > 1:
        raise ValueError(f"{n} is too much")
    return Recipe("a->a")


SEEN = []


@functools.lru_cache
def with_an_effect(n):
    SEEN.append(n)
    return [n]


SETTINGS = {"scale": 2}


@functools.lru_cache
def of_settings(n):
    return [SETTINGS["scale"] * n]


class Keeper:
    def __init__(self):
        self.v = 3

    @functools.lru_cache
    def kept(self, n):
        return [self.v + n]


KEEPER = Keeper()


def transposed(x):
    plan = recipe("ab->ba")
    size, named, count = sizes_by(plan, x.shape, 2)
    return x.t().reshape(size) * named["factor"] + count


def one_object(x):
    return x + 1, recipe("ab->ba") is recipe("ab->ba"), recipe("a->a").order


def of_the_cache(x):
    return x + 1, recipe("ab->ab") is GIVEN


GIVEN = recipe("ab->ab")


def returned(x):
    return x + 1, recipe("ba->ab") is recipe("ba->ab"), numbers_to(7)


def changed(x):
    """Each call sees what the ones before did to the cached list."""
    items = numbers_to(100)
    items.append(len(items))
    return x + len(items), list(items)


def attribute_changed(x):
    plan = recipe("abc->cab")
    plan.used += 1
    return x * plan.used, plan.used


@functools.lru_cache(maxsize=None)
def numbers_of(n, m):
    return [n * m, 1]


def cached_list_is_changed(x):
    items = numbers_of(x.shape[0], 1000)
    items.append(1)
    return x + len(items)


def keyed(x):
    return x + {recipe("ab->ba"): 3}[recipe("ab->ba")]


def across_a_break(x):
    plan = recipe("ab->ba")
    y = x + len(plan.order)
    magneto.graph_break()
    return y * plan.order[0], recipe("ab->ba") is plan


def with_pending_writes(x):
    SETTINGS["scale"] = 5
    try:
        return x * of_settings(4)[0]
    finally:
        SETTINGS["scale"] = 2


def of_a_method(x):
    return x + KEEPER.kept(4)[0], KEEPER.kept(4) is KEEPER.kept(4)


def of_a_tensor(x):
    return x + mask(4), mask(4) is mask(4)


def raising(x):
    try:
        return x + len(refuses(5).order)
    except ValueError as error:
        return x, str(error)


def not_hashable(x):
    try:
        return recipe([1])
    except TypeError as error:
        return x + 1, str(error)


class Hashed:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        LOG.append("hashed")
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value


LOG = []


@functools.lru_cache
def first_of(pair):
    return pair[0]


@functools.lru_cache
def value_of(hashed):
    return hashed.value


def not_hashable_inside(x):
    noted = []
    for argument in [(1, [2]), ((1, {2}),), (Hashed([1]), 2)]:
        try:
            noted.append(first_of(argument))
        except TypeError as error:
            noted.append(str(error))
    return x + 1, noted


def hashed_by_the_program(x):
    LOG.clear()
    noted = [value_of(Hashed(3)), first_of((Hashed(4), 1)).value]
    return x + 1, noted, len(LOG)


@functools.lru_cache
def behind_another_name(n):
    return n + 1


behind_another_name.__wrapped__ = numbers_to


def of_another_function(x):
    return x + behind_another_name(3)


def in_each_other(x):
    @functools.lru_cache
    def outer(n):
        return [squares(n), numbers_to(n)]

    return x + outer(3)[0][2][0], outer(3) is outer(3)


def effects(x):
    return x + with_an_effect(2)[0] + with_an_effect(2)[0]


PROGRAMS = {
    f.__name__: (f, counts)
    for f, counts in (
        (transposed, {"graphs": 1, "graph_breaks": 0}),
        (one_object, {"graphs": 1, "graph_breaks": 0}),
        (of_the_cache, {"graphs": 1, "graph_breaks": 0}),
        (returned, {"graphs": 1, "graph_breaks": 0}),
        (keyed, {"graphs": 1}),
        (across_a_break, {"graphs": 2}),
        (with_pending_writes, {}),
        (of_a_method, {"graphs": 1, "graph_breaks": 0}),
        (of_a_tensor, {}),
        (raising, {"graphs": 0}),
        (not_hashable, {"graphs": 1}),
        (not_hashable_inside, {}),
        (hashed_by_the_program, {}),
        (of_another_function, {}),
        (in_each_other, {}),
        (effects, {}),
    )
}


@pytest.mark.parametrize(
    ("program", "counts"), PROGRAMS.values(), ids=PROGRAMS.keys()
)
def test_what_comes_out_of_a_cache(program, counts):
    check(program, X, **counts)


def test_a_cached_object_is_the_cached_object():
    call = magneto.compile(
        lambda x: (x + 1, recipe("xy->yx"), numbers_to(33)),
        backend="eager",
        fullgraph=True,
    )
    results = [call(X)[1:] for _ in range(3)]
    for made, items in results:
        assert made is recipe("xy->yx")
        assert items is numbers_to(33)


def test_a_cached_list_that_grows_is_seen_to_grow():
    call = magneto.compile(lambda x: x + len(numbers_to(55)), backend="eager")
    assert torch.equal(call(X), X + 2)
    numbers_to(55).append(1)
    assert torch.equal(call(X), X + 3)


def test_effects_of_a_cached_function_happen_once():
    SEEN.clear()
    call = magneto.compile(lambda x: x + with_an_effect(9)[0], backend="eager")
    for _ in range(3):
        assert torch.equal(call(X), X + 9)
    assert SEEN == [9]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "program", [changed, attribute_changed, cached_list_is_changed]
)
def test_changes_to_what_a_cache_has_are_seen(program, dynamic):
    def results(call):
        for function in (numbers_to, numbers_of, recipe):
            function.cache_clear()
        made = [call(torch.zeros(n, 4)) for n in (3, 3, 5, 3)]
        return [[str(part) for part in each] for each in made]

    call = magneto.compile(program, backend="eager", dynamic=dynamic)
    assert results(call) == results(program) == results(call)


@functools.lru_cache
def settings_now():
    return dict(SETTINGS)


def test_a_cleared_cache_is_asked_again(monkeypatch):
    call = magneto.compile(
        lambda x: x * settings_now()["scale"], backend="eager"
    )
    settings_now.cache_clear()
    assert torch.equal(call(X), X * 2)
    monkeypatch.setitem(SETTINGS, "scale", 7)
    assert torch.equal(call(X), X * 2)
    settings_now.cache_clear()
    assert torch.equal(call(X), X * 7)
    settings_now.cache_clear()


@functools.lru_cache
def scale_of(n, kind=None):
    return SETTINGS["scale"] * n


def test_what_a_cache_has_is_used_though_it_would_be_another_now(monkeypatch):
    def program(x):
        return x * scale_of(3) + scale_of(3, kind="k") + scale_of(1)

    call = magneto.compile(program, backend="eager", fullgraph=True)
    scale_of.cache_clear()
    assert torch.equal(call(X), X * 6 + 6 + 2)
    monkeypatch.setitem(SETTINGS, "scale", 7)
    assert torch.equal(call(X), program(X))
    assert torch.equal(call(X), X * 6 + 6 + 2)
    scale_of.cache_clear()
    assert torch.equal(call(X), X * 21 + 21 + 7)
    scale_of.cache_clear()


def test_a_cache_that_tells_types_apart():
    @functools.lru_cache(typed=True)
    def kind_of(n):
        return [type(n).__name__]

    def program(x, n):
        return x + 1, kind_of(n), kind_of(n) is kind_of(n)

    check_calls(program, [((X, n), {}) for n in (1, True, 1.0, 1)])


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.lru_cache(maxsize=8)
def fibonacci_in_little(n):
    return (
        n if n < 2 else fibonacci_in_little(n - 1) + fibonacci_in_little(n - 2)
    )


@functools.lru_cache(maxsize=None)
def fibonacci_in_tuples(n):
    if n == 0:
        return 0, 1
    a, b = fibonacci_in_tuples(n // 2)
    c, d = fibonacci_in_tuples(n - n // 2 - 1)
    e, f = fibonacci_in_tuples(n // 2)
    return a * c + b * d if n else e, (a + b) * d + b * c if n else f


@functools.lru_cache(maxsize=None)
def fibonacci_in_lists(n):
    if n < 2:
        return [n]
    return [fibonacci_in_lists(n - 1)[0] + fibonacci_in_lists(n - 2)[0]]


@functools.lru_cache(maxsize=3)
def fibonacci_in_few_lists(n):
    if n < 2:
        return [n]
    return [fibonacci_in_few_lists(n - 1)[0] + fibonacci_in_few_lists(n - 2)[0]]


class Paths:
    """A method behind a cache, of several arguments."""

    def __init__(self, blocked):
        self.blocked = blocked

    @functools.cache  # noqa: B019
    def count(self, row, column, *, by="steps"):
        if (row, column) == self.blocked:
            return 0
        if row == 0 or column == 0:
            return 1
        return self.count(row - 1, column, by=by) + self.count(
            row, column - 1, by=by
        )


PATHS = Paths((2, 3))
CACHES = [
    fibonacci,
    fibonacci_in_little,
    fibonacci_in_tuples,
    fibonacci_in_lists,
    fibonacci_in_few_lists,
    Paths.count,
]


def all_caches():
    """Of this module, and of its classes."""
    owners = [globals(), vars(Keeper), vars(Paths)]
    kind = type(numbers_to)
    return [c for o in owners for c in o.values() if isinstance(c, kind)]


def counted(program, calls):
    """What each cache has counted after each call; they are empty at first."""
    for cache in all_caches():
        cache.cache_clear()
    counts = []
    for args in calls:
        program(*args)
        counts.append([cache.cache_info() for cache in all_caches()])
    return counts


def check_counted(program, calls, **options):
    call = magneto.compile(program, backend="eager", **options)
    assert counted(call, calls) == counted(program, calls)


# What they do differently: docs/differences.md.
NOT_COUNTED = ["with_pending_writes", "hashed_by_the_program"]


def with_a_write_before_each(x):
    SEEN.append(1)
    y = x * fibonacci(3) + fibonacci(3)
    return y, of_settings(7) is of_settings(7)


def with_writes_around(x):
    SEEN.append(1)
    y = x * fibonacci(3) + fibonacci(3) + numbers_to(5)[0]
    SETTINGS["other"] = 1
    return y, fibonacci(9)


def counts_in_between(x):
    numbers_to(1)
    first = numbers_to.cache_info().hits
    numbers_to(1)
    return x + first, numbers_to.cache_info().hits


def by_keyword(x):
    return x + scale_of(3, kind=None) + scale_of(n=3) + scale_of(3, kind=None)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        *(f for f, _ in PROGRAMS.values() if f.__name__ not in NOT_COUNTED),
        with_a_write_before_each,
        with_writes_around,
        counts_in_between,
        by_keyword,
    ],
)
def test_a_cache_counts_its_calls(program, dynamic):
    check_counted(program, [(X,)] * 4, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_was_used_last_stays_in_a_small_cache(dynamic):
    def program(x, n):
        return x + fibonacci_in_few_lists(1)[0] + fibonacci_in_few_lists(n)[0]

    check_counted(
        program,
        [(X, n) for n in (0, 1, 0, 1, 0, 0, 4, 1, 0)],
        dynamic=dynamic,
    )


def counts_paths(n):
    return PATHS.count(n, n)


def with_a_write_before(n):
    SEEN.append(n)
    return fibonacci(n)


@functools.wraps(fibonacci)
def of_its_own(n):
    @functools.lru_cache(maxsize=None)
    def inner(n):
        return n if n < 2 else inner(n - 1) + inner(n - 2)

    return inner(n)


RECURSIVE = {
    "plain": fibonacci,
    "little": fibonacci_in_little,
    "tuples": lambda n: fibonacci_in_tuples(n)[0],
    "lists": lambda n: fibonacci_in_lists(n)[0],
    "few lists": lambda n: fibonacci_in_few_lists(n)[0],
    "paths": counts_paths,
    "pending write": with_a_write_before,
    "own": of_its_own,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", RECURSIVE)
def test_a_recursion_is_as_long_as_with_the_cache(name, dynamic):
    """Without it, these would be calls without end."""
    for cache in CACHES:
        cache.cache_clear()

    def program(x, n):
        return x + 1, RECURSIVE[name](n)

    calls = [(X, n) for n in (60, 61, 60, 12, 60)]
    check_calls(program, [(args, {}) for args in calls], dynamic=dynamic)
    check_counted(program, calls, dynamic=dynamic)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8])
def test_a_cache_that_is_too_small_for_a_call(size):
    @functools.lru_cache(maxsize=size)
    def square(n):
        return n * n

    @functools.lru_cache(maxsize=size)
    def span(n):
        return [square(n), square(n + 1)]

    def program(x, n):
        return (
            x + square(n) + square(1) + square(n),
            sum(square(i) for i in range(5)),
            [list(span(i)) for i in (n, 1, 2, n)],
        )

    check_calls(program, [((X, n), {}) for n in (2, 3, 2, 7, 2)])


def test_what_a_cache_has_is_not_computed():
    """What the function would do is not asked for, then."""
    assert mask(6) is mask(6)
    SEEN.clear()
    with_an_effect(77)
    SEEN.clear()

    def program(x):
        return x[0, 0] + mask(6), with_an_effect(77), with_an_effect(77) is LIST

    LIST = with_an_effect(77)
    check(program, X, fullgraph=True, graphs=1)
    assert SEEN == []


def test_equal_arguments_of_another_class_find_the_same():
    @functools.lru_cache(maxsize=4)
    def name_of(n):
        return type(n).__name__

    def program(x, *numbers):
        return x + 1, [name_of(n) for n in numbers]

    check_calls(
        program,
        [((X, 1, 1.0, True), {}), ((X, 2.0, 2, 2.0), {}), ((X, 1.0, 3), {})],
    )


def test_a_small_cache_that_forgets():
    @functools.lru_cache(maxsize=1)
    def one(n):
        return [n]

    def program(x, n):
        return x + one(n)[0], one(n) is one(n)

    check_calls(program, [((X, n), {}) for n in (2, 3, 2, 2, 3)])


# -- sizes that vary -----------------------------------------------------------


def reshaped_to_lists(x):
    return x.reshape(numbers_of(x.shape[0], x.shape[1])).sum(0)


def cached_list_is_returned(x):
    items = numbers_of(x.shape[0], 2000)
    return x + 1, items


def cached_lists_are_compared(x):
    a, b = numbers_of(x.shape[0], 3), numbers_of(x.shape[0], 3)
    return x + 1, a is b, a == b


DYNAMIC = {
    f.__name__: (f, counts)
    for f, counts in (
        (transposed, {"graphs": 1, "graph_breaks": 0}),
        (reshaped_to_lists, {"graphs": 1, "graph_breaks": 0}),
        (cached_list_is_returned, {}),
        (cached_lists_are_compared, {}),
    )
}


@pytest.mark.parametrize(
    ("program", "counts"), DYNAMIC.values(), ids=DYNAMIC.keys()
)
def test_caches_over_sizes_that_vary(program, counts):
    calls = [((torch.rand(n, n + 1),), {}) for n in (3, 5, 3, 8, 5, 2)]
    check_calls(program, calls, dynamic=True, **counts)
