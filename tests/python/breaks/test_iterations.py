# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks during an iteration: over what the trace has written to or made,
and what has changed since the iterator was made.
"""

from __future__ import annotations

import collections
from collections import OrderedDict, deque

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.ones(1)


class A:
    pass


class D(dict):
    pass


def containers():
    a = A()
    a.p = 1
    a.q = 2
    return {
        "d": {"a": 1, "b": 2},
        "o": OrderedDict(a=1, b=2),
        "s": {1, 2},
        "l": [1, 2],
        "q": deque([1, 2]),
        "a": a,
        "D": D(a=1, b=2),
    }


# What is written to the containers, and what a loop with a break in it then
# goes over.
LOOPS = {
    "keys": ('c["d"]["z"] = 1', 'c["d"]'),
    "keys_del": ('del c["d"]["a"]', 'c["d"]'),
    "values": ('c["d"]["z"] = 1', 'c["d"].values()'),
    "items": ('c["d"]["z"] = 1', 'c["d"].items()'),
    "enum": ('c["d"]["z"] = 1', 'enumerate(c["d"].items())'),
    "sub": ('c["D"]["z"] = 1', 'c["D"].items()'),
    "od": ('c["o"]["z"] = 1', 'c["o"].items()'),
    "odkeys": ('c["o"]["z"] = 1', 'c["o"]'),
    "sets": ('c["s"].add(9)', 'c["s"]'),
    "attrs": ('c["a"].z = 3', 'vars(c["a"]).items()'),
    "attrs_del": ('del c["a"].p', 'vars(c["a"]).items()'),
    "attrs_keys": ('c["a"].z = 3', 'c["a"].__dict__'),
    "rev_loop": ('c["l"].append(3)', 'reversed(c["l"])'),
    "revd_loop": ('c["d"]["z"] = 3', 'reversed(c["d"])'),
    "revitems": ('c["d"]["z"] = 3', 'reversed(c["d"].items())'),
    "dq": ('c["q"].append(3)', 'c["q"]'),
    "dqrev": ('c["q"].append(3)', 'reversed(c["q"])'),
    "zipped": ('c["d"]["z"] = 4', 'zip(c["d"], c["d"].values())'),
    "frozen": ("", 'frozenset(c["l"])'),
    "class_dict": ("", "vars(A)"),
}

# Iterators that something is written behind: statements up to the break, and
# what is looked at after it.
STALE = {
    "stale_items": ('it = iter(c["d"].items()); c["d"]["z"] = 1', "next(it)"),
    "stale_items2": (
        'it = iter(c["d"].items()); next(it); c["d"]["z"] = 1',
        "next(it)",
    ),
    "stale_keys": ('it = iter(c["d"]); next(it); c["d"]["z"] = 1', "next(it)"),
    "stale_made": (
        'd = {1: 1, 2: 2}; it = iter(d.items()); next(it); d["z"] = 1',
        "next(it)",
    ),
    "stale_made_keys": (
        'd = {1: 1, 2: 2}; it = iter(d); next(it); d["z"] = 1',
        "next(it)",
    ),
    "stale_set": ('it = iter(c["s"]); next(it); c["s"].add(7)', "next(it)"),
    "stale_made_set": (
        "s = {1, 2}; it = iter(s); next(it); s.add(7)",
        "next(it)",
    ),
    "stale_attrs": (
        'it = iter(vars(c["a"]).items()); next(it); c["a"].z = 3',
        "next(it)",
    ),
    "stale_od": (
        'it = iter(c["o"].items()); next(it); c["o"]["z"] = 3',
        "next(it)",
    ),
    "stale_odk": ('it = iter(c["o"]); next(it); c["o"]["z"] = 3', "next(it)"),
    "stale_same_size": (
        'it = iter(c["d"].items()); next(it); del c["d"]["a"]; c["d"]["z"] = 1',
        "list(it)",
    ),
    "stale_hint": (
        'it = iter(c["d"].items()); next(it); c["d"]["z"] = 1',
        "it.__length_hint__(), type(it).__name__",
    ),
    "odict_same_b": (
        'it = iter(c["o"].items()); next(it); c["o"].move_to_end("a")',
        "[next(it)]",
    ),
}


def program_of(*lines):
    """A function of a tensor and the containers."""
    known = dict(globals())
    exec("\n    ".join(["def program(x, c):", *lines]), known)
    return known["program"]


def over(write, items):
    """A loop that is broken in its body."""
    loop = f"for k in {items}:"
    step = "    magneto.graph_break(); n.append(k)"
    return program_of(write, "n = []", loop, step, "return x + 1, n")


def behind(before, after):
    """A break while an iterator is under way."""
    breaks = "magneto.graph_break()"
    return program_of(before, breaks, f"return x + 1, {after}")


def attrs_made(x, c):
    a = A()
    a.u = 1
    a.v = 2
    n = []
    for k in vars(a).items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def rev(x, c):
    c["l"].append(3)
    r = reversed(c["l"])
    magneto.graph_break()
    return x + 1, list(r)


def revd(x, c):
    c["d"]["z"] = 3
    r = reversed(c["d"])
    magneto.graph_break()
    return x + 1, list(r)


def stale_dq(x, c):
    it = iter(c["q"])
    next(it)
    c["q"].append(5)
    magneto.graph_break()
    return x + 1, next(it)


def dict_break_between(x, c):
    n = []
    for k, v in c["d"].items():
        c["d"][k] = v + 1
        magneto.graph_break()
        n.append((k, v))
    return x + 1, n


def lists(x, c):
    c["l"].append(3)
    n = []
    for k in c["l"]:
        magneto.graph_break()
        n.append(k)
        if len(c["l"]) < 6:
            c["l"].append(8)
    return x + 1, n


def list_past(x, c):
    c["l"].append(3)
    it = iter(c["l"])
    next(it)
    next(it)
    next(it)
    magneto.graph_break()
    c["l"].append(4)
    return x + 1, list(it)


def list_past2(x, c):
    c["l"].append(3)
    it = iter(c["l"])
    next(it)
    next(it)
    next(it)
    c["l"].append(4)
    magneto.graph_break()
    return x + 1, list(it)


def own_it(x, c):
    c["d"]["it"] = iter(c["d"].items())
    magneto.graph_break()
    it = c["d"].pop("it")
    r = None
    try:
        r = list(it)
    except RuntimeError as e:
        r = str(e)
    return x + 1, r


def own_it2(x, c):
    c["d"]["it"] = 1
    c["d"]["it"] = iter(c["d"].items())
    magneto.graph_break()
    it = c["d"]["it"]
    c["d"]["it"] = 0
    r = None
    try:
        r = list(it)
    except RuntimeError as e:
        r = str(e)
    return x + 1, r


def own_list(x, c):
    c["l"].append(iter(c["l"]))
    magneto.graph_break()
    r = list(c["l"].pop())
    return x + 1, r


def other_it(x, c):
    c["D"]["w"] = 0
    c["d"]["it"] = iter(c["D"].items())
    c["D"]["w"] = 4
    next(c["d"]["it"])
    magneto.graph_break()
    r = list(c["d"].pop("it"))
    return x + 1, r


def nested(x, c):
    n = []
    c["d"]["z"] = 1
    for k in c["d"]:
        for j in c["s"]:
            for v in c["d"].values():
                magneto.graph_break()
                n.append((k, j, v))
    return x + 1, n


def callee(x, c):
    n = []

    def inner(d):
        for k in d:
            magneto.graph_break()
            n.append(k)

    inner(c["d"])
    inner(c["s"])
    inner(c["o"])
    inner(vars(c["a"]))
    inner({1, 2, 3})
    inner({"a": 1, "b": 2})
    inner({c["a"].p: 1})
    return x + 1, n


def gens(x, c):
    n = []
    c["o"]["n"] = 1

    def g(d):
        for k, v in d.items():
            yield k, v

    for k in g(c["o"]):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def mapped(x, c):
    n = []
    c["o"]["n"] = 1
    for k in map(str, c["o"]):
        magneto.graph_break()
        n.append(k)
    for k in filter(None, c["o"].values()):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def objs_set(x, c):
    s = {A(), A(), A()}
    n = 0
    for k in s:
        magneto.graph_break()
        n += type(k) is A
    return x + 1, n


def objs_set2(x, c):
    s = {A(), A(), A()}
    it = iter(s)
    magneto.graph_break()
    return x + 1, len({*it})


def counter(x, c):
    k = collections.Counter("hello")
    n = []
    for q in k:
        magneto.graph_break()
        n.append(q)
    return x + 1, n


def dd(x, c):
    k = collections.defaultdict(list)
    k["a"].append(1)
    k["b"].append(2)
    n = []
    for q, v in k.items():
        magneto.graph_break()
        n.append((q, v))
    for q in k:
        magneto.graph_break()
        n.append(q)
    return x + 1, n


class It(dict):
    def __iter__(self):
        return iter(["x", "y"])


def iterdict(x, c):
    d = It(a=1)
    n = []
    for q in d:
        magneto.graph_break()
        n.append(q)
    for q in d.keys():
        magneto.graph_break()
        n.append(q)
    for q in dict.__iter__(d):
        magneto.graph_break()
        n.append(q)
    return x + 1, n


def pop_all(x, c):
    n = []
    d = c["d"]
    d["z"] = 5
    for q in list(d):
        magneto.graph_break()
        n.append(d.pop(q))
    return x + 1, n


def stale_made_set_items(x, c):
    s = {1, 2}
    it = iter(s)
    next(it)
    s.add(7)
    magneto.graph_break()
    s.discard(7)
    return x + 1, [next(it)]


def odict_same(x, c):
    it = iter(c["o"].items())
    next(it)
    c["o"].move_to_end("a")
    return x + 1, [next(it)]


def odict_size(x, c):
    it = iter(c["o"].items())
    next(it)
    c["o"]["t"] = 1
    return x + 1, [next(it)]


def odict_vals(x, c):
    it = iter(c["o"].values())
    next(it)
    del c["o"]["a"]
    c["o"]["t"] = 1
    return x + 1, [next(it)]


def exc_in_loop(x, c):
    c["d"]["z"] = 1
    n = []
    try:
        for k in c["d"].items():
            magneto.graph_break()
            n.append(k)
            if k[0] == "b":
                raise ValueError(k)
    except ValueError as e:
        n.append(str(e))
    return x + 1, n


def unstarted(x, c):
    c["d"]["z"] = 1
    a = iter(c["d"])
    b = iter(c["d"].items())
    magneto.graph_break()
    n = []
    for p, q in zip(a, b):
        magneto.graph_break()
        n.append((p, q))
    return x + 1, n


def cleared_twice(x, c):
    d = c["d"]
    d.popitem()
    d.popitem()
    it = iter(reversed(d.items()))
    other = iter(d)
    d.clear()
    magneto.graph_break()
    return x + 1, [*it], [*other]


def moved_before_a_change(x, c):
    o = OrderedDict(a=1, b=2, c=3)
    it = iter(o.keys())
    magneto.graph_break()
    noted = [next(it)]
    o.popitem(False)
    other = iter(o.values())
    magneto.graph_break()
    try:
        noted.append(next(it))
    except RuntimeError as error:
        noted.append(str(error))
    return x + 1, noted, [*other]


PROGRAMS = {
    **{name: over(*row) for name, row in LOOPS.items()},
    **{name: behind(*row) for name, row in STALE.items()},
    **{
        program.__name__: program
        for program in [
            attrs_made,
            rev,
            revd,
            stale_dq,
            dict_break_between,
            lists,
            list_past,
            list_past2,
            own_it,
            own_it2,
            own_list,
            other_it,
            nested,
            callee,
            gens,
            mapped,
            objs_set,
            objs_set2,
            counter,
            dd,
            iterdict,
            pop_all,
            stale_made_set_items,
            odict_same,
            odict_size,
            odict_vals,
            exc_in_loop,
            unstarted,
            cleared_twice,
            moved_before_a_change,
        ]
    },
}

# These raise before anything is computed, or keep what can't be made again.
WITHOUT_GRAPHS = {
    *STALE,
    "own_it",
    "own_it2",
    "own_list",
    "objs_set",
    "stale_made_set_items",
    "odict_same",
    "odict_size",
    "odict_vals",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_plain_python(name):
    report = check(PROGRAMS[name], X, containers())
    assert (not report.graphs) == (name in WITHOUT_GRAPHS)


def ret_it(x, c):
    c["d"]["z"] = 1
    return x + 1, iter(c["d"].items())


def ret_stale(x, c):
    it = iter(c["d"].items())
    c["d"]["z"] = 1
    return x + 1, it


@pytest.mark.parametrize("program", [ret_it, ret_stale])
def test_iterators_that_are_returned(program):
    def items(compiled):
        c = containers()
        try:
            return list(compiled(X, c)[1]), c["d"]
        except RuntimeError as error:
            return str(error), c["d"]

    assert items(program) == items(magneto.compile(program, backend="eager"))
