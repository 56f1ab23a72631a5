# SPDX-License-Identifier: BSD-3-Clause
"""Builtin functions with arguments that they rarely get: the graph may break,
and the result is the same.
"""

import bisect
import functools
import heapq
import itertools
import math
import operator
import types
from collections import OrderedDict, deque

import pytest
import torch

from magneto.testing import check
from support.expressions import lines

LOG = []


class Sevens(list):
    """C looks past what it says."""

    def __getitem__(self, index):
        return 7

    def __setitem__(self, index, value):
        pass

    def append(self, value):
        pass


class Short(list):
    def __getitem__(self, index):
        return 5

    def __len__(self):
        return 1


class LyingList(list):
    def __iter__(self):
        return iter([9, 8])


class LyingTuple(tuple):
    def __iter__(self):
        return iter([9, 8])


class Less:
    def __lt__(self, other):
        return True


class Logged:
    """An iterator that says how often it was asked for one."""

    def __init__(self):
        self.left = 3
        self.asked = 0

    def __iter__(self):
        self.asked += 1
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left


class Clearing:
    """Clears the container that its items are for."""

    def __init__(self, container):
        self.container = container
        self.count = 0

    def __iter__(self):
        return self

    def item(self):
        return self.count

    def __next__(self):
        self.count += 1
        if self.count == 2:
            self.container.clear()
        if self.count > 3:
            raise StopIteration
        return self.item()


class ClearingPairs(Clearing):
    def item(self):
        return self.count, 1


class Far:
    """No position, but a fine number."""

    def __index__(self):
        return 2**70


class Word:
    def __index__(self):
        return "a"


class Raising:
    def __index__(self):
        raise ValueError("no index")


class Nothing:
    def __index__(self):
        return 0


class Other:
    """What it is asked for, by tensors too, is told."""

    def __getattr__(self, name):
        LOG.append(name)
        raise AttributeError(name)

    def __radd__(self, other):
        return "radd"


class Kept:
    """Everything goes into the dict, whatever its name."""

    def __setattr__(self, name, value):
        self.__dict__[name] = value


class Meta(type):
    @functools.cached_property
    def cached(cls):
        return 1


class WithMeta(metaclass=Meta):
    pass


def heap_of_sevens():
    heap = Sevens([3, 1, 2])
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    return list.__repr__(heap), heapq.heappop(heap)


def two_of_one():
    iterator = Logged()
    a, b = itertools.tee(iterator)
    return list(a), list(b), iterator.asked


def cleared(container, method, pairs=False):
    items = (ClearingPairs if pairs else Clearing)(container)
    return getattr(container, method)(items), container


def shrunk(items):
    made = {40, 1, *range(50, 90)}
    made.difference_update(items)
    return [*made]


def asked(x):
    LOG.clear()
    return x + Other(), list(LOG)


def kept(name, value):
    made = Kept()
    setattr(made, name, value)
    return vars(made), type(made).__name__


SLICES = {
    "raising": slice(Raising(), 2),
    "no step": slice(0, 5, Nothing()),
    "far": slice(Far(), None),
}
NAMES = {
    "bisect": bisect,
    "deque": deque,
    "math": math,
    "operator": operator,
    "OrderedDict": OrderedDict,
}
MAPPING = types.MappingProxyType({1: 2})

EXPRESSIONS = """
heap_of_sevens()
heapq.heappush(deque(), 1)
heapq.heapify((1,))
heapq.heappop([])
bisect.bisect([1, 2], 1, "a")
bisect.bisect([1, 2], 1, Less())
bisect.bisect_left([1, 2], 1, 0, "b")
bisect.insort({}, 1)
bisect.insort_left((), 1)
bisect.bisect(MAPPING, 1)
bisect.bisect({1, 2}, 1)
itertools.tee([1], Less())
itertools.tee([1], -1)
two_of_one()
MAPPING.__eq__(iter({})), MAPPING.__ne__({1: 3}), MAPPING.__eq__({1: 2})
MAPPING == {1: 2}, {1: 2} == MAPPING, MAPPING != 5
cleared({1, 2}, "update")
cleared({1, 2}, "difference_update")
cleared({1, 2}, "symmetric_difference_update")
cleared({1, 2, 3, 7}, "intersection_update")
cleared({1, 2, 3, 7}, "difference")
cleared({1, 2, 3, 7}, "issuperset")
cleared([1, 2], "extend")
cleared(deque([1, 2]), "extend")
cleared({1: 1, 2: 2}, "update", pairs=True)
cleared(OrderedDict({1: 1, 2: 2}), "update", pairs=True)
(lambda made: (made.difference_update(iter(made)), made))({1, 2})
(lambda made: (made.update(iter(made)), made))({1, 2})
shrunk(iter(range(50, 90))), shrunk(dict.fromkeys(range(50, 90)).keys())
shrunk([*range(50, 90)]), shrunk(i for i in range(50, 90))
{1: [2]}.items().__eq__(None), {1: [2]}.items() > {1, 5}
{1: [2]}.items() == {1: [2]}.items(), {1: [2]}.items() <= {1: [2]}.items()
{1: [2]}.items() >= {5}
{1: 2}.items() > {(1, 2)}, {1: 2, 3: 4}.items() > {(1, 2)}
{1: 2}.keys() != {1}, {1: 2}.keys() < {1, 3}, {1: 2}.keys() >= {1}
list(itertools.islice([1, 2, 3], Far()))
list(itertools.combinations({1: 2}, Far()))
list(itertools.repeat(1, Far()))
list(itertools.product([1], repeat=Far()))
range(Far()), range(1, Far(), Far())
hex(Far()), oct(Far()), bin(Far()), math.gcd(Far(), 6)
[1].index(1, Far())
[1].index(1, 0, Far())
[1][Far()]
[1] * Far()
"a" * Far()
deque([1]).rotate(Far())
[1].pop(Far())
[1].insert(Far(), 2)
[1, 2][Far():], [1, 2][:Far()]
bytes(Far())
(1,)[Far()]
Word() * [1]
math.comb(5, Word())
[1, 2][SLICES["raising"]]
[1, 2][SLICES["no step"]]
[1, 2][SLICES["far"]], "ab"[SLICES["far"]]
[1, 2].__delitem__(SLICES["raising"])
operator.itemgetter(SLICES["raising"])((1, 2))
torch.tensor(LyingList([1, 2])), torch.tensor(LyingTuple([1, 2]))
torch.tensor([LyingList([1, 2]), Short([3, 4])])
torch.tensor(Short([1, 2]))
x[LyingList([1, 2])]
x[LyingTuple([1])]
deque([1, 2]) * torch.tensor(2), torch.tensor(2) * deque([1, 2])
torch.stack(deque([x]))
asked(x)
kept("__dict__", {"b": 1})
kept("__class__", list)
WithMeta.cached
sum(Less(), "abc")
"""


@pytest.mark.parametrize("expression", lines(EXPRESSIONS))
def test_answer(expression):
    """A value or an error, which the program catches itself."""
    source = (
        "def program(x):\n"
        "    y = x + 1\n"
        "    try:\n"
        f"        return y, {expression}\n"
        "    except Exception as error:\n"
        "        return y, type(error), str(error)\n"
    )
    scope = globals() | NAMES
    exec(source, scope)
    check(scope["program"], torch.arange(4.0))
