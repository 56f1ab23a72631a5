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


# A real class is made of the arguments when the piece ends: fields and defaults
# in lists were still empty then.
def fields_in_a_list(x):
    return collections.namedtuple("P", ["a", "b"])


def fields_by_keyword(x):
    return collections.namedtuple(typename="P", field_names=["a", "b"])


def defaults_in_a_list(x):
    return collections.namedtuple("P", ["a", "b"], defaults=[3])


def two_classes(x):
    first = collections.namedtuple("P", ["a", "b"])
    second = collections.namedtuple("Q", ["c", "d"])
    return second if first._fields == ("a", "b") else first


def derived_class(x):
    P = collections.namedtuple("P", ["a", "b"])

    class Derived(P):
        pass

    return Derived


def after_a_break(x):
    P = collections.namedtuple("P", ["a", "b"])
    magneto.graph_break()
    return P


WITH_LISTS = {
    each.__name__: each
    for each in (
        fields_in_a_list,
        fields_by_keyword,
        defaults_in_a_list,
        two_classes,
        derived_class,
        after_a_break,
    )
}


@pytest.mark.parametrize("program", WITH_LISTS.values(), ids=WITH_LISTS)
def test_fields_in_lists_are_there_in_the_real_class(program):
    compiled = magneto.compile(lambda x: (program(x), x + 1), backend="eager")
    expected = program(X)
    for _ in range(2):
        made, _ = compiled(X)
        assert made._fields == expected._fields
        assert made._field_defaults == expected._field_defaults
        assert made(1, 2) == expected(1, 2)
        for field in made._fields:
            assert (
                getattr(made, field).__doc__ == getattr(expected, field).__doc__
            )


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
