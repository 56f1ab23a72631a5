# SPDX-License-Identifier: BSD-3-Clause
"""Iterators that the caller has begun: they go on where they are, and are where
they would be in plain Python when the function ends or its graph breaks.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, compare
from support.iterator_programs import FORMS, Holder, keep, outcome, two

X = torch.arange(3.0)


def double(x: Any) -> Any:
    return x * 2


def with_gaps():
    d = {i: X + i for i in range(7)}
    for i in (0, 2, 6):
        del d[i]
    return d


MAKERS: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([1, 2, 3, 4, 5]),
    "tuple": lambda: iter((1.5, X, "a", None, 2)),
    "tensors": lambda: iter([X + i for i in range(5)]),
    "range": lambda: iter(range(3, 20, 4)),
    "backwards": lambda: iter(range(5, -20, -3)),
    "enumerate": lambda: enumerate([5, 6, 7, 8, 9], 4),
    "enumerate tensors": lambda: enumerate([X, X + 1, X + 2, X + 3]),
    "zip": lambda: zip([1, 2, 3, 4], (5, 6, 7, 8, 9), strict=False),
    "strict zip": lambda: zip([1, 2, 3, 4], (5, 6, 7, 8, 9), strict=True),
    "zip of one": lambda: zip(*[iter(range(9))] * 2, strict=False),
    "empty zip": lambda: zip(),
    "map": lambda: map(double, [1, 2, 3, 4, 5]),
    "map of two": lambda: map(max, [1, 2, 3, 4, 5], range(7, 0, -1)),
    "filter": lambda: filter(keep, [1, 2, 2, 3, 4, 2, 5]),
    "filter none": lambda: filter(None, [0, 1, "", 2, 3, 4]),
    "enumerate zip": lambda: enumerate(zip([1, 2, 3, 4], range(9))),
    "big": lambda: iter(range(2**40, 2**40 + 9)),
    "dict": lambda: iter({"a": 1, 3: 2, None: X, "d": 4, "e": 5}),
    "values": lambda: iter({"a": 1, 3: X, None: 3, "d": "x", "e": 5}.values()),
    "items": lambda: iter({"a": 1, 3: 2, None: X, "d": 4, "e": 5}.items()),
    "attributes": lambda: iter(vars(Holder(X)).items()),
    "with gaps": lambda: iter(with_gaps().items()),
    "ordered": lambda: iter(OrderedDict(a=1, b=2, c=3, d=4).items()),
    "subclass": lambda: iter(defaultdict(int, a=1, b=2, c=3).items()),
    "set": lambda: iter({1, 2, 3, "four", 5.5}),
    "frozen set": lambda: iter(frozenset(range(5))),
    "enumerate items": lambda: enumerate({"a": 1, "b": 2, "c": 3}.items()),
    "zip of values": lambda: zip({"a": 1, "b": 2}.values(), {4, 5, 6}),
    "reversed": lambda: reversed([1, 2, 3, 4, 5]),
}


def remaining(value: Any) -> Any:
    """With iterators as the lists of what they have left."""
    if isinstance(value, tuple | list):
        return type(value)(remaining(each) for each in value)
    if hasattr(value, "__next__"):
        left = []
        try:
            for item in value:
                left.append(item)
        except ValueError as error:
            left.append(str(error))
        return type(value).__name__, left
    return value


@pytest.mark.parametrize("form", FORMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_as_in_plain_python(name: str, form: Callable[..., Any]) -> None:
    compiled = magneto.compile(form, backend="eager")
    for taken in (0, 1, 2, 3, 4, 7, 0):
        results = []
        for call in (form, compiled):
            iterator = MAKERS[name]()
            for _ in range(taken):
                outcome(next, iterator, None)
            result = outcome(call, iterator, X)
            results.append((remaining(result), remaining(iterator)))
        compare(*results)


@pytest.mark.parametrize("name", MAKERS)
def test_one_iterator_for_many_calls(name: str) -> None:
    def step(iterator, x):
        return next(iterator, "end"), x + 1

    compiled = magneto.compile(step, backend="eager")
    plain, other = MAKERS[name](), MAKERS[name]()
    for _ in range(8):
        compare(outcome(step, plain, X), outcome(compiled, other, X))


@pytest.mark.parametrize("name", ["list", "tensors", "zip", "map", "filter"])
def test_traced_whole(name: str) -> None:
    backend = RecordingBackend()
    compiled = magneto.compile(two, backend=backend, fullgraph=True)
    for taken in (0, 1, 0):
        iterator = MAKERS[name]()
        for _ in range(taken):
            next(iterator)
        compiled(iterator, X)


def test_items_are_guarded_and_not_the_position() -> None:
    def step(iterator, x):
        return x * next(iterator)

    compiled = magneto.compile(step, backend="eager", fullgraph=True)
    before = magneto.stats()["compilations"]
    iterator = iter([torch.full((3,), float(i)) for i in range(20)])
    for i in range(20):
        compare(compiled(iterator, X), X * float(i))
    assert magneto.stats()["compilations"] == before + 1


@pytest.mark.parametrize(
    "make",
    [lambda n: iter(range(n)), lambda n: enumerate([X] * n)],
    ids=["range", "enumerate"],
)
def test_loops_with_breaks_are_not_compiled_for_each_step(make) -> None:
    def loop(iterator, x):
        for item in iterator:
            x = x + (item[0] if isinstance(item, tuple) else item)
            magneto.graph_break()
        return x

    compiled = magneto.compile(loop, backend="eager")
    compiled(make(6), X)
    before = magneto.stats()["compilations"]
    compare(compiled(make(40), X), loop(make(40), X))
    assert magneto.stats()["compilations"] == before


def test_two_places_of_one_iterator() -> None:
    def pairs(a, b, x):
        return [next(a), next(b), next(a), next(b)], x + 1

    compiled = magneto.compile(pairs, backend="eager")
    for same in (False, True, False):
        results = []
        for call in (pairs, compiled):
            a, b = iter([1, 2, 3, 4, 5]), iter([10, 20, 30])
            result = call(a, a if same else b, X)
            results.append((result, list(a), list(b)))
        compare(*results)


def appended(items, iterator, x):
    first = next(iterator)
    items.append(9)
    return first, list(iterator), x + 1


def removed(items, iterator, x):
    items.pop(0)
    return list(iterator), items, x + 1


def removed_behind(items, iterator, x):
    first = next(iterator)
    del items[:]
    return first, list(iterator), items, x + 1


def replaced(items, iterator, x):
    items[:] = [7, 8]
    return next(iterator, None), x + 1


@pytest.mark.parametrize(
    "program",
    [appended, removed, removed_behind, replaced],
    ids=lambda each: each.__name__,
)
def test_lists_that_change_meanwhile(program: Callable[..., Any]) -> None:
    compiled = magneto.compile(program, backend="eager")
    for length in (3, 1, 5):
        results = []
        for call in (program, compiled):
            items = list(range(length))
            iterator = iter(items)
            next(iterator)
            try:
                result = call(items, iterator, X)
            except StopIteration:
                result = "stop"
            results.append((result, items, list(iterator)))
        compare(*results)


def other_list_written(items, iterator, x):
    items.append(5)
    return list(iterator), items, x + 1


def other_dict_written(d, iterator, x):
    d["a"] = 5
    return list(iterator), d, x + 1


def attribute_written(holder, iterator, x):
    holder.iterator = 5
    return list(iterator), x + 1


@pytest.mark.parametrize(
    ("program", "make", "begin"),
    [
        (other_list_written, lambda: [1, 2, 3], iter),
        (other_dict_written, lambda: {"a": 1, "b": 2}, lambda d: iter(d)),
        (
            other_dict_written,
            lambda: {"a": 1, "b": 2},
            lambda d: iter(d.items()),
        ),
        (
            attribute_written,
            lambda: Holder(1),
            lambda h: iter(vars(h).values() if isinstance(h, Holder) else h),
        ),
    ],
    ids=["list", "keys", "items", "attributes"],
)
def test_what_is_written_may_be_what_is_gone_over(
    program: Callable[..., Any], make: Any, begin: Any
) -> None:
    compiled = magneto.compile(program, backend="eager")
    for same in (False, True, False):
        results = []
        for call in (program, compiled):
            written = make()
            iterator = begin(written if same else make())
            result = call(written, iterator, X)
            results.append((result, outcome(list, iterator)))
        compare(*results)


def added_key(d, iterator, x):
    first = next(iterator)
    d["new"] = 1
    return first, list(iterator), x + 1


def other_key(d, iterator, x):
    del d["a"]
    d["new"] = 1
    return list(iterator), x + 1


def other_value(d, iterator, x):
    first = next(iterator)
    for key in list(d):
        d[key] = 7
    return first, list(iterator), x + 1


def changed_before(d, iterator, x):
    return next(iterator), x + 1


@pytest.mark.parametrize(
    "program",
    [added_key, other_key, other_value, changed_before],
    ids=lambda each: each.__name__,
)
@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_dicts_that_change_meanwhile(
    view: str, program: Callable[..., Any]
) -> None:
    compiled = magneto.compile(program, backend="eager")
    for others in ({}, {"other": 2}, {"a": 9}, {"b": 3, "c": 4}):
        results = []
        for call in (program, compiled):
            d = {"a": 1, "b": 2, "c": 3}
            iterator = iter(getattr(d, view)())
            next(iterator)
            if program is changed_before:
                d.update(others)
            try:
                result = call(d, iterator, X)
            except RuntimeError as error:
                result = str(error)
            results.append((result, d, outcome(list, iterator)))
        compare(*results)


def test_keys_that_change_before() -> None:
    def step(iterator, x):
        return list(iterator), x + 1

    compiled = magneto.compile(step, backend="eager")
    for change in (False, True, False):
        results = []
        for call in (step, compiled):
            d = dict.fromkeys("abc")
            iterator = iter(d)
            next(iterator)
            if change:
                del d["a"]
                d["z"] = 1
            try:
                results.append(call(iterator, X))
            except RuntimeError as error:
                results.append(str(error))
        compare(*results)


def test_long_dicts() -> None:
    def total(iterator, x):
        return sum(iterator), x + 1

    compiled = magneto.compile(total, backend="eager")
    for size in (600, 600, 20):
        d = {i: i for i in range(size)}
        compare(compiled(iter(d), X), total(iter(d), X))


def test_global_and_closure() -> None:
    closed = iter([X, X + 1, X + 2])
    namespace = {"begun": iter([1, 2, 3]), "next": next}
    exec("def of_globals(x): return x + next(begun)", namespace)

    def of_closure(x):
        return x + next(closed)

    for function, expected in (
        (namespace["of_globals"], [X + 1, X + 2, X + 3]),
        (of_closure, [X + X, X + X + 1, X + X + 2]),
    ):
        compiled = magneto.compile(function, backend="eager", fullgraph=True)
        compare(expected, [compiled(X) for _ in range(3)])
        with pytest.raises(StopIteration):
            compiled(X)
