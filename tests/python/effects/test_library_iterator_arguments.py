# SPDX-License-Identifier: BSD-3-Clause
"""Iterators that the caller has begun, of less frequent kinds: reversed ones,
those of ordered dicts, deques and strings, and itertools'.
"""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import compare
from support.iterator_programs import FORMS, keep, loop, outcome, two

X = torch.arange(3.0)


def shrunk() -> Any:
    items = {i: X + i for i in range(9)}
    for i in (0, 3, 8):
        del items[i]
    return items


class Holder:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def long_deque() -> deque[int]:
    items = deque(range(150))
    items.rotate(40)
    return items


def moved_ordered() -> OrderedDict[str, Any]:
    items = OrderedDict(a=1, b=X, c=3, d=4)
    items.move_to_end("a")
    return items


MAKERS: dict[str, Callable[[], Iterator[Any]]] = {
    "reversed list": lambda: reversed([1, X, 3, 4, 5]),
    "reversed tuple": lambda: reversed((1, X, 3, 4, 5)),
    "reversed text": lambda: reversed("abcde"),
    "reversed dict": lambda: reversed({"a": 1, 3: 2, None: X, "d": 4}),
    "reversed values": lambda: reversed({"a": 1, 3: 2, None: X}.values()),
    "reversed items": lambda: reversed({"a": 1, 3: 2, None: X}.items()),
    "reversed with gaps": lambda: reversed(shrunk().items()),
    "reversed attributes": lambda: reversed(vars(Holder(a=1, b=X, c=3, d=4))),
    "reversed deque": lambda: reversed(deque([1, X, 3, 4])),
    "reversed ordered": lambda: reversed(moved_ordered()),
    "text": lambda: iter("abcde"),
    "text in Latin-1": lambda: iter("äöüab"),
    "longer text": lambda: iter("aλb∀c"),
    "bytes": lambda: iter(b"abcde"),
    "deque": lambda: iter(deque([1, X, 3, 4, 5])),
    "empty deque": lambda: iter(deque()),
    "long deque": lambda: iter(long_deque()),
    "ordered keys": lambda: iter(moved_ordered()),
    "ordered values": lambda: iter(moved_ordered().values()),
    "ordered items": lambda: iter(moved_ordered().items()),
    "reversed ordered items": lambda: reversed(moved_ordered().items()),
    "zip of others": lambda: zip(deque([1, 2, 3]), reversed("abc")),
    "accumulate": lambda: itertools.accumulate([1, 2, 3, 4, 5]),
    "accumulate tensors": lambda: itertools.accumulate([X, X + 1, X, X]),
    "accumulate function": lambda: itertools.accumulate(
        [1, 2, 3, 4], operator.mul, initial=2
    ),
    "chain": lambda: itertools.chain([1, 2], (3, X), {"a": 4}),
    "chain of chains": lambda: itertools.chain.from_iterable(["ab", [1, 2]]),
    "empty chain": lambda: itertools.chain(),
    "compress": lambda: itertools.compress(range(6), [1, 0, 1, 1, 0, 1]),
    "dropwhile": lambda: itertools.dropwhile(
        lambda i: i < 3, [1, 2, 3, 1, 4, 5]
    ),
    "filterfalse": lambda: itertools.filterfalse(keep, [1, 2, 3, 2, 2, 4]),
    "filterfalse none": lambda: itertools.filterfalse(None, [0, 1, "", 0, 2]),
    "islice": lambda: itertools.islice([1, 2, 3, 4, 5, 6], 4),
    "islice of more": lambda: itertools.islice(range(30), 2, 17, 3),
    "islice without end": lambda: itertools.islice(range(7), 1, None),
    "pairwise": lambda: itertools.pairwise([1, X, 3, 4, 5]),
    "repeat": lambda: itertools.repeat("a", 5),
    "starmap": lambda: itertools.starmap(max, [(1, 2), (4, 3), (5, 5), (1, 0)]),
    "takewhile": lambda: itertools.takewhile(
        lambda i: i < 4, [1, 2, 3, 4, 1, 2]
    ),
    "several": lambda: itertools.islice(
        itertools.chain(itertools.repeat(X, 3), itertools.count(7)), 6
    ),
    "enumerate of chain": lambda: enumerate(itertools.chain([1, 2], "ab"), 3),
    "map of repeat": lambda: map(
        operator.add, [1, 2, 3, 4], itertools.repeat(5)
    ),
    "product": lambda: itertools.product([1, 2], "ab"),
    "zip longest": lambda: itertools.zip_longest([1, 2, 3], "ab"),
}

ENDLESS: dict[str, Callable[[], Iterator[Any]]] = {
    "count": lambda: itertools.count(3),
    "count by": lambda: itertools.count(3, -2),
    "count floats": lambda: itertools.count(0.5, 0.25),
    "count big": lambda: itertools.count(2**70),
    "cycle": lambda: itertools.cycle([1, X, 3]),
    "cycle of none": lambda: itertools.cycle([]),
    "repeat": lambda: itertools.repeat(X),
}


def remaining(value: Any) -> Any:
    """With iterators as the lists of what they have left, or begin with."""
    if isinstance(value, tuple | list):
        return type(value)(remaining(each) for each in value)
    if hasattr(value, "__next__"):
        left = list(itertools.islice(value, 12))
        return type(value).__name__, left
    return value


def assert_alike(
    form: Callable[..., Any], make: Callable[[], Iterator[Any]]
) -> None:
    compiled = magneto.compile(form, backend="eager")
    for taken in (0, 1, 2, 3, 4, 7, 0):
        results = []
        for call in (form, compiled):
            iterator = make()
            for _ in range(taken):
                next(iterator, None)
            result = outcome(call, iterator, X)
            results.append((remaining(result), remaining(iterator)))
        compare(*results)


@pytest.mark.parametrize("form", FORMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_as_in_plain_python(name: str, form: Callable[..., Any]) -> None:
    assert_alike(form, MAKERS[name])


def few_with_breaks(iterator, x):
    total = []
    for item in iterator:
        x = x + 1
        magneto.graph_break()
        total.append(item)
        if len(total) == 4:
            break
    return total, x


@pytest.mark.parametrize(
    "form", [two, loop, few_with_breaks], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("name", ENDLESS)
def test_endless(name: str, form: Callable[..., Any]) -> None:
    assert_alike(form, ENDLESS[name])


@pytest.mark.parametrize("name", [*MAKERS, *ENDLESS])
def test_one_iterator_for_many_calls(name: str) -> None:
    def step(iterator, x):
        return next(iterator, "end"), x + 1

    make = {**MAKERS, **ENDLESS}[name]
    compiled = magneto.compile(step, backend="eager")
    plain, other = make(), make()
    for _ in range(8):
        compare(outcome(step, plain, X), outcome(compiled, other, X))


LOOPS: dict[str, Callable[[int], Iterator[Any]]] = {
    "reversed list": lambda n: reversed([X + i for i in range(n)]),
    "reversed tuple": lambda n: reversed(tuple(X + i for i in range(n))),
    "deque": lambda n: iter(deque(X + i for i in range(n))),
    "ordered": lambda n: iter(
        OrderedDict((str(i), X + i) for i in range(n)).values()
    ),
    "reversed values": lambda n: reversed(
        {i: X + i for i in range(n)}.values()
    ),
    "text": lambda n: iter("a" * n),
    "count": lambda n: zip(range(n), itertools.count(3)),
    "islice": lambda n: itertools.islice([X + i for i in range(50)], n),
    "islice of count": lambda n: itertools.islice(itertools.count(5, 2), n),
    "repeat": lambda n: itertools.repeat(X, n),
    "chain": lambda n: itertools.chain([X] * n, [X + 1] * n),
    "accumulate": lambda n: itertools.accumulate([X + i for i in range(n)]),
    "pairwise": lambda n: itertools.pairwise([X + i for i in range(n)]),
    "starmap": lambda n: itertools.starmap(max, [(1, 2)] * n),
    "takewhile": lambda n: itertools.takewhile(keep, [1] * n),
    "cycle": lambda n: zip(range(n), itertools.cycle([X] * 50)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_breaks_are_not_compiled_for_each_step(name: str) -> None:
    def total(iterator, x):
        for item in iterator:
            for each in item if isinstance(item, tuple) else (item,):
                x = x + (len(each) if isinstance(each, str) else each)
            magneto.graph_break()
        return x

    make = LOOPS[name]
    compiled = magneto.compile(total, backend="eager")
    compiled(make(8), X)
    before = magneto.stats()["compilations"]
    compare(compiled(make(30), X), total(make(30), X))
    # A chain looks at the lists that it comes to, and so at their lengths.
    most = before + (2 if name == "chain" else 0)
    assert magneto.stats()["compilations"] <= most


def appended(items, iterator, x):
    first = next(iterator, "end")
    items.append(9)
    return first, list(iterator), x + 1


def emptied(items, iterator, x):
    first = next(iterator, "end")
    items.clear()
    return first, list(iterator), x + 1


CHANGED = {
    "reversed": (lambda: [1, 2, 3, 4], reversed),
    "deque": (lambda: deque([1, 2, 3, 4]), iter),
    "chain": (lambda: [1, 2, 3, 4], itertools.chain),
    "islice": (lambda: [1, 2, 3, 4], lambda a: itertools.islice(a, 10)),
}


@pytest.mark.parametrize("program", [appended, emptied])
@pytest.mark.parametrize("name", CHANGED)
def test_what_changes_meanwhile(name: str, program: Callable[..., Any]) -> None:
    make, begin = CHANGED[name]
    compiled = magneto.compile(program, backend="eager")
    for taken in (0, 1, 2):
        results = []
        for call in (program, compiled):
            items = make()
            iterator = begin(items)
            for _ in range(taken):
                next(iterator)
            result = outcome(call, items, iterator, X)
            results.append((result, list(items), outcome(list, iterator)))
        compare(*results)


def ordered_changed(d, iterator, x):
    first = next(iterator)
    d.move_to_end(first)
    return first, list(iterator), x + 1


def test_an_ordered_dict_that_changes_meanwhile() -> None:
    compiled = magneto.compile(ordered_changed, backend="eager")
    for changed_before in (False, True, False):
        results = []
        for call in (ordered_changed, compiled):
            d = OrderedDict(a=1, b=2, c=3)
            iterator = iter(d)
            if changed_before:
                d["z"] = 3
            results.append((outcome(call, d, iterator, X), list(d)))
        compare(*results)


def test_one_inside_of_another() -> None:
    def both(outer, inner, x):
        return next(outer), next(inner), next(outer), x + 1

    compiled = magneto.compile(both, backend="eager")
    for _ in range(2):
        results = []
        for call in (both, compiled):
            inner = iter([1, 2, 3, 4, 5, 6, 7])
            outer = itertools.islice(inner, 5)
            next(outer)
            result = call(outer, inner, X)
            results.append((result, list(outer), list(inner)))
        compare(*results)


def test_a_new_part_of_a_chain_goes_on() -> None:
    def take(iterator, x):
        return next(iterator), x + 1

    compiled = magneto.compile(take, backend="eager")
    results = []
    for call in (take, compiled):
        iterator = itertools.chain([1], [2, 3, 4], [5])
        taken = [call(iterator, X)[0] for _ in range(3)]
        results.append((taken, iterator.__reduce__()[0], list(iterator)))
    compare(*results)


def test_functions_that_raise() -> None:
    def inverse(i):
        return 1 / i

    def loops(iterator, x):
        seen = []
        for _ in range(4):
            try:
                seen.append(next(iterator, "end"))
            except ZeroDivisionError as error:
                seen.append(str(error))
        return seen, x + 1

    compiled = magneto.compile(loops, backend="eager")
    for make in (
        lambda: itertools.starmap(inverse, [(1,), (0,), (2,), (4,)]),
        lambda: itertools.takewhile(inverse, [1, 0, 2, 4]),
        lambda: itertools.accumulate([1, 0, 2], lambda a, b: a / b),
    ):
        results = []
        for call in (loops, compiled):
            iterator = make()
            next(iterator)
            result = outcome(call, iterator, X)
            results.append((result, outcome(list, iterator)))
        compare(*results)
