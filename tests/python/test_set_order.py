# SPDX-License-Identifier: BSD-3-Clause
"""The order of sets: that of CPython's tables, which grow in one way when items
are added and in another when a whole set or dict is."""

import itertools

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)
FEW = {1, 2, 3}
MORE = {17, 40, 20, 33}
MANY = [64, 33, 1, 2, 3, 100, 40, 17, 81, 20]

OPERATIONS = {
    "union": lambda a, b: a | b,
    "union_method": lambda a, b: a.union(b),
    "difference": lambda a, b: a - b,
    "intersection": lambda a, b: a & b,
    "symmetric_difference": lambda a, b: a ^ b,
    "updated": lambda a, b: a.copy() | set() | b,
    "display": lambda a, b: {*a, *b},
    "in_place": lambda a, b: set(a).__ior__(b),
    "update": lambda a, b: [c := set(a), c.update(b)][0],
    "difference_update": lambda a, b: [c := set(a), c.difference_update(b)][0],
    "again": lambda a, b: {*(a | b), *b, 5},
    "frozen": lambda a, b: frozenset(a) | b,
    "of_dict": lambda a, b: set(dict.fromkeys([*a, *b])),
    "of_list": lambda a, b: set([*a, *b]),
    "union_then_removed": lambda a, b: (a | b) - {1},
    "removed_then_union": lambda a, b: [
        c := set(a), c.discard(2), c.update(b), c.discard(20), c.add(2)
    ][0],
}  # fmt: skip


def operands():
    yield from itertools.product([set(), FEW, MORE, {*MANY}], repeat=2)


@pytest.mark.parametrize("name", OPERATIONS)
def test_order(name):
    operation = OPERATIONS[name]

    def program(x):
        found = []
        made = []
        for a, b in (
            (set(), {17, 40, 20, 33}),
            ({1, 2, 3}, {17, 40, 20, 33}),
            ({17, 40, 20, 33}, {1, 2, 3}),
            ({1, 2, 3}, set()),
            ({64, 33, 1, 2, 3, 100, 40}, {1, 2, 3, 17}),
            ({1, 2, 3, 17}, {64, 33, 1, 2, 3, 100, 40}),
        ):
            result = operation(a, b)
            found.append(list(result))
            made.append(result)
        magneto.graph_break()
        return found, [list(each) for each in made], x + 1

    check_calls(program, [((X,), {})] * 2)


@pytest.mark.parametrize("name", OPERATIONS)
def test_order_of_the_callers(name):
    operation = OPERATIONS[name]

    def program(x, a, b):
        result = operation(a, b)
        return list(result), result, x + 1

    for a, b in operands():
        check_calls(program, [((X, set(a), set(b)), {})] * 2)


def test_the_callers_set_is_merged_into():
    def program(x, a):
        a |= {17, 40, 20, 33}
        found = list(a)
        magneto.graph_break()
        return found, list(a), x + 1

    check_calls(program, [((X, {1, 2, 3}), {})] * 2)
