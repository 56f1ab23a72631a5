# SPDX-License-Identifier: BSD-3-Clause
"""Attributes of instances of classes derived from tuple, which have a __dict__
unless their class says ``__slots__ = ()``.
"""

import collections
import copy
import pickle
from unittest import mock

import pytest
import torch

import magneto
from magneto.testing import check, check_calls

X = torch.arange(4.0)


class Named(tuple):
    rank = "the class's"

    def __new__(cls, *items):
        return tuple.__new__(cls, items)

    def __init__(self, *items):
        self.name = f"of {len(items)}"


def made(x):
    pair = Named(x, 2)
    pair.total = x.sum() + pair[1]
    return pair, pair.name, pair.rank, vars(pair), pair.total


def made_before_a_break(x):
    pair = Named(x, 2)
    pair.rank = "its own"
    pair.own = pair
    magneto.graph_break()
    pair.late = x + 1
    return pair.name, pair.rank, pair.late, pair.own is pair, sorted(vars(pair))


def deleted(x):
    pair = Named(x)
    pair.rank = 1
    del pair.rank
    found = [pair.rank]
    for name in "rank", "absent":
        try:
            delattr(pair, name)
        except AttributeError as error:
            found.append(str(error))
    magneto.graph_break()
    return pair, pair.rank, found


def read(x, pair):
    return pair.name, pair.rank, pair[0] + 1, getattr(pair, "absent", None)


def written(x, pair):
    pair.rank = "its own"
    pair.sum = pair[0] + x
    del pair.name
    magneto.graph_break()
    pair.rank += ", again"
    return pair.rank, vars(pair)


class Reversible(tuple):
    _reversed = None

    def reversed(self):
        if self._reversed is None:
            self._reversed = self.__class__(reversed(self))
            self._reversed._reversed = self
        return self._reversed


def cached(x):
    forth = Reversible([1, x])
    back = forth.reversed()
    magneto.graph_break()
    again = back.reversed()
    return forth, back, again is forth, forth.reversed() is back


class Point(collections.namedtuple("Point", "x y")):
    def __init__(self, *args, **kwargs):
        self.label = "p"

    def moved(self, by):
        result = self._replace(x=self.x + by)
        result.label = self.label + "'"
        return result


def named_fields(x):
    point = Point(x, 2)
    moved = point.moved(1).moved(x)
    return moved, moved.label, moved.x, point.label


class Without(tuple):
    __slots__ = ()
    rank = 1


def without_a_dictionary(x):
    found = []
    for name in "rank", "absent":
        try:
            setattr(Without([x]), name, 2)
        except AttributeError as error:
            found.append(str(error))
    return found, x + 1


def copied(x):
    pair = Named(1, [2])
    pair.items = pair[1]
    shallow, deep = copy.copy(pair), copy.deepcopy(pair)
    return shallow, deep, deep.items is deep[1], shallow.items is pair[1], x + 1


def pickled(x):
    pair = Named(1, 2)
    pair.rank = 3
    found = pickle.loads(pickle.dumps(pair))
    return found, vars(found), x + 1


def as_keys(x):
    pair = Named(1, 2)
    pair.rank = 3
    table = {pair: x, (1, 3): 4}
    magneto.graph_break()
    return table[1, 2] + 1, [getattr(key, "rank", None) for key in table]


def operands(x):
    pair = Named(1, 2)
    pair.rank = 3
    results = [pair + (1,), pair * 2, pair[:], tuple(pair), (*pair,)]
    return [(type(each), each) for each in results], x + 1


class Door:
    def open(self):
        return "open"


def patched(x):
    with mock.patch.object(Door, "open") as mocked:
        mocked.side_effect = ["shut"]
        found = Door().open()
    return found, mocked.call_count, Door().open(), x + 1


def patched_behind_a_break(x):
    with mock.patch.object(Door, "open") as mocked:
        magneto.graph_break()
        mocked.side_effect = ["shut"]
        found = Door().open()
        mocked.assert_called_once_with()
    return found, mocked.call_args_list == [mock.call()], x + 1


PROGRAMS = [
    made,
    made_before_a_break,
    deleted,
    cached,
    named_fields,
    without_a_dictionary,
    copied,
    pickled,
    as_keys,
    operands,
    patched,
    patched_behind_a_break,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_plain_python(program):
    check_calls(program, [((X,), {})] * 2)


def pairs():
    plain, own, other = Named(X), Named(X), Named(X)
    own.rank = "its own"
    other.rank = 7
    return [plain, own, other, plain]


@pytest.mark.parametrize("program", [read, written], ids=lambda p: p.__name__)
def test_the_callers(program):
    check_calls(program, [((X, pair), {}) for pair in pairs()])


def test_the_callers_are_written_once_a_call():
    pair = Named(X)

    @magneto.compile(fullgraph=True)
    def count(pair):
        pair.calls = getattr(pair, "calls", 0) + 1
        return pair[0] * pair.calls

    for expected in 1, 2, 3, 4:
        assert torch.equal(count(pair), X * expected)
        assert pair.calls == expected


@pytest.mark.parametrize(
    "program", [made, named_fields], ids=lambda p: p.__name__
)
def test_in_one_graph(program):
    check(program, X, fullgraph=True, graphs=1)
