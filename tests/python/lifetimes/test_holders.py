# SPDX-License-Identifier: BSD-3-Clause
"""An object that something made in the compiled function holds dies where its
holder does: holders of all kinds, dropped in several ways.
"""

from __future__ import annotations

import collections
import functools
import itertools
import types
from typing import Any

import pytest
import torch

import magneto

LOG: list[Any] = []
X = torch.ones(2)


class Noisy:
    def __del__(self):
        LOG.append("died")


class Box:
    def __init__(self, value):
        self.value = value

    def method(self):
        pass


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def same(value):
    return value


# Of `n`.
HOLDERS = {
    "list": "[n]",
    "tuple": "(n,)",
    "dict": "{'a': n}",
    "key": "{n: 1}",
    "set": "{n}",
    "frozenset": "frozenset([n])",
    "nested": "[[(n,)]]",
    "deque": "collections.deque([n])",
    "ordered": "collections.OrderedDict(a=n)",
    "default": "collections.defaultdict(list, {'a': n})",
    "counter": "collections.Counter([n])",
    "chained": "collections.ChainMap({'a': n})",
    "view": "{'a': n}.items()",
    "proxy": "types.MappingProxyType({'a': n})",
    "instance": "Box(n)",
    "slots": "Slots(n)",
    "namespace": "types.SimpleNamespace(a=n)",
    "bound": "Box(n).method",
    "method": "[n].append",
    "defaults": "(lambda q=n: q)",
    "keyword defaults": "(lambda *, q=n: q)",
    "closure": "(lambda: (lambda z: (lambda: z))(n))()",
    "partial": "functools.partial(same, n)",
    "exception": "ValueError(n)",
    "slice": "slice(n)",
    "iterator": "iter([n])",
    "reversed": "reversed([n])",
    "enumerate": "enumerate([n])",
    "zip": "zip([n], [1])",
    "map": "map(same, [n])",
    "filter": "filter(None, [n])",
    "generator": "(q for q in [n])",
    "repeat": "itertools.repeat(n)",
    "chain": "itertools.chain([n], [1])",
    "cycle": "itertools.cycle([n])",
    "product": "itertools.product([n], [1])",
    "comprehension": "[n for _ in range(2)]",
}

# With {} in the place of the holder.
WAYS = {
    "overwritten": """
def program(x):
    n = Noisy()
    magneto.graph_break()
    x = x + 1
    h = {}
    n = None
    LOG.append("variable")
    h = None
    LOG.append("holder")
    return x + 1
""",
    "popped": """
def program(x):
    n = Noisy()
    magneto.graph_break()
    x = x + 1
    h = {}
    del n
    LOG.append("variable")
    h = [h]
    LOG.append("held")
    h.pop()
    LOG.append("popped")
    return x + 1
""",
    "dropped": """
def program(x):
    n = Noisy()
    magneto.graph_break()
    x = x + 1
    h = ({}, 1)[1]
    LOG.append("holder")
    del n
    LOG.append("variable")
    return x + 1
""",
    "left by a call": """
def called(x, n):
    h = {}
    del n
    y = x * 2
    LOG.append("in")
    return y

def program(x):
    n = Noisy()
    magneto.graph_break()
    x = x + 1
    b = [n]
    del n
    y = called(x, b.pop())
    LOG.append("after")
    return x + y
""",
    "deleted in a handler": """
def program(x):
    n = Noisy()
    magneto.graph_break()
    x = x + 1
    try:
        h = {}
        del n
        raise KeyError
    except KeyError:
        LOG.append("handler")
        del h
        LOG.append("deleted")
    LOG.append("after")
    return x + 1
""",
}


def outcome(call):
    LOG.clear()
    result = call(X).tolist()
    return result, list(LOG)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_dies_where_its_holder_does(holder, way):
    scope = dict(
        globals(),
        collections=collections,
        functools=functools,
        itertools=itertools,
        types=types,
    )
    exec(WAYS[way].format(HOLDERS[holder]), scope)
    program = scope["program"]
    expected = outcome(program)
    assert "died" in expected[1]
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert outcome(compiled) == expected
