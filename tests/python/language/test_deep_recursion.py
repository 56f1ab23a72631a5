# SPDX-License-Identifier: BSD-3-Clause
"""Recursion that the C stack has no room for but sys.setrecursionlimit()
allows: Python-to-Python calls use none of the C stack.
"""

import copy
import sys
import threading

import pytest
import torch

import magneto
from magneto.testing import check

LIMIT = 200_000
LEVELS = 30_000


@pytest.fixture(autouse=True)
def high_limit():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(LIMIT)
    yield
    sys.setrecursionlimit(limit)


def traced(x, levels):
    return x if levels == 0 else traced(x, levels - 1) + 1


def breaks_at_each(x, levels):
    if levels == 0:
        return x
    magneto.graph_break()
    return breaks_at_each(x, levels - 1) + 1


def depth(levels):
    return 0 if levels == 0 else depth(levels - 1) + 1


def behind_a_break(x, levels):
    y = x + 1
    magneto.graph_break()
    return y + depth(levels)


def raises(x, levels):
    try:
        if levels == 0:
            raise ValueError("at the end")
        return raises(x, levels - 1)
    finally:
        x = x + 1


def caught(x, levels):
    try:
        raises(x, levels)
    except ValueError as error:
        entries = 0
        entry = error.__traceback__
        while entry:
            entry = entry.tb_next
            entries += 1
        return x + 1, entries


def endless(x, levels):
    return endless(x, levels + 1) + 1


def caught_at_the_limit(x, levels):
    try:
        return endless(x, levels)
    except RecursionError as error:
        return x + 1, str(error)


PROGRAMS = [
    traced,
    breaks_at_each,
    behind_a_break,
    caught,
    caught_at_the_limit,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_deep_recursion(program):
    check(program, torch.ones(2), LEVELS)


@pytest.mark.parametrize("size", [512 * 1024, 16 * 1024 * 1024])
def test_deep_recursion_in_a_thread(size):
    results = []

    def run():
        compiled = magneto.compile(traced, backend="eager")
        results.extend(compiled(torch.zeros(1), LEVELS) for _ in range(2))

    before = threading.stack_size(size)
    thread = threading.Thread(target=run)
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert results == [torch.full((1,), float(LEVELS))] * 2


def test_what_is_no_deep_recursion_is_compiled_all_the_same():
    def shallow(x):
        return x * 2 + 1

    def deep_once(x, levels):
        return shallow(x) + depth(levels)

    compiled = magneto.compile(deep_once, backend="eager")
    x = torch.ones(2)
    assert torch.equal(compiled(x, LEVELS), deep_once(x, LEVELS))
    report = check(shallow, x)
    assert len(report.graphs) == 1


# Data that are nested as deep.


class Node:
    def __init__(self, following):
        self.following = following


def linked(count):
    node = None
    for _ in range(count):
        node = Node(node)
    return node


def unlink(node):
    """One by one, as C code that frees them all at once is recursive."""
    while node is not None:
        following = node.following
        node.following = None
        node = following


def walks(x, node):
    count = 0
    while node is not None:
        node = node.following
        count += 1
    return x + count


def test_a_long_list_is_walked():
    node = linked(LEVELS)
    compiled = magneto.compile(walks, backend="eager")
    for _ in range(2):
        assert torch.equal(
            compiled(torch.zeros(1), node), torch.full((1,), 3e4)
        )
    unlink(node)


NESTED = {
    "list": "[inner]",
    "tuple": "(inner,)",
    "dict": "{'key': inner}",
    "map": "map(abs, inner)",
}


def nesting(kind, expression):
    """A program that nests `levels` containers and looks at the result."""
    scope = {"copy": copy}
    source = f"""
def program(x, levels):
    inner = []
    for _ in range(levels):
        inner = {NESTED[kind]}
    try:
        found = {expression}
    except RecursionError:
        found = "too deep"
    depth = 0
    while {kind != "map"} and inner:
        inner = inner["key" if {kind == "dict"} else 0]
        depth += 1
    return x + 1, found, depth
"""
    exec(source, scope)
    return scope["program"]


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize(
    "expression", ["type(inner)", "copy.copy(inner) is inner"]
)
def test_nested_containers(kind, expression):
    check(nesting(kind, expression), torch.ones(1), LEVELS)


@pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
@pytest.mark.parametrize(
    "expression",
    ["repr(inner)", "f'{inner}'", "copy.deepcopy(inner)", "inner == [inner]"],
)
def test_nested_containers_at_the_limit(kind, expression):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(900)
    program = nesting(kind, expression)
    compiled = magneto.compile(program, backend="eager")
    try:
        expected = program(torch.ones(1), 50_000)
        results = [compiled(torch.ones(1), 50_000) for _ in range(2)]
    finally:
        sys.setrecursionlimit(limit)
    assert all(each[1:] == expected[1:] for each in results)
