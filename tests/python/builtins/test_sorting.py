# SPDX-License-Identifier: BSD-3-Clause
"""Sorting: which items are compared, in which order, how far a sort has got
when a comparison raises, and what a comparison sees of the list that is being
sorted, are CPython's.
"""

import random

import pytest
import torch

from magneto.testing import check

X = torch.arange(3.0)


LOG = []


class Counted:
    """Notes what it is compared with; the one of `bad` raises."""

    bad = None

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        LOG.append((self.number, other.number))
        if len(LOG) == Counted.bad:
            raise ValueError(other.number)
        return self.number < other.number


def shuffled(count, kinds, seed):
    return random.Random(seed).choices(range(kinds), k=count)


def with_runs(count, seed):
    """Ascending and descending runs of many lengths."""
    draw = random.Random(seed)
    numbers = []
    while len(numbers) < count:
        start, size = draw.randrange(200), draw.choice([1, 3, 20, 45, 90])
        step = draw.choice([-1, 1, 2])
        numbers += range(start, start + size * step, step)
    return numbers[:count]


LISTS = {
    "63": shuffled(63, 1000, 1),
    "64": shuffled(64, 1000, 2),
    "65": shuffled(65, 1000, 3),
    "127": shuffled(127, 50, 4),
    "200": shuffled(200, 1000, 5),
    "many_equal": shuffled(180, 3, 6),
    "ascending": [*range(130)],
    "descending": [*range(130, 0, -1)],
    "halves": [*range(0, 200, 2), *range(1, 201, 2)],
    "turned": [*range(100, 200), *range(100)],
    "small_tail": [*range(150), 3, 70, 149],
    "small_head": [200, 100, 1, *range(150)],
    "runs": with_runs(300, 7),
    "more_runs": with_runs(350, 8),
    "blocks": [n for k in range(5) for n in range(k, 300, 5)],
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", LISTS)
def test_compares_in_order(name, reverse):
    def program(numbers, x):
        LOG.clear()
        items = [Counted(n) for n in numbers]
        items.sort(reverse=reverse)
        return [item.number for item in items], [*LOG], x + 1

    check(program, LISTS[name], X, graphs=1)


@pytest.mark.parametrize("bad", [1, 60, 140, 300, 420])
@pytest.mark.parametrize("name", ["65", "200", "halves", "runs", "turned"])
def test_raises_in_the_middle(name, bad, monkeypatch):
    monkeypatch.setattr(Counted, "bad", bad)

    def program(numbers, x):
        LOG.clear()
        items = [Counted(n) for n in numbers]
        try:
            items.sort()
        except ValueError as error:
            LOG.append(str(error))
        return [item.number for item in items], [*LOG], x + 1

    check(program, LISTS[name], X, graphs=1)


def looks_at_the_list(numbers, x):
    items = [*numbers]
    seen = []
    items.sort(key=lambda item: seen.append(len(items)) or -item)
    return items, seen, x + 1


def changes_the_list(numbers, x):
    items = [*numbers]
    try:
        items.sort(key=lambda item: items.append(item) or -item)
    except ValueError as error:
        return items, str(error), x + 1


def key_raises(numbers, x):
    items = [*numbers]
    try:
        items.sort(key=lambda item: 1 // (item - numbers[3]))
    except ZeroDivisionError as error:
        return items, str(error), x + 1


def given(numbers, x):
    numbers.sort(key=lambda item: (len(numbers), -item))
    return x + numbers[0]


def bad_reverse(numbers, x):
    found = []
    for reverse in (None, "yes", 1.0, 2, -1, True):
        try:
            found.append(sorted(numbers, reverse=reverse)[0])
        except TypeError as error:
            found.append(str(error))
    return found, x + 1


@pytest.mark.parametrize("numbers", [[3, 1, 2, 5], LISTS["127"]])
@pytest.mark.parametrize(
    "program",
    [
        looks_at_the_list,
        changes_the_list,
        key_raises,
        given,
        bad_reverse,
    ],
)
def test_keys(program, numbers):
    check(program, numbers, X)


def test_many_orders():
    """Inconsistent comparisons, too: no merge may leave its run."""

    state = [0]

    class Odd:
        def __init__(self, number):
            self.number = number

        def __lt__(self, other):
            state[0] = (state[0] * 1103515245 + 12345) % 2**31
            return state[0] // 65536 % 3 > 0

    def sort_oddly(seed, count, x):
        state[0] = seed
        items = sorted([Odd(n) for n in range(count)])
        return [item.number for item in items], state[0], x + 1

    for seed in range(6):
        check(sort_oddly, seed, 150 + 13 * seed, X, graphs=1)
