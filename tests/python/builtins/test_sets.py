# SPDX-License-Identifier: BSD-3-Clause
"""Sets: their order, which is that of CPython's hash tables (they grow in one
way when items are added and in another when a whole set or dict is), and
iterators over the caller's frozensets, which are constants.
"""

import itertools
from collections import OrderedDict

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
    "difference_update_then_added": lambda a, b: [
        c := set(a), c.difference_update(b), c.update([8, 16, 24])
    ][0],
    "drops_a_list": lambda a, b: [c := set(a), c.difference_update([*b])][0],
    "drops_in_place": lambda a, b: (set(a) | {8, 16}).__isub__(b),
    "drops_itself": lambda a, b: [
        c := set(a), c.difference_update(c), c.update(b)
    ][0],
    "xor_with_itself": lambda a, b: [
        c := set(a), c.symmetric_difference_update(c), c.update(b)
    ][0],
    "kept_with_itself": lambda a, b: [c := a | b, c.__iand__(c)][0],
    "united_with_itself": lambda a, b: a | a,
    "united_with_itself_and_more": lambda a, b: a.union(a, b, a),
    "again": lambda a, b: {*(a | b), *b, 5},
    "frozen": lambda a, b: frozenset(a) | b,
    "xor_with_frozen": lambda a, b: b ^ frozenset([24, 16, 8, 0]),
    "in_place_xor_with_frozen": lambda a, b: set(b).__ixor__(
        frozenset([33, 65, 1, 17])
    ),
    "frozen_union_with_none": lambda a, b: frozenset([*b, 24, *a]).union(),
    "frozen_minus_none": lambda a, b: frozenset([*b, 24, *a]).difference(),
    "kept_with_none": lambda a, b: [
        c := a | b, c.difference_update(a), c.intersection_update()
    ][0],
    "kept_with_many": lambda a, b: [
        c := a | b, c.intersection_update([1, 2, 17, 33], c, {33: 1, 17: 2})
    ][0],
    "frozen_xor": lambda a, b: frozenset(a) ^ b,
    "xor_frozen": lambda a, b: frozenset([*a, 16]) ^ frozenset([*b, 24]),
    "frozen_difference": lambda a, b: frozenset(a).difference([1, 8], b),
    "frozen_xor_and_more": lambda a, b: {0, 7, 24} | (frozenset(a) ^ b),
    "frozen_copies": lambda a, b: set(frozenset(a) - b) | frozenset(a ^ b),
    "union_of_three": lambda a, b: a.union(b, {5, 9, 24, 25, 41}),
    "difference_of_three": lambda a, b: a.difference(b, {5, 64}, [33]),
    "intersection_of_three": lambda a, b: a.intersection(b, [20, 1, 17]),
    "with_itself": lambda a, b: (a & a) | (b ^ b) | (a - a),
    "keys_union": lambda a, b: dict.fromkeys(a).keys() | b,
    "keys_intersection": lambda a, b: dict.fromkeys(a).keys() & b,
    "keys_difference": lambda a, b: dict.fromkeys(a).keys() - b,
    "keys_xor": lambda a, b: dict.fromkeys(a).keys() ^ b,
    "reflected_union": lambda a, b: a | dict.fromkeys(b).keys(),
    "reflected_intersection": lambda a, b: a & dict.fromkeys(b).keys(),
    "reflected_difference": lambda a, b: a - dict.fromkeys(b).keys(),
    "reflected_xor": lambda a, b: a ^ dict.fromkeys(b).keys(),
    "views": lambda a, b: dict.fromkeys(a).keys() & dict.fromkeys(b).keys(),
    "views_or": lambda a, b: dict.fromkeys(a).keys() | dict.fromkeys(b).keys(),
    "views_xor": lambda a, b: dict.fromkeys(a).keys() ^ dict.fromkeys(b).keys(),
    "items_xor": lambda a, b: (
        dict.fromkeys(a).items() ^ dict.fromkeys(b).items()
    ),
    "items_and": lambda a, b: (
        dict.fromkeys(a).items() & dict.fromkeys(b).items()
    ),
    "items_minus": lambda a, b: (
        dict.fromkeys(a).items() - dict.fromkeys(b).items()
    ),
    "xor_with_dict": lambda a, b: [
        c := set(a), c.symmetric_difference_update(dict.fromkeys([*b, 65]))
    ][0],
    "xor_with_list": lambda a, b: a.symmetric_difference([*b, 65, 97]),
    "ordered_keys": lambda a, b: OrderedDict.fromkeys(a).keys() | b,
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


def test_the_callers_set_drops_many():
    def program(x, a):
        a -= {1, 2, 3, 4}
        found = list(a)
        magneto.graph_break()
        a.add(32)
        return found, list(a), x + 1

    check_calls(program, [((X, {1, 2, 3, 4, 8, 16}), {})] * 2)


@pytest.mark.parametrize("dropped", [{1, 2}, {1, 2, 3}, [1, 2], {2, 1, 0.5}])
def test_a_table_shrinks_or_grows(dropped):
    """Where a quarter of the places is unused, all are placed anew."""

    def program(x):
        made = {8, 1, 2, 3}
        made.difference_update(dropped)
        before = list(made)
        made.add(16)
        return before, made, list(made), x + 1

    check_calls(program, [((X,), {})] * 2)


def shrunk():
    """Equal to {8, 16}, but in another order, with gaps."""
    made = {1, 2, 3, 4, 8, 16}
    made -= {1, 2, 3, 4}
    return made


def with_gaps():
    made = {8, 0, 1, 2}
    made.discard(0)
    made.discard(1)
    made.discard(2)
    made.add(16)
    return made


def popped():
    made = {0, 1, 8, 16}
    made.pop()
    made.pop()
    return made


ALIKE = [lambda: {8, 16}, lambda: {16, 8}, shrunk, with_gaps, popped]


def iterated(x, a):
    return list(a), x + 1


def copied(x, a):
    return list(set(a)), set(a), a | {24}, [*({3, 5} | a)], x + 1


def grown(x, a):
    a.add(24)
    a.add(0)
    found = list(a)
    a.update({32, 40, 1})
    return found, list(a), x + 1


def shrinking(x, a):
    a.update(range(1, 6))
    a -= {1, 2, 3, 4}
    return list(a), x + 1


def shown(x, a):
    return repr(a), f"{a}", x + 1


def taken(x, a):
    first = a.pop()
    a.add(0)
    second = a.pop()
    a.add(1)
    return first, second, list(a), x + 1


def kept(x, a):
    a &= {16, 8, 4}
    a.add(0)
    return list(a), x + 1


def emptied(x, a):
    a.clear()
    a.update([16, 8])
    return list(a), x + 1


def broken_off(x, a):
    a.add(24)
    first = a.pop()
    magneto.graph_break()
    a.add(0)
    return first, a.pop(), list(a), x + 1


READING = [iterated, copied, shown]
CHANGING = [grown, shrinking, taken, kept, emptied, broken_off]


@pytest.mark.parametrize(
    ("program", "kind"),
    [*itertools.product(READING + CHANGING, [set])]
    + [*itertools.product(READING, [frozenset])],
)
def test_equal_sets_in_other_orders(program, kind):
    """Compiled for one, called with another that has the same items."""
    for rotated in range(len(ALIKE)):
        order = ALIKE[rotated:] + ALIKE[:rotated]
        compiled = magneto.compile(program, backend="eager")
        for make in order * 2:
            given, expected = make(), make()
            if kind is frozenset:
                given, expected = frozenset(given), frozenset(expected)
            theirs, ours = program(X, expected), compiled(X, given)
            assert repr(ours) == repr(theirs)
            assert list(given) == list(expected)


def test_membership_minds_no_order():
    def program(x, a, b):
        if 8 in a and a == b and not a.isdisjoint(b) and a <= b:
            return x + len(a)
        return x

    calls = [((X, make(), {16, 8}), {}) for make in ALIKE]
    check_calls(program, calls, graphs=1, recompiles=0)


def worklist(x, work):
    """Adds to what it takes from."""
    visited = []
    while work:
        node = work.pop()
        visited.append(node)
        for near in (2 * node + 1, 3 * node + 2):
            if near < 60 and near not in visited:
                work.add(near)
    return visited, x + 1


@pytest.mark.parametrize("start", [{0}, {1, 2, 3}, {40, 8, 0, 16}])
def test_worklist(start):
    check_calls(worklist, [((X, set(start)), {})] * 2, graphs=1)

    def made_here(x):
        return worklist(x, set(start))

    check_calls(made_here, [((X,), {})] * 2, graphs=1)


def test_worklist_with_breaks():
    def program(x):
        work, visited = {0}, []
        while work:
            node = work.pop()
            visited.append(node)
            if len(visited) % 4 == 0:
                magneto.graph_break()
            work |= {n for n in (2 * node + 1, 3 * node + 2) if n < 30}
            work -= set(visited)
        return visited, work, x + 1

    check_calls(program, [((X,), {})] * 2)


def test_worklist_of_objects():
    """What a set of tensors gives first is told by addresses; here by none."""

    def program(x):
        work, total = {(x, 0)}, x
        while work:
            tensor, depth = work.pop()
            total = total + tensor
            if depth < 3:
                work.add((tensor * 2, depth + 1))
        return total, work

    check_calls(program, [((X,), {})] * 2)


def emptied_between_pops(x, work):
    visited = []
    for number in (5, 9, 1):
        visited.append(work.pop())
        visited.append(work.pop())
        work.clear()
        work.update({number, number + 1, 3 * number})
    work &= work
    return visited, work, work.pop(), x + 1


def test_emptied_between_pops():
    check_calls(
        emptied_between_pops, [((X, {1, 2, 8, 3, 16}), {})] * 2, graphs=1
    )
    check_calls(
        lambda x: emptied_between_pops(x, {1, 2, 8, 3, 16}),
        [((X,), {})] * 2,
        graphs=1,
    )


def test_emptied_between_pops_with_breaks():
    def program(x, work):
        own = {1, 2, 8, 3, 16}
        found = []
        for each in (work, own):
            found += [each.pop(), each.pop(), each.pop()]
            each.clear()
            each.update({5, 6, 1, 0})
        magneto.graph_break()
        return found, work.pop(), own.pop(), work, own, x + 1

    check_calls(program, [((X, {1, 2, 8, 3, 16}), {})] * 2)


def test_emptied_after_the_callers_pops():
    def program(x, work):
        work.clear()
        work.update({1, 2, 8})
        return work.pop(), work, x + 1

    def given():
        work = {1, 2, 3, 40}
        work.pop()
        work.pop()
        return work

    compiled = magneto.compile(program, backend="eager")
    for make in (given, lambda: {1, 2}, given):
        assert repr(compiled(X, make())) == repr(program(X, make()))


def test_removals_between_pops():
    """Which item is popped depends on what was removed before."""

    def program(x, work):
        found = []
        while work and len(found) < 9:
            found.append(work.pop())
            work ^= {16, -2, 2}
            work.discard(1)
        return found, work, x + 1

    for given in ({1, 8, 16}, {2, 3, 9, 40, 17}, {16, 2}):
        check_calls(program, [((X, set(given)), {})] * 2, graphs=1)


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
