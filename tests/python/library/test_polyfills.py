# SPDX-License-Identifier: BSD-3-Clause
"""Polyfills against the functions that they replace, without a trace."""

import collections
import copy
import itertools
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magneto.polyfills import builtins as builtins_polyfills
from magneto.polyfills import collections as collections_polyfills
from magneto.polyfills import combinatorics, shared_iterators
from magneto.polyfills import copy as copy_polyfills
from magneto.polyfills import itertools as itertools_polyfills
from magneto.polyfills import logging as logging_polyfills
from magneto.polyfills.iterators import State

small = st.integers(-2, 5)
items = st.lists(st.integers(-3, 3), max_size=6)


def outcome(function, *args, **kwargs):
    """What a call gives: items, or the error's type and text."""
    try:
        result = function(*args, **kwargs)
        if hasattr(result, "__next__"):
            result = list(itertools.islice(result, 50))
        return result
    except Exception as error:
        return type(error), str(error)


def polyfill_of(name):
    for module in (itertools_polyfills, combinatorics, shared_iterators):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(name)


def real(state):
    """What the artifact makes of a state, and of the states in it."""
    parts = [getattr(state, name, None) for name in state.parts]
    return state.real(
        *[real(part) if isinstance(part, State) else part for part in parts]
    )


def same(name, *args, **kwargs):
    polyfill = polyfill_of(name)
    original = getattr(itertools, name)
    assert outcome(polyfill, *args, **kwargs) == outcome(
        original, *args, **kwargs
    )
    # Wherever it stands, a real one goes on in the same way.
    for count in range(4):
        try:
            ours, theirs = polyfill(*args, **kwargs), original(*args, **kwargs)
        except Exception:
            return
        for iterator in (ours, theirs):
            outcome(lambda it=iterator: itertools.islice(it, count))
        rest = real(ours)
        assert type(rest) is type(theirs)
        assert outcome(lambda it=rest: it) == outcome(lambda it=theirs: it)


@given(items, items)
def test_itertools_over_lists(a, b):
    same("accumulate", a)
    same("accumulate", a, lambda p, q: p * q, initial=3)
    same("chain", a, b)
    same("compress", a, b)
    same("cycle", a)
    same("dropwhile", lambda v: v < 1, a)
    same("filterfalse", None, a)
    same("filterfalse", lambda v: v > 0, a)
    same("pairwise", a)
    same("product", a[:3], b[:3])
    same("product", a[:2], repeat=2)
    same("starmap", max, [(p, q) for p, q in zip(a, b)])
    same("takewhile", lambda v: v < 1, a)
    same("zip_longest", a, b, [1], fillvalue="f")
    assert list(itertools_polyfills.chain_from_iterable([a, b])) == a + b


@given(items, small)
def test_itertools_with_a_size(a, r):
    same("combinations", a, r)
    same("combinations_with_replacement", a, r)
    same("permutations", a, r)
    same("permutations", a)
    same("repeat", "x", r)


@given(items, small, st.none() | small, st.none() | small)
def test_islice(a, start, stop, step):
    same("islice", a, stop)
    same("islice", a, start, stop)
    same("islice", a, start, stop, step)
    # Both leave the same items behind.
    ours, theirs = iter(a), iter(a)
    outcome(itertools_polyfills.islice, ours, start, stop, step)
    outcome(itertools.islice, theirs, start, stop, step)
    assert list(ours) == list(theirs)


@given(items, st.booleans())
def test_groupby(a, use):
    def run(groupby):
        found = []
        for key, group in groupby(a, (lambda v: v % 2) if use else None):
            # Every other group is left where it is.
            found.append((key, list(group) if len(found) % 2 else None))
        return found

    assert run(shared_iterators.groupby) == run(itertools.groupby)


def test_groupby_of_the_past_is_empty():
    for groupby in (shared_iterators.groupby, itertools.groupby):
        (_, first), (_, second) = groupby([1, 1, 2])
        assert list(first) == []


def groups(iterator, pattern, begun):
    """What is left of a groupby that is read as the pattern says: True takes
    an item of the group, False goes on to the next one.
    """
    found, group = begun
    for wants_item in pattern:
        if wants_item and group is not None:
            found.append(next(group, None))
        else:
            key, group = next(iterator, (None, None))
            found.append(key)
    return found, group


@given(items, st.lists(st.booleans()), st.lists(st.booleans()))
def test_groupby_that_was_begun(a, before, after):
    theirs = itertools.groupby(a)
    ours = shared_iterators.groupby(a)
    begun = groups(ours, before, ([], None))
    assert begun[0] == groups(theirs, before, ([], None))[0]
    expected = groups(theirs, after, ([], None))
    assert groups(real(ours), after, ([], None))[0] == expected[0]
    # A group goes on, too, over the iterator that it belongs to.
    if begun[1] is not None and begun[1].parent is not None:
        ours = shared_iterators.groupby(a)
        theirs = itertools.groupby(a)
        _, group = groups(ours, before, ([], None))
        whole = real(ours)
        rest = group.real(whole, group.wanted)
        _, group = groups(theirs, before, ([], None))
        expected = groups(theirs, after, ([], group))
        assert groups(whole, after, ([], rest))[0] == expected[0]


@given(
    st.lists(st.integers(), max_size=130),
    st.integers(0, 3),
    st.lists(st.integers(0, 130), min_size=3, max_size=3),
)
def test_tee(a, n, read):
    ours = shared_iterators.tee(iter(a), n)
    for it, count in zip(ours, read, strict=False):
        assert list(itertools.islice(it, count)) == a[:count]
    assert len(ours) == n
    if not n:
        return
    # The real ones share what they read, too.
    blocks = real(ours[0].shared)
    theirs = [it.real(blocks, it.position) for it in ours]
    for it, count in zip(theirs, read, strict=False):
        assert list(it) == a[count:]


def test_tee_of_tee():
    (ours,) = shared_iterators.tee([1, 2, 3], 1)
    assert next(ours) == 1
    first, second = shared_iterators.tee(ours)
    assert first is ours
    assert list(first) == list(second) == [2, 3]


def test_count():
    same("count")
    same("count", 5, 2)
    same("count", 1.5, 0.5)
    same("count", step=-1)


@pytest.mark.parametrize(
    "args", [(3,), ([1],), ([1], 1, 2, 3, 4), ([1], "a"), ([1], 0, "a")]
)
def test_islice_errors(args):
    original = outcome(itertools.islice, *args)
    assert outcome(itertools_polyfills.islice, *args)[0] is original[0]


def test_iterators_go_on_after_an_error():
    def run(starmap, accumulate):
        found = []
        it = starmap(divmod, [(1, 0), (3, 2), (1, 0), (5, 1)])
        totals = accumulate([1, "a", 2])
        for iterator in (it, totals):
            for _ in range(5):
                try:
                    found.append(next(iterator, None))
                except (ZeroDivisionError, TypeError) as error:
                    found.append(type(error))
        return found

    assert run(
        itertools_polyfills.starmap, itertools_polyfills.accumulate
    ) == run(itertools.starmap, itertools.accumulate)


def test_iter_until():
    ours, theirs = [3, 2, 1], [3, 2, 1]
    assert list(builtins_polyfills.iter_until(ours.pop, 3)) == list(
        iter(theirs.pop, 3)
    )
    assert ours == theirs
    assert outcome(builtins_polyfills.iter_until, 3, 3) == outcome(iter, 3, 3)


@given(items)
def test_collections(a):
    counted = {}
    collections_polyfills.count_elements(counted, a)
    assert counted == dict(collections.Counter(a))
    made = collections_polyfills.ordered_from_keys(
        collections.OrderedDict, a, 1
    )
    assert made == collections.OrderedDict.fromkeys(a, 1)


class Thing:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)


class Slots:
    __slots__ = ("a", "__b")

    def __init__(self):
        self.a = [1]
        self.__b = 2

    def __eq__(self, other):
        return self.a == other.a and self.__b == other.__b


class Words(list):
    pass


class Table(dict):
    pass


class Pickled:
    def __init__(self, v):
        self.v = v

    def __reduce__(self):
        return Pickled, (self.v,)

    def __eq__(self, other):
        return self.v == other.v


class WithState(Thing):
    def __getstate__(self):
        return {"state": self.v}

    def __setstate__(self, state):
        self.v = state["state"] + 1


def originals():
    shared = [1]
    loop = [shared]
    loop.append(loop)
    words = Words([1, [2]])
    words.name = "w"
    return [
        3,
        "a",
        None,
        (1, [2]),
        (1, 2),
        [1, [2]],
        {"a": [1]},
        {1, 2},
        frozenset([1]),
        Thing([1]),
        Thing(Thing(2)),
        Slots(),
        words,
        Table(a=[1]),
        Pickled([1]),
        WithState(1),
        len,
        Thing,
        range(3),
        collections.OrderedDict(a=[1]),
        [shared, shared],
    ]


@pytest.mark.parametrize("i", range(len(originals())))
def test_copy(i):
    x = originals()[i]
    for ours, theirs in (
        (copy_polyfills.copy, copy.copy),
        (copy_polyfills.deepcopy, copy.deepcopy),
    ):
        made, expected = ours(x), theirs(x)
        assert made == expected
        assert type(made) is type(expected)
        assert (made is x) == (expected is x)
        if hasattr(x, "__dict__"):
            assert vars(made) == vars(expected)


def test_deepcopy_keeps_sharing_and_cycles():
    shared = [1]
    loop = [shared, shared]
    loop.append(loop)
    made = copy_polyfills.deepcopy(loop)
    assert made[0] is made[1] is not shared
    assert made[2] is made


@pytest.mark.parametrize("level", [10, 20, 30, 40])
def test_is_enabled_for(level):
    parent = logging.getLogger("magneto.test.parent")
    parent.setLevel(30)
    child = logging.getLogger("magneto.test.parent.child")
    for logger in (parent, child, logging.getLogger()):
        assert logging_polyfills.is_enabled_for(
            logger, level
        ) == logger.isEnabledFor(level)
