# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks where an iterator is under way: over what the trace has written
to, what it made, and what has changed since the iterator was made."""

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


def keys(x, c):
    c["d"]["z"] = 1
    n = []
    for k in c["d"]:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def keys_del(x, c):
    del c["d"]["a"]
    n = []
    for k in c["d"]:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def values(x, c):
    c["d"]["z"] = 1
    n = []
    for k in c["d"].values():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def items(x, c):
    c["d"]["z"] = 1
    n = []
    for k in c["d"].items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def enum(x, c):
    c["d"]["z"] = 1
    n = []
    for k in enumerate(c["d"].items()):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def sub(x, c):
    c["D"]["z"] = 1
    n = []
    for k in c["D"].items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def od(x, c):
    c["o"]["z"] = 1
    n = []
    for k in c["o"].items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def odkeys(x, c):
    c["o"]["z"] = 1
    n = []
    for k in c["o"]:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def sets(x, c):
    c["s"].add(9)
    n = []
    for k in c["s"]:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def attrs(x, c):
    c["a"].z = 3
    n = []
    for k in vars(c["a"]).items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def attrs_del(x, c):
    del c["a"].p
    n = []
    for k in vars(c["a"]).items():
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def attrs_keys(x, c):
    c["a"].z = 3
    n = []
    for k in c["a"].__dict__:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


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


def rev_loop(x, c):
    c["l"].append(3)
    n = []
    for k in reversed(c["l"]):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def revd(x, c):
    c["d"]["z"] = 3
    r = reversed(c["d"])
    magneto.graph_break()
    return x + 1, list(r)


def revd_loop(x, c):
    c["d"]["z"] = 3
    n = []
    for k in reversed(c["d"]):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def revitems(x, c):
    c["d"]["z"] = 3
    n = []
    for k in reversed(c["d"].items()):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def dq(x, c):
    c["q"].append(3)
    n = []
    for k in c["q"]:
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def dqrev(x, c):
    c["q"].append(3)
    n = []
    for k in reversed(c["q"]):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def stale_items(x, c):
    it = iter(c["d"].items())
    c["d"]["z"] = 1
    magneto.graph_break()
    return x + 1, next(it)


def stale_items2(x, c):
    it = iter(c["d"].items())
    next(it)
    c["d"]["z"] = 1
    magneto.graph_break()
    return x + 1, next(it)


def stale_keys(x, c):
    it = iter(c["d"])
    next(it)
    c["d"]["z"] = 1
    magneto.graph_break()
    return x + 1, next(it)


def stale_made(x, c):
    d = {1: 1, 2: 2}
    it = iter(d.items())
    next(it)
    d["z"] = 1
    magneto.graph_break()
    return x + 1, next(it)


def stale_made_keys(x, c):
    d = {1: 1, 2: 2}
    it = iter(d)
    next(it)
    d["z"] = 1
    magneto.graph_break()
    return x + 1, next(it)


def stale_set(x, c):
    it = iter(c["s"])
    next(it)
    c["s"].add(7)
    magneto.graph_break()
    return x + 1, next(it)


def stale_made_set(x, c):
    s = {1, 2}
    it = iter(s)
    next(it)
    s.add(7)
    magneto.graph_break()
    return x + 1, next(it)


def stale_attrs(x, c):
    it = iter(vars(c["a"]).items())
    next(it)
    c["a"].z = 3
    magneto.graph_break()
    return x + 1, next(it)


def stale_od(x, c):
    it = iter(c["o"].items())
    next(it)
    c["o"]["z"] = 3
    magneto.graph_break()
    return x + 1, next(it)


def stale_odk(x, c):
    it = iter(c["o"])
    next(it)
    c["o"]["z"] = 3
    magneto.graph_break()
    return x + 1, next(it)


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


def zipped(x, c):
    c["d"]["z"] = 4
    n = []
    for k in zip(c["d"], c["d"].values()):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


def stale_same_size(x, c):
    it = iter(c["d"].items())
    next(it)
    del c["d"]["a"]
    c["d"]["z"] = 1
    magneto.graph_break()
    return x + 1, list(it)


def stale_hint(x, c):
    it = iter(c["d"].items())
    next(it)
    c["d"]["z"] = 1
    magneto.graph_break()
    return x + 1, it.__length_hint__(), type(it).__name__


def ret_it(x, c):
    c["d"]["z"] = 1
    return x + 1, iter(c["d"].items())


def ret_stale(x, c):
    it = iter(c["d"].items())
    c["d"]["z"] = 1
    return x + 1, it


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


def frozen(x, c):
    n = []
    for k in frozenset(c["l"]):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


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


def class_dict(x, c):
    n = []
    for k in vars(A):
        magneto.graph_break()
        n.append(k)
    return x + 1, n


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


def odict_same_b(x, c):
    it = iter(c["o"].items())
    next(it)
    c["o"].move_to_end("a")
    magneto.graph_break()
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


PROGRAMS = [
    moved_before_a_change,
    cleared_twice,
    keys,
    keys_del,
    values,
    items,
    enum,
    sub,
    od,
    odkeys,
    sets,
    attrs,
    attrs_del,
    attrs_keys,
    attrs_made,
    rev,
    rev_loop,
    revd,
    revd_loop,
    revitems,
    dq,
    dqrev,
    stale_items,
    stale_items2,
    stale_keys,
    stale_made,
    stale_made_keys,
    stale_set,
    stale_made_set,
    stale_attrs,
    stale_od,
    stale_odk,
    stale_dq,
    dict_break_between,
    zipped,
    stale_same_size,
    stale_hint,
    lists,
    list_past,
    list_past2,
    own_it,
    own_it2,
    own_list,
    other_it,
    frozen,
    nested,
    callee,
    gens,
    mapped,
    objs_set,
    objs_set2,
    class_dict,
    counter,
    dd,
    iterdict,
    pop_all,
    stale_made_set_items,
    odict_same,
    odict_same_b,
    odict_size,
    odict_vals,
    exc_in_loop,
    unstarted,
]

# These raise before anything is computed, or keep what can't be made again.
WITHOUT_GRAPHS = [
    stale_items,
    stale_items2,
    stale_keys,
    stale_made,
    stale_made_keys,
    stale_set,
    stale_made_set,
    stale_attrs,
    stale_od,
    stale_odk,
    stale_same_size,
    stale_hint,
    own_it,
    own_it2,
    own_list,
    objs_set,
    stale_made_set_items,
    odict_same,
    odict_same_b,
    odict_size,
    odict_vals,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_plain_python(program):
    report = check(program, X, containers())
    assert (not report.graphs) == (program in WITHOUT_GRAPHS)


@pytest.mark.parametrize("program", [ret_it, ret_stale])
def test_iterators_that_are_returned(program):
    def items(compiled):
        c = containers()
        try:
            return list(compiled(X, c)[1]), c["d"]
        except RuntimeError as error:
            return str(error), c["d"]

    assert items(program) == items(magneto.compile(program, backend="eager"))
