# SPDX-License-Identifier: BSD-3-Clause
# Corners of calls, of hash() and of what iterators are, that CPython decides in
# an unexpected way.
import collections
import traceback

import pytest
import torch

import magneto
from magneto.testing import check

LOG = []


class Hashed:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


class Mapping:
    def keys(self):
        LOG.append("keys")
        return ["c", "a", "b"]

    def __getitem__(self, key):
        LOG.append(key)
        return 1


def keywords(**given):
    return given


def raised(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def deleter():
    value = 1

    def delete():
        nonlocal value
        del value

    return delete


HASHES = [0, -1, -2, 2**61 - 1, 2**62, -(2**63), 2**63, 10**30, True, 2.5, None]


def hashes(x):
    return x + 1, [raised(lambda n=n: hash(Hashed(n))) for n in HASHES]


def keywords_twice(x):
    LOG.clear()
    return (
        x + 1,
        raised(lambda: keywords(a=1, **Mapping())),
        raised(lambda: keywords(**{"a": 1}, **Mapping())),
        [*LOG],
    )


def keywords_twice_in_a_handler(x):
    try:
        raise ValueError
    except ValueError:
        return x + 1, raised(lambda: keywords(b=2, **{"b": 3}))  # noqa: PIE804


def free_variable_deleted_twice(x):
    delete = deleter()
    delete()
    return x + 1, raised(delete)


def unhashable_keys_of_empty_dicts(x):
    key = (1, [2])
    return (
        x + 1,
        {}.pop(key, None),
        raised(lambda: {}.pop(key)),
        raised(lambda: {1: 2}.pop(key, None)),
    )


def iterators_at_their_end(x):
    ordered = collections.OrderedDict(a=1)
    made = [
        iter({1: 2}),
        iter({1: 2}.items()),
        reversed({1: 2}.values()),
        iter(ordered),
        reversed(ordered),
        iter({1}),
        reversed([1, 2]),
        reversed((1, 2)),
        reversed(range(3)),
        iter(collections.deque([1])),
        reversed(collections.deque([1])),
        iter([1]),
        iter("ab"),
    ]
    for iterator in made:
        list(iterator)
    return x + 1, [type(i) for i in made], made


def reraised_nothing():
    raise


def nothing_to_raise(x):
    try:
        reraised_nothing()
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return x + 1, [(frame.name, frame.lineno) for frame in frames]


PROGRAMS = [
    hashes,
    keywords_twice,
    keywords_twice_in_a_handler,
    free_variable_deleted_twice,
    unhashable_keys_of_empty_dicts,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_calls_give(program):
    check(program, torch.ones(2), graph_breaks=0)


def test_the_traceback_of_nothing_to_raise():
    check(nothing_to_raise, torch.ones(2))


def test_iterators_keep_their_classes():
    check(lambda x: iterators_at_their_end(x)[:2], torch.ones(2))
    compiled = magneto.compile(iterators_at_their_end, backend="eager")
    expected = [type(i) for i in iterators_at_their_end(torch.ones(2))[2]]
    made = compiled(torch.ones(2))[2]
    assert [type(i) for i in made] == expected
    assert [list(i) for i in made] == [[]] * len(made)
