# SPDX-License-Identifier: BSD-3-Clause
"""types.MappingProxyType: the mapping behind it answers for it, whatever its
class says.
"""

import collections
import copy
import operator
import types

import pytest
import torch

import magneto
from magneto.testing import check
from support.expressions import lines, telling


class Loud(dict):
    """Says something else than a dict, wherever it is asked."""

    def __iter__(self):
        return iter(["loud", *super().__iter__()])

    def __len__(self):
        return 7

    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return "got"

    def __reversed__(self):
        return iter(["back"])

    def __bool__(self):
        return False


class Missing(dict):
    def __missing__(self, key):
        return "missing"


class Mapping(collections.abc.Mapping):
    def __getitem__(self, key):
        return {"a": 5}[key]

    def __len__(self):
        return 1

    def __iter__(self):
        return iter("a")


class Fields:
    def __init__(self):
        self.a = 1
        self.b = 2


MAPPINGS = {
    "dict": lambda: {"a": 1, "b": 2},
    "OrderedDict": lambda: collections.OrderedDict(a=1, b=2),
    "Loud": lambda: Loud(a=1, b=2),
    "Missing": lambda: Missing(a=1),
    "defaultdict": lambda: collections.defaultdict(list, a=[1]),
    "Counter": lambda: collections.Counter("aab"),
    "__dict__": lambda: Fields().__dict__,
    "UserDict": lambda: collections.UserDict(a=1),
    "ChainMap": lambda: collections.ChainMap({"a": 1}, {"b": 2}),
    "Mapping": Mapping,
    "str": lambda: "ab",
    "range": lambda: range(3),
    "list": lambda: [1],
    "int": lambda: 1,
}

EXPRESSIONS = lines("""
list(p), [*p], [key for key in p], sorted(p.values())
len(p), bool(p), "a" in p, "z" in p, p.get("a"), p.get("z"), p.get("z", 3)
p["a"]
p["z"]
p[0]
list(reversed(p)), type(reversed(p)).__name__
repr(p), str(p), f"{p}"
p | {"c": 1}
{"c": 1} | p
p == p, p == {"a": 1, "b": 2}, {"a": 1} == p, p != 1
p < p
hash(p)
dict(p), {**p}, (lambda **given: given)(**p), list(p.items())
dict(p, z=1), collections.OrderedDict(p), collections.Counter(p)
p.copy(), type(p.copy())
copy.copy(p)
type(iter(p)).__name__, next(iter(p))
isinstance(p, dict), isinstance(p, collections.abc.Mapping), type(p)
p.a
p.pop("a")
operator.setitem(p, "a", 1)
operator.delitem(p, "a")
p.__len__(), p.__contains__("z"), list(p.__iter__()), p.__getitem__("a")
types.MappingProxyType(p)["a"]
p.keys() & {"a"}
operator.length_hint(p), max(p), list(zip(p, p)), list(map(str, p))
"%(a)s {a}" % p, "{a}".format_map(p)
p is p, p in [p], [p].index(p)
""")
KNOWN = {
    "collections": collections,
    "copy": copy,
    "operator": operator,
    "types": types,
    "graph_break": magneto.graph_break,
}


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(
    "first",
    [
        "p = types.MappingProxyType(value)",
        "p = types.MappingProxyType(value); graph_break()",
    ],
    ids=["made", "carried"],
)
def test_made(first, mapping):
    for expression in EXPRESSIONS:
        program = telling(expression, KNOWN, first, ", shown(value)")
        check(program, torch.ones(2), MAPPINGS[mapping]())


# Those can't be copied, so that the programs find them in their namespace.
@pytest.mark.parametrize("mapping", list(MAPPINGS)[:-2])
def test_given(mapping):
    given = types.MappingProxyType(MAPPINGS[mapping]())
    if mapping == "__dict__":  # one of the other
        given = types.MappingProxyType(given)
    for expression in EXPRESSIONS:
        program = telling(expression, {**KNOWN, "p": given})
        check(program, torch.ones(2))


def iterates(x, mapping):
    seen = []
    for key in types.MappingProxyType(mapping):
        magneto.graph_break()
        seen.append(key)
        x = x + 1
    return x, seen


def iterates_over_items(x, mapping):
    seen = []
    for item in types.MappingProxyType(mapping).items():
        magneto.graph_break()
        seen.append(item)
        x = x + 1
    return x, seen


def changes_what_is_shown(x, mapping):
    proxy = types.MappingProxyType(mapping)
    before = len(proxy)
    mapping["c"] = x + 1
    return before, proxy["c"], list(proxy), repr(proxy.keys())


def grows_while_iterating(x, mapping):
    try:
        for key in types.MappingProxyType(mapping):
            mapping[key + "2"] = 1
    except RuntimeError as error:
        return x + 1, str(error)


@pytest.mark.parametrize(
    "program",
    [
        iterates,
        iterates_over_items,
        changes_what_is_shown,
        grows_while_iterating,
    ],
)
@pytest.mark.parametrize("mapping", ["dict", "OrderedDict", "Loud", "UserDict"])
def test_programs(program, mapping):
    check(program, torch.ones(2), MAPPINGS[mapping]())


def test_guards_hold_for_what_is_shown():
    shown = {"a": 1}
    proxy = types.MappingProxyType(shown)

    def program(x):
        return x + proxy["a"], len(proxy)

    compiled = magneto.compile(program, backend="eager")
    for value in (1, 2, 2.5):
        shown["a"] = value
        assert compiled(torch.zeros(1)) == program(torch.zeros(1))
    shown["b"] = 0
    assert compiled(torch.zeros(1)) == program(torch.zeros(1))


def test_a_namespace_is_united_with_a_mapping():
    class Settings:
        depth = 3

    def program(x):
        united = vars(Settings) | {"width": 2}
        other = {"width": 2} | vars(Settings)
        return x + united["depth"], "width" in united, other["depth"]

    compiled = magneto.compile(program, backend="eager")
    for depth in (3, 3, 4):
        Settings.depth = depth
        assert compiled(torch.ones(())) == program(torch.ones(()))
