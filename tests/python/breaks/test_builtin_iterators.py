# SPDX-License-Identifier: BSD-3-Clause
"""Iterators of C classes that the traced code has made and begun: behind the
graph, and behind a break, they are of their own class and go on where they
were.
"""

import itertools
import pickle

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)
ITEMS = [3, 1, 2, 2, 5]


def until(items):
    rest = list(items)
    return iter(lambda: rest.pop(0), 2)


class Countdown:
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return self

    def __next__(self):
        if not self.count:
            raise StopIteration
        self.count -= 1
        return self.count


MAKERS = {
    "accumulate": lambda: itertools.accumulate(ITEMS),
    "accumulate function": lambda: itertools.accumulate(
        ITEMS, lambda a, b: a * b, initial=2
    ),
    "chain": lambda: itertools.chain(ITEMS, "ab"),
    "chain of chains": lambda: itertools.chain.from_iterable(["ab", ITEMS]),
    "combinations": lambda: itertools.combinations(ITEMS, 2),
    "with replacement": lambda: itertools.combinations_with_replacement(
        ITEMS, 2
    ),
    "compress": lambda: itertools.compress(ITEMS, [1, 0, 1, 1, 1]),
    "count": lambda: itertools.count(5, 2),
    "cycle": lambda: itertools.cycle(ITEMS[:2]),
    "dropwhile": lambda: itertools.dropwhile(lambda i: i > 2, ITEMS),
    "filterfalse": lambda: itertools.filterfalse(None, [0, 1, 0, 0]),
    "islice": lambda: itertools.islice(itertools.count(), 1, 12, 3),
    "pairwise": lambda: itertools.pairwise(ITEMS),
    "permutations": lambda: itertools.permutations(ITEMS, 3),
    "product": lambda: itertools.product(ITEMS, "ab"),
    "repeat": lambda: itertools.repeat("a", 4),
    "starmap": lambda: itertools.starmap(max, [(1, 2), (4, 3), (5, 5)]),
    "takewhile": lambda: itertools.takewhile(lambda i: i != 2, ITEMS),
    "zip_longest": lambda: itertools.zip_longest("ab", ITEMS, fillvalue=0),
    "tee": lambda: itertools.tee(ITEMS, 1)[0],
    "iter until": lambda: until(ITEMS),
    "enumerate": lambda: enumerate(ITEMS),
    "zip": lambda: zip(ITEMS, "abcd"),
    "map": lambda: map(str, ITEMS),
    "filter": lambda: filter(None, ITEMS),
    "over the user's": lambda: itertools.islice(Countdown(6), 5),
    "over a chain": lambda: enumerate(itertools.chain("ab", "cd")),
}


def begin(make, count):
    iterator = make()
    for _ in range(count):
        next(iterator, None)
    return iterator


@pytest.mark.feature("B3")
@pytest.mark.parametrize("count", [0, 1, 3, 6])
@pytest.mark.parametrize("name", MAKERS)
def test_goes_on_behind_the_graph(name, count):
    make = MAKERS[name]

    def program(x):
        return x + 1, begin(make, count)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        (_, expected), (_, actual) = program(X), compiled(X)
        assert type(actual) is type(expected)
        rest = list(itertools.islice(expected, 8))
        assert list(itertools.islice(actual, 8)) == rest

    def broken(x):
        iterator = begin(make, count)
        magneto.graph_break()
        return x + 1, type(iterator), list(itertools.islice(iterator, 8))

    check(broken, X)


def groups(x):
    iterator = itertools.groupby("aabbcd")
    key, first = next(iterator)
    item = next(first)
    magneto.graph_break()
    kinds = type(iterator), type(first)
    left = list(first)
    return x + 1, key, item, kinds, left, [(k, list(g)) for k, g in iterator]


def group_of_the_past(x):
    iterator = itertools.groupby("aabb")
    _, first = next(iterator)
    _, second = next(iterator)
    magneto.graph_break()
    return x + 1, list(first), list(second)


def tees_share(x):
    taken = []

    def source():
        for i in range(130):
            taken.append(i)
            yield i

    first, second, third = itertools.tee(source(), 3)
    ahead = [next(first) for _ in range(120)]
    behind = [next(second) for _ in range(57)]
    magneto.graph_break()
    rest = [list(each) for each in (third, second, first)]
    return x + 1, ahead, behind, rest, taken


def error_does_not_end_it(x):
    quotients = itertools.starmap(divmod, [(1, 0), (7, 2)])
    try:
        next(quotients)
    except ZeroDivisionError:
        return x + 1, next(quotients)


def predicate_stops(x):
    def predicate(item):
        if item == 2:
            raise StopIteration
        return True

    return x + 1, list(itertools.takewhile(predicate, ITEMS))


def uses_itself_up(x):
    def function():
        list(iterator)
        return 1

    calls = []

    def limited():
        calls.append(1)
        if len(calls) > 2:
            raise StopIteration
        return function() if len(calls) == 1 else 5

    iterator = iter(limited, 7)
    return x + 1, list(iterator), len(calls)


def unpacked_without_end(x):
    numbers = itertools.count()
    try:
        a, b = numbers
    except ValueError as error:
        return x + 1, str(error), next(numbers)


@pytest.mark.feature("B3")
@pytest.mark.parametrize(
    "program",
    [
        groups,
        group_of_the_past,
        tees_share,
        error_does_not_end_it,
        predicate_stops,
        uses_itself_up,
        unpacked_without_end,
    ],
    ids=lambda p: p.__name__,
)
def test_begun(program):
    check(program, X)


def test_can_be_pickled():
    def program(x):
        iterator = itertools.cycle([1, 2])
        next(iterator)
        return x + 1, iterator

    _, made = magneto.compile(program, backend="eager")(X)
    copied = pickle.loads(pickle.dumps(made))
    assert list(itertools.islice(copied, 3)) == [2, 1, 2]
