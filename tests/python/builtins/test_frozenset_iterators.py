# SPDX-License-Identifier: BSD-3-Clause
"""Iterators over frozensets of the caller's, which are constants."""

import pytest
import torch

import magneto


def begun(x, items):
    it = iter(items)
    first = next(it, None)
    return x + 1, it, first, it.__length_hint__()


def at_its_end(x, items):
    it = iter(items)
    seen = list(it)
    return x + 1, it, seen, next(it, "end"), type(it).__name__


def over_breaks(x, items):
    seen = []
    for item in items:
        magneto.graph_break()
        seen.append(item)
    it = iter(items)
    next(it, None)
    magneto.graph_break()
    return x + 1, it, seen


def consumed(x, items):
    return (
        x + 1,
        [*items],
        {*items} == items,
        sum(1 for _ in items),
        [*zip(items, items, strict=True)],
        dict.fromkeys(items),
        sorted(map(str, items)),
    )


def written_down(x, items):
    it = iter(frozenset({1, 2, 3}))
    return x + 1, next(it), it


def seen(result):
    return [
        (type(each).__name__, list(each)) if hasattr(each, "__next__") else each
        for each in result[1:]
    ]


@pytest.mark.parametrize(
    "program", [begun, at_its_end, over_breaks, consumed, written_down]
)
@pytest.mark.parametrize(
    "items", [frozenset([3, 1, "a", (1, 2)]), frozenset()], ids=["some", "none"]
)
def test_iterators_over_frozensets(program, items):
    compiled = magneto.compile(program, backend="eager")
    expected = seen(program(torch.ones(1), items))
    for _ in range(2):
        assert seen(compiled(torch.ones(1), items)) == expected
