# SPDX-License-Identifier: BSD-3-Clause
"""OrderedDicts: their order, and that of the dict below."""

import types
from collections import OrderedDict

import pytest
import torch

import magneto
from magneto.testing import check


class Derived(OrderedDict):
    pass


# What a program does with the OrderedDict `o` and the tensor `x`; its result
# follows the arrow.
PROGRAMS = """
o.move_to_end("a")
o.move_to_end("c", last=False)
o.move_to_end("c")
o["z"] = 9; o["y"] = 8; o.move_to_end("z"); o.move_to_end("a")
o.move_to_end("a"); del o["a"]
o.move_to_end("a"); del o["a"]; o["a"] = 7; o["q"] = 1; o.move_to_end("b")
o["q"] = 1; o["r"] = 2; o.move_to_end("q"); del o["q"]; o["q"] = 3
o.move_to_end("a"); o["a"] = x + 1; o["b"] = x
o["a"] = x; o.move_to_end("a"); o.move_to_end("b"); o.move_to_end("a")
o.clear(); o["a"] = 1; o["b"] = 2; o.move_to_end("a")
o.move_to_end("a"); o.clear(); o["b"] = 1
o["z"] = 1; o.move_to_end("a"); graph_break(); o.move_to_end("b"); o["c"] = x
o.move_to_end("a") -> o.popitem(last=False), o.popitem()
o.move_to_end("a") -> list(reversed(o)), o.popitem(), o.pop("b"), o
o.move_to_end("a") -> o.copy(), OrderedDict(o), dict(o), {**o}, o | {}, o == o.copy()
o.move_to_end("a") -> list(dict.keys(o)), list(dict.values(o)), list(dict.items(o))
o.move_to_end("a") -> list(dict.__iter__(o)), list(dict.__reversed__(o)), dict.__repr__(o)
o.move_to_end("a") -> dict.popitem(o), dict.copy(o)
o.move_to_end("a"); v = dict.keys(o), dict.items(o) -> [list(each) for each in v]
o.move_to_end("a"); p = o.copy(); p.move_to_end("b") -> o == p, dict.__eq__(o, p), o == dict(p)
n = OrderedDict.fromkeys("pqrs"); n.move_to_end("p"); n["t"] = x; n.move_to_end("q", False); n.move_to_end("s") -> n
n = Derived(o, z=x); n.move_to_end("b"); del n["a"] -> n
n = OrderedDict(o); n.move_to_end("a"); graph_break(); n.move_to_end("b") -> n
o.move_to_end("nope")
OrderedDict().move_to_end("nope")
dict.__setitem__(o, "n", 5) -> len(o), list(o)
dict.__delitem__(o, "a") -> list(o)
dict.pop(o, "a"); o["b"] = x; o["a"] = x; o["n"] = x
dict.clear(o); o["n"] = x
dict.update(o, n=5); o["m"] = 6 -> list(o), dict.setdefault(o, "k", 3)
for k in o: o.move_to_end(k)
""".strip().splitlines()


def unmoved():
    return OrderedDict(a=1, b=2, c=3)


def moved():
    made = OrderedDict(a=1, b=2, c=3, d=4)
    made.move_to_end("b")
    return made


def derived():
    made = Derived(a=1, b=2, c=3)
    made.move_to_end("a", last=False)
    return made


def program_of(row):
    body, _, result = row.partition(" -> ")
    lines = [*body.split("; "), f"return x + 1, {result or None}"]
    names = {
        "OrderedDict": OrderedDict,
        "Derived": Derived,
        "graph_break": magneto.graph_break,
    }
    exec("def program(o, x):\n " + "\n ".join(lines), names)
    return names["program"]


def state_of(ordered):
    """Of one whose dict may have other keys than it."""
    try:
        return dict.__repr__(ordered), repr(ordered)
    except KeyError as error:
        return dict.__repr__(ordered), repr(error)


def run(call, argument):
    try:
        return repr(call(argument, torch.ones(1)))
    except (AttributeError, LookupError, RuntimeError, TypeError) as error:
        return repr(error)


@pytest.mark.parametrize("make", [unmoved, moved, derived])
@pytest.mark.parametrize("row", PROGRAMS)
def test_order(row, make):
    program = program_of(row)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        expected, actual = make(), make()
        assert run(compiled, actual) == run(program, expected)
        assert state_of(actual) == state_of(expected)


def test_moving_is_captured():
    def program(o, x):
        made = OrderedDict(p=x + 1, q=x)
        made.move_to_end("p")
        o.move_to_end("a")
        o.move_to_end("c", last=False)
        return made, x * 2

    check(program, moved(), torch.ones(2), graphs=1, graph_breaks=0)


def with_another():
    made = moved()
    dict.__setitem__(made, "n", 5)
    return made


def with_one_less():
    made = moved()
    dict.__delitem__(made, "b")
    return made


def with_other_keys():
    made = with_one_less()
    dict.__setitem__(made, "n", 5)
    return made


# What goes over an OrderedDict, or reads it, made by the caller.
READERS = {
    "itself": lambda o: o,
    "its keys": lambda o: o.keys(),
    "a proxy": types.MappingProxyType,
    "keys of the dict": lambda o: dict.keys(o),
    "values of the dict": lambda o: dict.values(o),
    "items of the dict": lambda o: dict.items(o),
    "an iterator of the dict": lambda o: dict.__iter__(o),
    "a reversed one": lambda o: dict.__reversed__(o),
    "one of its items": lambda o: iter(dict.items(o)),
}
USES = """
list(o)
next(iter(o))
[k for k in o]
len(o), bool(o)
o["a"], "b" in o, o.get("n")
o.__setitem__("a", x), o.__setitem__("new", 1)
o.__delitem__("b")
o == {"b": 2, "c": 3, "a": 1}
dict(**o), {**o}
""".strip().splitlines()


@pytest.mark.parametrize(
    "make", [moved, with_another, with_one_less, with_other_keys]
)
@pytest.mark.parametrize("reader", READERS)
def test_of_the_callers(reader, make):
    """First, and behind a call with one whose dict has the same keys."""
    for use in USES:
        program = program_of(f"r = {use} -> r")
        for is_first in (True, False):
            compiled = magneto.compile(program, backend="eager")
            if not is_first:
                run(compiled, READERS[reader](moved()))
            expected, actual = make(), make()
            wanted = run(program, READERS[reader](expected))
            assert run(compiled, READERS[reader](actual)) == wanted, use
            assert state_of(actual) == state_of(expected), use


def test_first_of_a_loop():
    """The iterator is the compiled piece's, the step plain Python's."""

    def program(o, x):
        for key in o:
            return key, x + 1

    for make in (moved, with_another, with_one_less, with_other_keys):
        compiled = magneto.compile(program, backend="eager")
        assert run(compiled, make()) == run(program, make())
