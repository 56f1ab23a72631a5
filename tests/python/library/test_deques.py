# SPDX-License-Identifier: BSD-3-Clause
"""Deques that the caller passes, and those that live across a graph break."""

import itertools
from collections import deque

import pytest
import torch

import magneto
from magneto.testing import check, compare
from magneto.testing.graphs import RecordingBackend
from support.expressions import lines

X = torch.arange(3.0)


class History(deque):
    def latest(self):
        return self[-1]


EXPRESSIONS = """
d.append(x)
d.append(x), d.append(x + 1), d.append(2)
d.append(x), d[0], len(d)
d.appendleft(x)
d.appendleft(x), d.append(7), list(d)
d.pop(), d.append(x)
d.popleft(), d.append(x)
d.popleft(), d.popleft(), d.append(x), len(d)
d.pop(), d.popleft()
d.extend([x, 1, x + 1])
d.extendleft([x, 1])
d.extend(d)
d.rotate(1), d[0]
d.rotate(-2), d.append(x)
d.reverse(), d[0]
d.insert(1, x)
d.remove(2), d.append(x)
d.index(2), d.count(2)
d.clear()
d.clear(), d.append(x)
d.copy(), d.append(x)
d.__setitem__(0, x)
d.__delitem__(1)
d.__iadd__([x])
d + deque([x]), d * 2
d.maxlen, len(d), d[1] + x
[x + i for i in d]
sum(d), max(d), 2 in d, sorted(d, reverse=True)
d == deque([1, 2, 3]), d != d.copy(), bool(d)
list(reversed(d)), tuple(d)
repr(d)
d.append(x), d.pop()
d.append(x) or d.popleft() or d.append(1) or d.popleft()
"""


@pytest.mark.parametrize("limit", [None, 3, 5])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("expression", lines(EXPRESSIONS))
def test_expression(expression, breaks, limit):
    pause = "magneto.graph_break()" if breaks else "pass"
    source = (
        "def program(x, d):\n"
        "    y = x + 1\n"
        f"    {pause}\n"
        "    try:\n"
        f"        got = {expression}\n"
        "    except IndexError as error:\n"
        "        return y, d, str(error)\n"
        "    return y * 2, d, got\n"
    )
    scope = {"deque": deque, "magneto": magneto}
    exec(source, scope)
    check(scope["program"], X, deque([1, 2, 3], limit), graph_breaks=breaks)


def appended(history, x):
    history.append(x * 2)
    return x + 1


@pytest.mark.parametrize("limit", [None, 4])
def test_to_append_looks_at_nothing(limit):
    """As it grows there is one compilation."""
    backend = RecordingBackend()
    compiled = magneto.compile(appended, backend=backend, fullgraph=True)
    history, expected = deque(maxlen=limit), deque(maxlen=limit)
    for i in range(12):
        assert torch.equal(compiled(history, X + i), X + i + 1)
        appended(expected, X + i)
        assert [t.tolist() for t in history] == [t.tolist() for t in expected]
    assert len(backend.graphs) == 1


def test_it_stays_the_same_one():
    def program(x, d):
        d.append(x)
        d.popleft()
        return d, d[-1] + 1

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    given = deque([X, X, X], maxlen=3)
    first = given[1]
    for i in range(3):
        got, last = compiled(X + i, given)
        assert got is given
        assert len(given) == 3 - 1
        assert torch.equal(last, X + i + 1)
        if i == 0:
            assert given[0] is first
        given.append(X)


def test_iterators_notice():
    def program(x, d):
        d.append(x)
        return x + 1

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for call in (program, compiled):
        given = deque([1, 2])
        iterator = iter(given)
        next(iterator)
        call(X, given)
        with pytest.raises(RuntimeError, match="mutated during iteration"):
            next(iterator)


def test_what_is_read_is_guarded():
    def program(x, d):
        return x * len(d) + d[-1] + (d.maxlen or 0)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for given in (
        deque([1, 2]),
        deque([1, 3]),
        deque([1, 2, 3]),
        deque([1, 2], 4),
        deque([1, X]),
        deque([5] * 200),
        History([4]),
    ):
        for _ in range(2):
            assert torch.equal(compiled(X, given), program(X, given))


class Remembering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.history = History(maxlen=2)

    def forward(self, x):
        self.history.append(self.linear(x).detach())
        return x + sum(self.history) + self.history.latest()


def test_modules_with_a_history():
    module = Remembering()
    compiled = magneto.compile(module, backend="eager", fullgraph=True)
    expected, got = [], []
    for calls, results in ((module, expected), (compiled, got)):
        module.history.clear()
        for i in range(5):
            results.append(calls(X + i))
    for one, other in itertools.zip_longest(expected, got):
        assert torch.equal(one, other)


def test_the_same_one_twice():
    def program(x, a, b):
        a.append(x)
        return x + len(b), b

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        one, other = deque([1]), deque([1, 2])
        for a, b in ((one, other), (one, one), (other, other)):
            ours, theirs = a.copy(), b.copy()
            theirs = ours if a is b else theirs
            expected = program(X, ours, theirs)
            got = compiled(X, a, b)
            assert torch.equal(got[0], expected[0])
            assert len(got[1]) == len(expected[1])
            assert got[1] is b


def test_an_iterator_at_its_end_of_a_deque_that_changes():
    """CPython's looks whether the deque has changed there, too."""

    def program(x, items, iterator, backwards):
        seen = [[*iterator], [*backwards], next(iterator, None)]
        items.append(7)
        seen.append(next(backwards, None))
        try:
            seen.append(next(iterator, None))
        except RuntimeError as error:
            seen.append(str(error))
        return x + 1, seen, items

    def run(call):
        items = deque([1, 2, 3], 5)
        return call(torch.ones(2), items, iter(items), reversed(items))

    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        compare(run(program), run(compiled))
