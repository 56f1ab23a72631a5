# SPDX-License-Identifier: BSD-3-Clause
"""Containers of constants and of tensors: operators, methods and errors."""
# ruff: noqa: F401, F403, F405, E501

import collections
import copy
import functools
import itertools
import operator
from collections import *
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch

import magneto
from magneto.testing import check
from support.expressions import check_error, check_expression, lines

Pair = namedtuple("Pair", "a b")
Defaulted = namedtuple("Defaulted", "a b c", defaults=[2, 3])


class Typed(NamedTuple):
    a: int
    b: str = "x"

    def total(self):
        return self.a * 2


@dataclass
class Plain:
    a: int


class Indexable:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


class Equal:
    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


class Key:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Key) and self.k == other.k

    def __hash__(self):
        return hash(self.k)


class Order:
    def __init__(self, k):
        self.k = k

    def __lt__(self, other):
        return self.k < other.k

    def __repr__(self):
        return f"Order({self.k})"


class L(list):
    pass


class D(dict):
    pass


class S(set):
    pass


class F(frozenset):
    pass


class T(tuple):
    pass


class AddList(list):
    def __add__(self, other):
        return "added"

    def __radd__(self, other):
        return "radded"

    def __mul__(self, n):
        return "times"

    def __eq__(self, other):
        return "eq"

    __hash__ = None


class Radd:
    def __radd__(self, other):
        return ("radd", other)

    def __rmul__(self, other):
        return ("rmul", other)

    def __ror__(self, other):
        return ("ror", other)


class Sub(deque):
    pass


class Od(OrderedDict):
    pass


class Dd(defaultdict):
    pass


class Co(Counter):
    pass


class Seq:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return [10, 20][i]


class Maps:
    def keys(self):
        return ["a", "b"]

    def __getitem__(self, k):
        return k * 2


def changed(container, *calls):
    return [getattr(container, name)(*args) for name, *args in calls], container


def tried(container, *calls):
    out = []
    for name, *args in calls:
        try:
            out.append(getattr(container, name)(*args))
        except Exception as e:
            out.append((type(e), e.args))
    return out, container


def seti(c, k, v):
    c[k] = v
    return c


def deli(c, k):
    del c[k]
    return c


def iadd(a, b):
    c = a
    a += b
    return a, c is a


def imul(a, b):
    c = a
    a *= b
    return a, c is a


def ior(a, b):
    c = a
    a |= b
    return a, c is a


NAMESPACE = dict(globals())

EXPRESSIONS = lines(r"""
[x, 1][0], [x] + [1], [x] * 2, 2 * [x], len([x, x]), x in [x], 1 in [1, x], [x].index(x), [x, [x]][1][0], [1, x][::-1], [x, 1].pop(), changed([x], ("append", x), ("insert", 0, 1), ("extend", [x, 2]), ("reverse",), ("pop", 1), ("copy",))
[x] == [x], [x, 1] == [x, 2], [1, x] < [2, x], (x, 1) + (2,), (x,) * 2, (1, x) < (2, x), (x,) == (x,), (x, 1) != (x, 1), (1, x)[::-1], {"a": x}["a"], {"a": x} | {"b": 1}, {"a": x} == {"a": x}
list({"a": x}.values()), {**{"a": x}, "b": 2}, dict(a=x), dict([("a", x)]), {"a": x}.get("a"), {"a": x}.pop("a"), {"a": x}.popitem(), {"a": x}.copy(), sorted([(2, x), (1, x)], key=lambda p: p[0]), [*[x], 1], [x][0] is x, (x,)[0] is x
[x].copy()[0] is x, list((x,))[0] is x, {x: 1}[x], {x}, x in {x: 1}, [v for v in (x, 1)], list(zip([x], [1])), list(enumerate([x])), list(map(lambda v: v, [x])), tuple([x]), [x] is not [x], any(v is x for v in [x])
seti([1, 2, 3], 0, x), seti([1, 2, 3], slice(0, 2), [x]), seti([1, 2, 3, 4], slice(None, None, 2), [x, 0]), seti([1, 2], slice(1, 1), (9,)), seti([1, 2, 3], -1, 5), deli([1, x, 3], 1), deli([1, 2, 3], slice(0, 2)), deli([1, 2, 3, 4], slice(None, None, 2)), deli([1, 2], -1), seti([1], slice(None), "abc"), seti([1, 2], slice(None), range(3)), seti([1, 2, 3], slice(1, None), (v for v in [7]))
seti([1, 2, 3], Indexable(1), 9), deli([1, 2], Indexable(0)), [1, 2, 3][Indexable(1)], [1, 2][True], deli([3, 4, 5, 6], slice(-1, None, -2)), seti([1, 2, 3], slice(2, 0), [8])
iadd([1], [2]), iadd([1], (2, x)), iadd([1], "ab"), iadd((1,), (2,)), imul([1, x], 2), imul((1,), 2), iadd([1], {"a": 1}), iadd([1], range(2)), imul([1], 0), imul([1], -1), [1] * True, iadd([1], (v for v in [1]))
iadd("a", "b"), iadd(1, 2), imul([1, 2], Indexable(2)), [1] * Indexable(2), Indexable(2) * (1,), ior({1}, {2}), ior({"a": 1}, {"b": 2}), ior({"a": 1}, [("b", 2)]), ior(Counter("a"), Counter("b")), ior(OrderedDict(a=1), {"b": 2}), ior(defaultdict(int, a=1), {"b": 2}), iadd(deque([1]), [2])
iadd(Counter("a"), Counter("a")), ior({1}, frozenset([2])), ior(frozenset([1]), {2}), imul(deque([1]), 2), iadd([1], deque([2]))
[1] + L([2]), L([1]) + [2], type(L([1]) + [2]), type(L([1]) * 2), L([1]) == [1], [1] == L([1]), L([1]).copy(), type(L([1])[:]), AddList([1]) + [2], [1] + AddList([2]), AddList([1]) * 2, AddList([1]) == 3
[1] + Radd(), (1,) + Radd(), [1] * Radd(), {1} | Radd(), {"a": 1} | Radd(), iadd([1], Radd()), "a" + Radd(), 1 + Radd(), (1, x) + Radd(), T((1, 2)) + (3,), type(T((1,)) + (2,)), T((1,)) == (1,)
T((1, x))[1], type(T((1, 2))[:1]), T((1,)) * 2, hash(T((1,))) == hash((1,)), D(a=1) | {"b": 2}, type(D(a=1) | {"b": 2}), {"a": 1} | D(b=2), type({"a": 1} | D(b=2)), D(a=1).copy(), type(D(a=1).copy()), D(a=1) == {"a": 1}, S([1]) | {2}
type(S([1]) | {2}), {1} | S([2]), type({1} | S([2])), type(S([1]).copy()), type(S([1]).union([2])), type(S([1]) & {1}), S([1]) == {1}, F([1]) | {2}, type(F([1]) | {2}), type(F([1]).copy()), type(frozenset([1]) | {2}), type({1} | frozenset([2]))
hash(F([1])) == hash(frozenset([1])), L((1, 2)), L(), D(), D([("a", 1)]), S(), F("a"), T(), L([x])[0], D(a=x)["a"], list(L([1])), dict(D(a=1))
set(S([1])), L.__name__, L([3, 1, 2]).index(1), sorted(L([3, 1])), len(L([1])), L([1]).append(2), [*L([1])], {**D(a=1)}, D.fromkeys("ab", 1), type(D.fromkeys("ab")), L([1]) < [2], bool(L())
not D(), L([1, 2]) + L([3])
deque([1]) * 2, 2 * deque([1, 2]), deque([1, 2], 3) * 2, deque([1]) == [1], deque([1]) != [1], deque([1]) < deque([2]), deque([1, 2]) + deque([3]), deque([1, 2])[1], deque([1, 2])[-1], seti(deque([1, 2]), 0, x), deli(deque([1, 2, 3]), 1), deque([1, 2], maxlen=1)
changed(deque([1, 2, 3], 3), ("append", 4), ("appendleft", 0), ("extend", [7, 8]), ("extendleft", [5]), ("rotate", 1), ("rotate",), ("rotate", -5), ("copy",), ("clear",)), deque(), deque("abc"), deque([x])[0], len(deque([1])), 1 in deque([1]), list(deque([1])), list(reversed(deque([1, 2]))), copy.copy(deque([1], 2)), copy.deepcopy(deque([[1]], 2)), deque([1]).maxlen, Sub([1, 2])
type(Sub([1]) + deque([2])), type(Sub([1]).copy()), Sub([1, 2], 1).maxlen, deque([3, 1]).index(1), deque([1, 1]).count(1), bool(deque()), sorted(deque([2, 1])), tuple(deque([1])), deque([1]).__contains__(1), deque(maxlen=2), deque(iterable=[1]) if False else 0, changed(deque([1, 2, 3]), ("remove", 2), ("insert", 1, 9), ("insert", -1, 8), ("insert", 99, 7), ("reverse",), ("pop",), ("popleft",))
deque([1]) <= deque([1]), deque([1]) is not None, hash(1), [*deque([1])], deque([1, 2]).__iadd__([3]), deque([deque([1])])[0][0]
Pair(1, x).a, Pair(1, x)[1] is x, Pair(1, 2)._replace(b=x), Pair(1, x)._asdict(), Pair._make([1, x]), Pair._fields, Pair._field_defaults, Defaulted(1), Defaulted(1, 9), Defaulted(1, c=7), Defaulted._field_defaults, repr(Defaulted(1))
Pair(1, 2) == Pair(1, 2), Pair(1, 2) == (1, 2), Pair(1, 2) < Pair(1, 3), hash(Pair(1, 2)) == hash((1, 2)), len(Pair(1, 2)), list(Pair(1, 2)), [*Pair(1, 2)], Pair(*[1, 2]), Pair(**{"a": 1, "b": 2}), Pair(1, 2) + (3,), type(Pair(1, 2) + (3,)), Pair(1, 2)[:1]
1 in Pair(1, 2), Pair(1, 2).index(2), Pair(1, 2).count(1), isinstance(Pair(1, 2), tuple), Typed(1), Typed(1).total(), Typed(1, b="y"), repr(Typed(1)), Typed.__annotations__, Typed._fields, Typed(1)._replace(a=5), [a + b for a, b in [Pair(1, 2)]]
max(Pair(1, 2)), str(Pair(1, "a")), {Pair(1, 2): 3}[(1, 2)], Pair(1, 2).__class__.__name__, tuple(Pair(1, 2)), type(tuple(Pair(1, 2))), sorted([Pair(2, 1), Pair(1, 2)]), Pair.__doc__, Pair(1, 2).__getnewargs__(), copy.copy(Pair(1, [2])), copy.deepcopy(Pair(1, [2])), getattr(Pair(1, 2), "a")
hasattr(Pair(1, 2), "c"), Pair(a=1, b=2)._asdict()["a"], Pair(1, 2).__len__(), Pair(1, x) is not None, sum(Pair(1, 2)), Pair(1, 2) * 2, Pair.__match_args__, Typed.__new__.__defaults__
{1: 2}.keys() & {1}, {1: 2}.keys() | {3}, {1: 2, 3: 4}.keys() - {1}, {1: 2}.items() | {(3, 4)}, {1: 2}.items() ^ {(1, 2)}, {1, 2} & {1: 0}.keys(), {1} | {2: 0}.keys(), {1: 2}.keys() >= {1}, {1: 2}.keys() == {1}, {1: 2}.keys() != {2}, {1: 2}.items() == {(1, 2)}, {1: 2}.keys() < {1, 2}
{1} in [{1}], {1} in {frozenset([1])}, set() in {1}, changed({frozenset([1]), 2}, ("discard", {3}), ("remove", {1}), ("__contains__", {2}), ("discard", {1})), frozenset([frozenset()]).__contains__(set()), list(enumerate("ab", 2**70)), deque([1]) * True, [[1], deque([2])][1] * 2
{1: [2]}.items().isdisjoint([(1, [2])]), {1: [2]}.items().isdisjoint(iter([(1, [3])])), {1: [2]}.items().isdisjoint({1: [2], 3: [], 5: []}.items()), [(d.items().isdisjoint(d.items()), d.keys().isdisjoint(d)) for d in ({}, {1: []})], {1: 2}.keys().isdisjoint({7, 8, 1}), {1: 2}.items().isdisjoint({(1, 2)})
{1: x}.values().__len__(), len({1: x}.items()), list({1: x}.items()), x in {1: x}.values(), (1, x) in {1: x}.items(), 1 in {1: x}.keys(), {1: x}.keys().isdisjoint([2]), {1: 2}.values() == {1: 2}.values(), list(reversed({1: 2, 3: 4})), list(reversed({1: 2, 3: 4}.keys())), list(reversed({1: 2, 3: x}.values())), next(iter({1: 2}))
next(iter({1: x}.items())), sorted({2: 1, 1: 2}.items()), max({1: 2, 3: 1}, key={1: 2, 3: 1}.get), dict({1: 2}.items()), set({1: 2}.keys()), [k for k in {1: 2}.keys()], type({}.keys()), type({}.items()), {}.keys() | {1}, sum({1: 2}.values()), {k: v for k, v in {1: 2}.items() if v}, type(iter({}))
type(iter({}.items())), {1: 2}.items() - {(1, 2)}, {1: 2}.items() & [(1, 2)], {1: 2}.keys() & [1], {1: 2}.keys() | "ab", hash, len({1: 2}.items() | {1: 3}.items()), list({1: x}.values())[0] is x, str({1: 2}.values()), repr({1: [2]}.items()), dict.keys({1: 2}), dict.items({1: x})
changed({1: 2}, ("setdefault", 1, 5), ("setdefault", 2), ("setdefault", 3, []), ("get", 9), ("get", 9, x), ("pop", 1), ("pop", 1, None), ("update", {5: 6}), ("update", [(7, 8)]), ("update", ((9, 10),)), ("popitem",), ("keys",), ("clear",), ("__len__",)), [d.update(Maps()) or d for d in [{}]], [d.update({1: 2}, a=3) or d for d in [{}]], [d.update([[1, 2]], b=x) or d for d in [{}]], dict(Maps()), {**Maps()}, dict([(1, 2)], a=3), dict(a=1, **{"b": 2}), dict({1: 2}), dict(zip([1], [x])), dict(v for v in [(1, 2)]), dict(["ab", "cd"])
{1: 1, True: 2}, {1: "a", 1.0: "b"}, {None: 1, (): 2, "": 3}, {Indexable: 1}[Indexable], {len: 1}[len], {x.dtype: 1}[torch.float32], {(1, (2, 3)): 4}[(1, (2, 3))], {frozenset([1]): 2}[frozenset([1])], {1: 2} != {1: 3}, {1: 2} == {1: 2.0}, {1: [x]}[1][0] is x, {"a": {"b": x}}["a"]["b"]
deli({1: 2, 3: 4}, 1), seti({1: 2}, 1, x), list({3: 1, 1: 2}), dict(sorted({3: 1, 1: 2}.items())), {1: 2}.__contains__(1), {1: 2}.__eq__({1: 2}), {}.__class__, {1: 2} or 5, not {}, len({}), dict.fromkeys([1, 2], x), dict.fromkeys("ab")
dict.fromkeys(range(2), []), {i: i * i for i in range(3)}, [k for k in {1: 2}], {1: 2}.__getitem__(1), {1: 2}.__iter__().__next__(), {2: 1, 1: 2} == {1: 2, 2: 1}, {**{1: 2}, **{1: 3}}, deli({(1, 2): 3}, (1, 2)), {1: 2}.__or__({3: 4}), {1: 2}.__ior__({3: 4}), {1: 2}.__ror__({3: 4}), {1: 2}.__reversed__().__next__()
{1: 2}.__ne__({1: 2}), {1: 2}.__or__(3), {0: 1, False: 2}
OrderedDict([(1, x)])[1] is x, OrderedDict(a=1) | OrderedDict(b=2), type(OrderedDict(a=1) | {"b": 2}), type({"b": 2} | OrderedDict(a=1)), changed(OrderedDict(a=1, b=2, c=3), ("popitem",), ("popitem", False), ("move_to_end", "b"), ("setdefault", "q", 4), ("update", {"w": 5}), ("pop", "q"), ("keys",), ("values",), ("items",), ("clear",)), OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1), OrderedDict(a=1, b=2) == dict(b=2, a=1), list(OrderedDict(a=1).items()), list(reversed(OrderedDict(a=1, b=2).items())), OrderedDict.fromkeys([1, 2], 3), copy.copy(OrderedDict(a=1)), copy.deepcopy(OrderedDict(a=[1]))
OrderedDict(a=1).copy(), Od(a=1), type(Od(a=1).copy()), repr(Od(a=1)), OrderedDict({"a": 1}, b=2), deli(OrderedDict(a=1, b=2), "a"), seti(OrderedDict(a=1, b=2), "a", 5), "a" in OrderedDict(a=1), len(OrderedDict(a=1)), next(iter(OrderedDict(a=1))), OrderedDict(a=1) != {"a": 1}, [k for k in OrderedDict(b=1, a=2)]
OrderedDict(a=1).get("z", 3), {**OrderedDict(a=1)}, dict(OrderedDict(a=1)), OrderedDict(zip("ab", [1, 2])), bool(OrderedDict()), max(OrderedDict(a=1)), OrderedDict(a=1).keys() & {"a"}, OrderedDict(a=1).__reversed__().__next__(), OrderedDict(a=1).__eq__({"a": 1})
defaultdict(list)["a"], [d["a"].append(x) or d for d in [defaultdict(list)]], defaultdict(lambda: x)["q"] is x, defaultdict(int, {"a": 1}), defaultdict(int, [("a", 1)], b=2), defaultdict(int).get("a"), "a" in defaultdict(int), [d["z"] or len(d) for d in [defaultdict(int)]], defaultdict(list, a=1).copy(), copy.copy(defaultdict(list, a=1)), copy.deepcopy(defaultdict(list, a=[1])), defaultdict(list) | {"a": 1}
type(defaultdict(list) | {"a": 1}), {"a": 1} | defaultdict(list), type({"a": 1} | defaultdict(list)), defaultdict(int, a=1) == {"a": 1}, repr(defaultdict(int, a=x.ndim)), [d.__missing__("k") or d for d in [defaultdict(int)]], defaultdict(), defaultdict(None, a=1)["a"], Dd(int)["a"], Dd(list, a=1), type(Dd(int).copy()), [[d[k].append(v) for k, v in [("a", 1), ("b", 2), ("a", 3)]] and dict(d) for d in [defaultdict(list)]]
defaultdict(dict)["a"].get("b"), defaultdict(lambda: defaultdict(int))["a"]["b"], defaultdict(int).default_factory, defaultdict(int).pop("a", 3), defaultdict(int).setdefault("a", 3), [d.update(a=2) or d["b"] for d in [defaultdict(float)]], sum(defaultdict(int, a=1, b=2).values())
Counter("aab"), Counter(a=1), Counter({"a": 2}), Counter(["a", 1, 1]), Counter(), Counter("aab").most_common(), Counter("aabb").most_common(1), list(Counter("aab").elements()), Counter("ab") + Counter("b"), Counter("ab") - Counter("b"), Counter("ab") & Counter("b"), Counter("ab") | Counter("b")
+Counter(a=-1, b=1), -Counter(a=-1), Counter("a")["z"], [c.update("ab") or c for c in [Counter("a")]], [c.subtract("ab") or c for c in [Counter("a")]], Counter("ab").total(), Counter("ab") == Counter("ba"), Counter(a=1) <= Counter(a=2), Counter(a=1) < Counter(a=2), Counter("ab").copy(), Counter("a").get("z"), sorted(Counter("ab"))
dict(Counter("aab")), max(Counter("aab"), key=Counter("aab").get), Counter(x.shape), len(Counter("ab")), copy.copy(Counter("a")), type(Co("a") + Co("b")), Counter(a=1, b=0) == Counter(a=1), Counter("abc").items() >= {("a", 1)}, Counter([1, 2]).values(), Counter("aab").keys(), deli(Counter("ab"), "a"), deli(Counter("ab"), "zz")
[c.clear() or c for c in [Counter("a")]], Counter(a=3).__contains__("a"), Counter(dict(a=1, b=2)).pop("a"), Counter("a").__missing__("b"), Counter(a=2.5)["a"]
ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], ChainMap({"a": 1})["a"], list(ChainMap({"a": 1}, {"b": 2})), len(ChainMap({"a": 1}, {"a": 2})), "b" in ChainMap({}, {"b": 1}), ChainMap({"a": 1}).new_child({"b": 2})["b"], ChainMap({"a": 1}, {"b": 2}).parents["b"], [seti(c, "q", 1).maps for c in [ChainMap({}, {"q": 2})]], ChainMap({"a": 1}).get("z", 5), dict(ChainMap({"a": 1}, {"b": 2})), ChainMap({"a": x})["a"] is x, ChainMap().maps
ChainMap({"a": 1}).pop("a"), ChainMap({"a": 1}) | {"b": 2}, ChainMap({"a": 1}) == {"a": 1}, UserDict(a=1), UserDict(a=1)["a"], [seti(u, "b", 2).data for u in [UserDict(a=1)]], "a" in UserDict(a=1), UserList([1, 2])[0], UserList([1]) + [2], len(UserList([1])), UserString("abc").upper(), UserString("a") + "b"
UserList([3, 1]).sort(), [u.append(2) or u.data for u in [UserList([1])]], UserDict({"a": 1}) | {"b": 2}, list(UserDict(a=1).items()), UserList([1, 2]) == [1, 2], str(UserString("q")), collections.abc.Mapping, isinstance({}, collections.abc.Mapping), isinstance([], collections.abc.Sequence), isinstance(Seq(), collections.abc.Sized), issubclass(dict, collections.abc.MutableMapping), isinstance(iter([]), collections.abc.Iterator)
isinstance(x, collections.abc.Iterable), isinstance(len, collections.abc.Callable), isinstance(1, collections.abc.Hashable), isinstance([], collections.abc.Hashable)
list(enumerate("ab", 1)), list(enumerate(["a"], start=5)), enumerate([1]).__next__(), next(enumerate([x]))[1] is x, list(zip()), list(zip([1])), list(zip([1, 2], "ab", (x, 3))), list(zip([1], [2], strict=True)), list(zip(range(3), [1])), dict(zip("ab", [x, 2])), [*zip(*[(1, 2), (3, 4)])], list(map(len, ["a", "bc"]))
list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(map(str, range(2))), list(map(int, "12")), list(map(max, [1, 5], [3, 2])), list(filter(None, [0, 1, "", "a"])), list(filter(lambda v: v > 1, [1, 2])), list(filter(str.isalpha, "a1b")), next(map(str, [1])), next(filter(None, [0, 3])), next(zip([1], [2])), list(reversed([1, x])), list(reversed((1, 2)))
list(reversed("abc")), list(reversed(range(3))), list(reversed(Seq())), next(reversed([1, 2])), list(iter([1, 2])), next(iter([]), 5), list(iter(lambda c=[0]: c.append(0) or len(c), 4)), sorted([3, 1, 2]), sorted([3, 1], reverse=True), sorted("bca"), sorted([-2, 1], key=abs), sorted({"b": 1, "a": 2})
sorted([(1, "b"), (1, "a")]), sorted([Order(2), Order(1)]), sorted([1, 2], key=lambda v: -v), sorted([]), sorted([[2], [1]]), sorted([1.5, 1]), sorted(["B", "a"], key=str.lower), any([0, 1]), all([]), all([1, 0]), any(v > 1 for v in [1, 2]), sum([1, 2])
sum(v for v in [1, 2]), list(Seq()), tuple(Seq()), [*Seq()], 20 in Seq(), list(zip(Seq(), Seq())), len(Seq()), max([1, 3], [2]), min("b", "a", key=ord), max([Order(1), Order(2)], key=lambda o: o.k), divmod(7, 3), callable(len)
list(map(lambda *a: a, [1], [2])), isinstance(map(str, []), map), isinstance(zip(), zip), isinstance(enumerate([]), enumerate), list(iter({1: 2})), list(map(None.__eq__, [None]))
{1, 2} | {3}, {1, 2}.union([3], (4,)), {1, 2} & {2}, {1, 2} - {2}, {1, 2} ^ {2, 3}, {1} <= {1, 2}, {1} < {1, 2}, {1, 2} > {1}, {1}.issubset([1, 2]), {1, 2}.issuperset([1]), {1}.isdisjoint([2]), {1} == {1}
{1} != {2}, {1} == frozenset([1]), {1} == [1], changed({1}, ("add", 2), ("discard", 5), ("remove", 1), ("update", [3], {4}), ("intersection_update", iter([3, 4])), ("difference_update", [4]), ("symmetric_difference_update", [3, 9]), ("copy",), ("clear",)), {x, 1}, len({x, x, 1}), x in {x, 1}, {(1, 2), (1, 2)}, set([1, 2]), set("ab") == {"a", "b"}, set(), set({1: 2})
frozenset([1, 2]), frozenset(), frozenset([1]) | {2}, frozenset([1]).union([2]), hash(frozenset([1, 2])) == hash(frozenset([2, 1])), {frozenset([1])}, {v for v in [1, 1]}, {*[1, 2], 3}, sorted({3, 1}), sum({1, 2}), max({1, 2}), bool(set())
1 in frozenset([1]), {1}.__contains__(1), [s.pop() for s in [{5}]], {1, 2}.difference([1], [2]), {1, 2}.intersection([1], [1, 2]), {1}.symmetric_difference([2]), {1} | {2} | {3}, set(range(3)) - set(range(2)), {None, 1}, {"a", 1}, {1, 1.0, True}, frozenset("ab") == set("ab")
{1}.__or__({2}), {1}.__or__([2]), {1}.__sub__({1}), {1}.__rsub__({2}), {1}.__le__({1}), list({7}), next(iter({7})), {1: 2}.keys() == set([1]), set.union({1}, {2}), set().union(*[[1], [2]]), type(frozenset([1]) - {1}), {(): 1}
set([(1, x)]) if False else 0, copy.copy({1}), copy.deepcopy({1}), {1, 2, 3} >= {1}, isinstance({1}, collections.abc.Set), {1} < {1}, set("hello") & set("help") == set("hel"), {0} | {False}, {frozenset(), 1}, {1}.__and__(1), {1} - {1: 2}.keys()
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_collections_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines(r"""
{1, 2}.remove(set())
{}.pop({})
{1: 2}.pop({})
deque([1]) * "x"
[1] * deque([1])
deque([1]).__mul__("x")
[].__add__(deque([1]))
functools.partial([x])
operator.indexOf(3, 1)
operator.concat({}, [])
itertools.combinations([1], 1.5)
itertools.combinations(3, "a")
slice(1, 3).indices(("a",))
format(deque(), "<3")
deque().__format__(deque())
int([x.ndim], "ab")
bytes([1], len)
bytes(deque(), "ascii")
torch.Size.__lt__(5, 6)
int.mro(1)
list.__format__(int, 1, 2)
list.__format__(list)
next(OrderedDict())
copy.deepcopy(3, 5)
Plain("a").__repr__(x)
[x][3]
[x]["a"]
[x][x.ndim + 5]
[x] + (1,)
[x] + 1
(x,) + [1]
(x,) + 1
[x] * "a"
[x] * [1]
[x] * 1.5
[x] - [1]
[x] / 2
[x] < [x, "a"] and [1] < ["a"]
[1] < (1,)
[1] < 3
(x,) < 3
[x] > None
(1,) - (1,)
-[x]
~(x,)
abs([x])
[x].nothing
(x,).append(1)
[x].append()
[x].append(1, 2)
[x].extend(1)
[x].extend()
[x].insert(0)
[x].insert("a", 1)
[x].pop("a")
[x].pop(7)
[x].sort(1)
[1, "a"].sort()
[x].sort(key=1)
[1, 2].sort(key=lambda v: 1 / 0)
[x].sort(foo=1)
[x].reverse(1)
[x].copy(1)
[x].count()
[x].index()
[x].index(1, "a")
seti([x], 5, 1)
seti([x], "a", 1)
seti([x], slice(0, 1), 5)
seti([1, 2, 3, 4], slice(None, None, 2), [1])
deli([x], 5)
deli([x], "a")
seti((x,), 0, 1)
deli((x,), 0)
iadd([x], 1)
iadd((x,), [1])
iadd((x,), 1)
imul([x], "a")
imul([x], 1.5)
ior([x], [1])
ior({"a": x}, 1)
ior({"a": x}, [1])
ior({1}, [1])
{"a": x}["b"]
{"a": x}.pop("b")
{"a": x}.pop()
{"a": x}.get()
{"a": x}.update(1)
{"a": x}.update([1])
{"a": x}.update(["abc"])
{"a": x}.update(1, 2)
{"a": x} + {"b": 1}
{"a": x} < {"b": 1}
{"a": x} | [1]
{"a": x} | 1
{"a": x}.nothing
{"a": x}.a
{[x]: 1}
{{}: 1}
{(1, [x]): 1}
{"a": x}[[1]]
{"a": x}[{}]
[] in {"a": x}
seti({}, [], 1)
deli({"a": x}, "b")
{}.popitem()
{}.setdefault()
{}.setdefault([])
{}.fromkeys()
{}.fromkeys(1)
dict(1)
dict([x.ndim])
dict(["a"])
dict([(1, 2, 3)])
dict(1, 2)
{**1}
{**[1]}
{*1}
hash([x])
hash({})
hash({1})
hash((1, [x]))
{1} | [1]
{1} & 1
{1} < [1]
{1} < 1
{1} + {2}
{1}.add([])
{1}.add()
{1}.remove(2)
{1}.remove([])
{1}.update(1)
{1}.union(1)
{1}.issubset(1)
{[]}
set([[]])
set().pop()
set(1)
set(1, 2)
frozenset(1)
frozenset([[]])
frozenset([1]).add(1)
seti({1}, 0, 1)
{1}[0]
{1}.nothing
deque().pop()
deque().popleft()
deque([1])[5]
deque([1])["a"]
deque([1])[0:1]
deque([1], -1)
deque([1], "a")
deque(1)
deque([1], 2, 3)
deque([1]).remove(5)
deque([1]).index(5)
deque([1], 1).insert(0, 2)
deque([1]).rotate("a")
deque([1]).append()
deque([1]).extend(1)
deque([1]) + [1]
deque([1]) + 1
deque([1]) < [1]
deque([1]) * "a"
[1] + deque([1])
seti(deque([1]), 5, 1)
deli(deque([1]), 5)
hash(deque())
deque([1]).nothing
[d.append(1) for d in [deque([1, 2])] for _ in d]
Pair(1)
Pair(1, 2, 3)
Pair(1, 2, c=3)
Pair(1, 2).c
Pair(1, 2)[5]
Pair(1, 2)._replace(c=3)
Pair._make([1])
seti(Pair(1, 2), 0, 1)
Typed()
Typed(1, 2, 3)
OrderedDict().popitem()
OrderedDict(a=1).move_to_end("b")
OrderedDict(a=1)["z"]
OrderedDict(a=1).pop("z")
OrderedDict(1)
OrderedDict(a=1) | 1
deli(OrderedDict(a=1), "z")
defaultdict(1)
defaultdict("a")
defaultdict(None)["a"]
defaultdict()["a"]
defaultdict(lambda: 1 / 0)["a"]
defaultdict(int)[[]]
Counter(1)
Counter([[]])
Counter("ab") + 1
Counter("ab") < 1
Counter.fromkeys("ab")
ChainMap({"a": 1})["z"]
ChainMap({"a": 1}).pop("z")
enumerate()
enumerate(1)
enumerate([1], "a")
zip(1)
list(zip([1], [1, 2], strict=True))
list(zip([1, 2], [1], strict=True))
list(zip([1], [1], [1, 2], strict=True))
zip([1], foo=1)
map()
map(len)
list(map(len, [1]))
list(map(1, [1]))
list(map(lambda a: a, [1], [2]))
filter()
filter(None)
list(filter(1, [1]))
filter(None, 1)
reversed(1)
reversed({1})
reversed()
iter(1)
iter(1, 2)
next([])
next(iter([]))
next(iter([1]), 1, 2)
sorted(1)
sorted([1, "a"])
sorted([x.ndim, None])
sorted([1], 2)
sorted([object(), object()])
any(1)
all(None)
sum([[1]])
sum("ab")
sum([1], [])
min([1, "a"])
max([])
max()
max(1, key=1)
max([1], key=1)
min([], default=1, foo=2)
len(5)
len()
len([], [])
isinstance(1)
isinstance(1, 1)
issubclass(1, int)
issubclass(int, 1)
tuple(1)
tuple(1, 2)
list(1)
list(1, 2)
a, b = [1]
a, b = [1, 2, 3]
a, *b = []
a, b = {1: 2}
for q in 5: pass
[d.update({3: 4}) for d in [{1: 2}] for k in d.items()]
[s.add(5) for s in [{1}] for k in s]
[d.pop(k) for d in [{1: 2, 3: 4}] for k in d.values()]
[1, 2].__getitem__("a")
list.append([])
list.append(1, 2)
dict.get(1, 2)
list.append()
[].__nothing__
{1: 2}.keys()[0]
{1: 2}.keys() + {1}
{1: 2}.keys() | 1
{1: 2}.values() | {1}
{1: [1]}.items() | {1}
{1: 2}.keys() < 1
hash({}.keys())
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_collections_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


# Iterators over a deque that has changed: forwards they say so each time,
# backwards once.


def steps(*iterators):
    seen = []
    for iterator in iterators:
        try:
            seen.append(next(iterator, "end"))
        except RuntimeError as error:
            seen.append(str(error))
    return seen


def changed_while_gone_over(x):
    items = deque("abc")
    forwards, backwards = iter(items), reversed(items)
    next(forwards)
    items.pop()
    return steps(forwards, forwards, backwards, backwards)


def changed_before_a_break(x):
    items = deque("abc")
    forwards, backwards, late = iter(items), reversed(items), iter(items)
    next(forwards)
    items.pop()
    after = iter(items)
    magneto.graph_break()
    hints = [operator.length_hint(it) for it in (forwards, backwards, after)]
    seen = steps(forwards, forwards, backwards, backwards, late)
    return hints, seen, list(after)


def changed_at_the_end(x):
    items = deque("a")
    forwards, backwards = iter(items), reversed(items)
    seen = steps(forwards, forwards, backwards, backwards)
    items.append("b")
    return seen + steps(forwards, forwards, backwards, backwards)


@pytest.mark.parametrize(
    "program",
    [changed_while_gone_over, changed_before_a_break, changed_at_the_end],
)
def test_iterators_over_a_changed_deque(program):
    check(program, torch.ones(2))
