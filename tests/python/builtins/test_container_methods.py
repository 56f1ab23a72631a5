# SPDX-License-Identifier: BSD-3-Clause
"""Methods of lists, tuples, dicts, sets, their views and subclasses."""
# ruff: noqa: F401  (the programs in the tables use the names)

import collections
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch

from magneto.testing import check
from support.expressions import check_error, check_expression, lines

Pair = namedtuple("Pair", "a b")


class Stack(list):
    def push(self, item):
        super().append(item)
        return self

    def __len__(self):
        return 100 + super().__len__()


class Registry(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, ("set", value))

    def __getitem__(self, key):
        return super().__getitem__(key)[1]

    def __missing__(self, key):
        return ("missing", key)


class Ordered(OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.upper(), value)


class Bag(set):
    def add(self, item):
        super().add((item, "in bag"))


class Triple(tuple):
    def __new__(cls, *items):
        return super().__new__(cls, items + (3,))

    def total(self):
        return sum(self)


class Defaults(defaultdict):
    pass


def changed(container, *calls):
    """The container after calls like ("append", 3), and what they gave."""
    return [getattr(container, name)(*args) for name, *args in calls], container


NAMESPACE = dict(globals())

EXPRESSIONS = lines("""
# list
changed([1], ("append", 2), ("extend", (3, 4)), ("insert", 0, 0), ("insert", -1, 9), ("insert", 99, 5))
changed([1, 2, 3, 2], ("pop",), ("pop", 0), ("remove", 3), ("count", 2), ("index", 2))
changed([3, 1, 2], ("sort",), ("reverse",), ("copy",), ("clear",))
[1, 2, 3].index(3, 1), [1, 2, 1].index(1, 1, 3), [1, 2, 1].count(1), [x].index(x), [(1, 2)].count((1, 2))
[l.sort(key=lambda v: -v) or l for l in [[1, 3, 2]]], [l.sort(reverse=True) or l for l in [["b", "a"]]]
[1, 2] + [3], [1] * 3, 2 * [1, 2], [1, 2] == [1, 2], [1] < [2], 2 in [1, 2], [1, 2][-1], [1, 2, 3][::-1], [[1]] == [(1,)]
list((1, 2)), list("ab"), list({"a": 1}), list(), list(range(2)), list(v for v in [1, 2]), list.append([1], 2), list.__len__([1, 2])
[a.__setitem__(0, 5) or a for a in [[1, 2]]], [a.__delitem__(0) or a for a in [[1, 2]]], [1, 2].__contains__(2), [1].__add__([2]), [1, 2].__getitem__(1)
Stack([1]).push(2), len(Stack([1])), Stack([1, 2])[1], list(Stack([1, 2])), Stack([1]) == [1], Stack() or 1, bool(Stack()), Stack([1, 2]).pop()
# tuple
(1, 2, 1).count(1), (1, 2, 1).index(2), (x, 1).index(x), (1,) + (2,), (1, 2) * 2, tuple([1, 2]), tuple(), (1, 2) < (1, 3), (1, x)[1]
Pair(1, 2).a, Pair(1, x).b, Pair(1, 2)._replace(a=5), Pair(1, 2)._asdict(), Pair._make([1, 2]), Pair(1, 2) == (1, 2), Pair(b=1, a=2), Pair._fields, Pair(1, 2)[1], len(Pair(1, 2)), [*Pair(1, 2)], Pair(1, 2) + (3,)
Triple(1, 2), Triple(1).total(), Triple(1, 2)[2], tuple(Triple()), isinstance(Triple(), tuple)
# dict
dict(a=1, b=2), dict([("a", 1)]), dict({"a": 1}, b=2), dict(zip("ab", [1, 2])), dict(), {**{"a": 1}, "b": 2}, {"a": 1} | {"b": 2}
changed({"a": 1}, ("get", "a"), ("get", "b"), ("get", "b", 5), ("setdefault", "a", 9), ("setdefault", "c", 3), ("setdefault", "n"))
changed({"a": 1, "b": 2, "c": 3}, ("pop", "a"), ("pop", "z", 0), ("popitem",), ("copy",), ("update", {"d": 4}), ("update", [("e", 5)]))
changed({"a": 1}, ("clear",), ("update",)), dict.fromkeys("ab"), dict.fromkeys([1, 2], 0), [d.update(b=2, c=3) or d for d in [{"a": 1}]]
list({"a": 1, "b": 2}.keys()), list({"a": 1}.values()), list({"a": 1, "b": 2}.items()), len({"a": 1}.keys()), [k for k in {"a": 1, "b": 2}], list(reversed({"a": 1, "b": 2}.items()))
"a" in {"a": 1}, "a" in {"a": 1}.keys(), ("a", 1) in {"a": 1}.items(), 1 in {"a": 1}.values(), ("a", 2) in {"a": 1}.items(), "ab" in {"a": 1}.items()
{"a": 1}.keys() & {"a", "b"}, {"a": 1}.keys() | ["b"], {"a": 1, "b": 2}.keys() - ["a"], {"a": 1}.keys() ^ {"b"}, {"a": 1}.items() & {("a", 1)}, {"a"} - {"a": 1}.keys()
{"a": 1}.keys() == {"a"}, {"a": 1}.keys() == {"a": 2}.keys(), {"a": 1}.keys() <= {"a", "b"}, {"a": 1}.items() == {"a": 1}.items(), {"a": 1}.keys().isdisjoint("b"), {"a": 1}.keys() != ["a"]
{"a": 1} == {"a": 1}, {"a": 1, "b": 2} == {"b": 2, "a": 1}, {"a": 1} != {"a": 2}, {1: x} == 3, {} == {}, {1: 2, 1.0: 3}, {True: 1, 1: 2}
[d.__setitem__("b", 2) or d for d in [{"a": 1}]], [d.__delitem__("a") or d for d in [{"a": 1}]], {"a": 1}.__contains__("a"), {"a": 1}.__getitem__("a"), {"a": 1}.__len__(), list({"a": 1}.__iter__()), dict.get({"a": 1}, "a")
Registry(a=1)["b"], [r.__setitem__("a", 2) or dict(r) for r in [Registry()]], [r.update(a=(0, 2)) or r["a"] for r in [Registry()]], len(Registry(a=1)), "a" in Registry(a=1)
{(1, "a"): 2}[(1, "a")], {None: 1}[None], {1.5: 2}[1.5], {int: 1}[int], {(x, 1): 5}[(x, 1)], {x: 3}[x]
# sets
[*({8, 0, 16} ^ {24, 8, 1})], [*({0, 8, 16} & {16, 8, 0, 32})], [*({0, 8} & {16, 8, 0})], [*{8, 0, 16}.symmetric_difference([24, 0])], [*{0, 8, 16}.intersection([16, 8])], [*({0: 2, 8: 3}.keys() ^ {8, 16})]
[[s.discard(n) for n in range(20) if n not in (1, 16)] and (list(s), s) for s in [set(range(20))]], [(s.discard(1), s.add(1), s)[2] for s in [{1, 2}]], [(s.clear(), s.add(1), s.discard(1), s)[3] for s in [{1, 2}]], [(s.remove(5), s.add(24), s.add(16), list(s), s)[3:] for s in [{5, 8, 0}]]
{1, 2} | {3}, {1, 2} & {2}, {1, 2} - {1}, {1, 2} ^ {2, 3}, {1} <= {1, 2}, {1} < {1}, {1, 2} >= {1}, {1, 2} == {2, 1}, {1} != {2}, 1 in {1}, len({1, 1, 2})
set("hello"), set([3, 1, 2]), set(), frozenset("ab"), frozenset(), set(range(20)), list({30, 2, 17, 8}), [v for v in {"one", "two", "three"}]
changed({1}, ("add", 2), ("add", 1), ("discard", 1), ("discard", 7), ("update", [5], (6,)), ("remove", 5))
changed({1, 2, 3}, ("union", [4], [5]), ("intersection", [1, 2]), ("difference", [1]), ("symmetric_difference", [1, 9]), ("copy",), ("issubset", [1, 2, 3, 4]), ("issuperset", [1]), ("isdisjoint", [7]))
changed({1, 2, 3}, ("intersection_update", [1, 2]), ("intersection_update", iter([2, 1])), ("difference_update", [1]), ("symmetric_difference_update", [9])), changed({4}, ("pop",), ("clear",))
frozenset([1, 2]) | {3}, {1} | frozenset([2]), frozenset([1]).union([2]), frozenset([1]) == {1}, {frozenset([1]): 2}[frozenset([1])], hash(frozenset([1])) == hash(frozenset([1])), {1, 2}.union(), {1, 2}.intersection([2, 3], [2])
[s.__ior__({2}) for s in [{1}]], {v % 3 for v in range(9)}, sorted({1, 2}.union("a"), key=str), {x} == {x}, len({x, x}), x in {x}
sorted(Bag([1])), [b.add(1) or list(b) for b in [Bag()]], type(Bag([1]) | {2}).__name__
# collections
list(OrderedDict(a=1, b=2)), list(OrderedDict([("b", 1), ("a", 2)]).items()), OrderedDict(a=1) == {"a": 1}, OrderedDict(a=1, b=2) == OrderedDict(b=2, a=1), OrderedDict(a=1, b=2) == OrderedDict(a=1, b=2)
changed(OrderedDict(a=1, b=2, c=3), ("move_to_end", "a"), ("move_to_end", "c", False), ("popitem",), ("popitem", False), ("setdefault", "z", 1), ("pop", "z"), ("pop", "q", 0), ("copy",))
[o.move_to_end("b", last=False) or list(o) for o in [OrderedDict(a=1, b=2)]], list(reversed(OrderedDict(a=1, b=2))), list(OrderedDict.fromkeys("ab", 1).items()), [o.update(b=1) or dict(o) for o in [Ordered(a=2)]], OrderedDict(a=1) | {"b": 2}
[d["a"].append(1) or d["b"] or dict(d) for d in [defaultdict(list)]], defaultdict(int, a=1)["a"], defaultdict(int)["z"], defaultdict(lambda: 5)[3], defaultdict(int, {"a": 2}).get("q"), defaultdict(list).default_factory is list, [d["k"] or d for d in [Defaults(int)]]
Counter("hello")["l"], Counter("hello").most_common(1), Counter(a=1) + Counter(a=2, b=1), sorted(Counter([1, 1, 2]).elements()), Counter("ab")["z"], [c.update("aa") or dict(c) for c in [Counter("a")]], Counter("aab").total()
changed(deque([1, 2]), ("append", 3), ("appendleft", 0), ("pop",), ("popleft",), ("extend", [5, 6]), ("extendleft", [7, 8]), ("rotate", 1), ("rotate", -2), ("count", 5), ("reverse",), ("copy",), ("insert", 1, 99), ("remove", 99), ("index", 5))
deque([1, 2, 3], 2), deque("abc", maxlen=2).maxlen, deque([1, 2])[0], len(deque([1])), list(deque([1, 2])), 2 in deque([1, 2]), bool(deque()), deque([1]) == deque([1]), list(reversed(deque([1, 2]))), deque([1]) + deque([2]), [d.append(4) or d for d in [deque([1, 2], 2)]]
collections.ChainMap({"a": 1}, {"b": 2})["b"], collections.UserDict(a=1)["a"], list(collections.UserList([1, 2])), collections.UserDict({"a": 1}).get("z", 0)
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_container_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines("""
[].pop()
[1].pop(5)
[1].remove(2)
[1].index(2)
[1].insert("a", 2)
[1].append()
[*3]
[1, *None, 2]
[*[].append]
(*1.5,)
[1, "a"].sort()
[1] + (2,)
[1][3]
[1]["a"]
[1, 2][0:1] = 3
list(3)
(1,).index(2)
tuple(3)
(1,)[0] = 2
Pair(1)
Pair(1, 2, 3)
Pair(1, 2).c
Pair(1, 2)._replace(c=1)
{}["a"]
{}.pop("a")
{}.popitem()
{}.get()
{}[[]]
dict(3)
dict([1])
dict([(1, 2, 3)])
dict([("a",)])
{"a": 1} < {"a": 2}
{[]: 1}
{[]}
{1}.remove(2)
set().pop()
set(3)
{1} | [2]
{1}.add([])
OrderedDict().popitem()
OrderedDict(a=1).move_to_end("b")
OrderedDict().pop("a")
defaultdict(3)
defaultdict(None)["a"]
deque().pop()
deque([1], -1)
deque([1]).remove(2)
[d.update({3: 4}) for d in [{1: 2, 2: 3}] for k in d]
[d.items().nothing for d in [{}]]
list.append(3, 4)
dict.get([], 1)
dict.fromkeys(3)
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_container_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


# -- containers of the caller's -----------------------------------------------


def test_callers_list_is_changed():
    def program(x, items):
        items.append(x + 1)
        items.insert(0, items.pop(1))
        items[1:2] = ["new", "newer"]
        items.reverse()
        return x * 2, len(items)

    check(program, torch.ones(2), [1, 2, 3], fullgraph=True, graphs=1)


def test_callers_dict_is_changed():
    def program(x, d):
        d["new"] = x + 1
        d.pop("a")
        d.setdefault("b", 9)
        d.setdefault("c", d.get("b", 0))
        d.update(e=5)
        return x * d["b"], list(d.items())[0], sorted(d)

    check(program, torch.ones(2), {"a": 1, "b": 2}, fullgraph=True, graphs=1)


def test_callers_ordered_dict_is_reordered():
    def program(x, d):
        d.move_to_end("a")
        d["z"] = 3
        d.move_to_end("z", last=False)
        return x + d["a"], list(d)

    check(
        program,
        torch.ones(2),
        OrderedDict(a=1, b=2, c=3),
        fullgraph=True,
        graphs=1,
    )


def test_callers_set_is_changed():
    def program(x, s):
        s.add(4)
        s.discard(1)
        s |= {7, 8}
        return x + len(s), sorted(s)

    check(program, torch.ones(2), {1, 2, 3}, fullgraph=True, graphs=1)


def test_callers_default_dict_makes_values():
    def program(x, d):
        d["a"].append(x)
        d["b"] += [1]
        return x + len(d)

    check(program, torch.ones(2), defaultdict(list), fullgraph=True, graphs=1)


def test_made_containers_leave_whole():
    def program(x):
        limited = deque([x, 1, 2], maxlen=2)
        default = defaultdict(list)
        default["k"].append(x)
        ordered = OrderedDict(b=x, a=1)
        ordered.move_to_end("b")
        registry = Registry()
        registry["a"] = 1
        return (
            x + 1,
            limited,
            limited.maxlen,
            default,
            default.default_factory,
            ordered,
            Stack([x]).push(2),
            registry,
            Pair(x, 1),
            Triple(1),
            {"s", "t"},
            frozenset([1, 2]),
            Counter("aab"),
        )

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_dict_changed_while_iterated_raises():
    def program(x):
        d = {"a": 1, "b": 2}
        try:
            for key in d.keys():
                d[key + "x"] = 1
        except RuntimeError as error:
            return x + 1, str(error)

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_views_follow_their_dict():
    def program(x):
        d = {"a": 1}
        keys, values, items = d.keys(), d.values(), d.items()
        d["b"] = x
        return list(keys), len(values), [k for k, _ in items], x + 1

    check(program, torch.ones(2), fullgraph=True, graphs=1)
