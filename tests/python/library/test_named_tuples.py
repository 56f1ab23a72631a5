# SPDX-License-Identifier: BSD-3-Clause
"""collections.namedtuple: classes that the compiled function makes itself."""

import collections

import pytest
import torch

import magneto
from magneto.testing import compare
from support.compiled_calls import graphs_of

X = torch.arange(1.0, 7.0).reshape(2, 3)


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
