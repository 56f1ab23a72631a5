# SPDX-License-Identifier: BSD-3-Clause
"""Subclasses of builtin classes with methods of their own, iterators that log
and descriptors, in expressions that may call them: results and errors.
"""

import itertools
import math
import operator
from collections import OrderedDict, UserDict, defaultdict, deque

import pytest
import torch
import torch.utils.checkpoint

from magneto.testing import check
from support.expressions import check_error, check_expression, lines

X = torch.arange(4.0)


class Number:
    """What `__index__` gives is read from an attribute."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Real:
    def __float__(self):
        return 2.5


class Doubling(OrderedDict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class DoublingDict(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class Nine(dict):
    def get(self, key, default=None):
        return 9


class Everything(OrderedDict):
    def __contains__(self, key):
        return True


class OtherItems(OrderedDict):
    def items(self):
        return [(1, 2)]

    def keys(self):
        return ["b"]


class LyingSet(set):
    def __iter__(self):
        return iter([9, 8])


class LyingTuple(tuple):
    def __iter__(self):
        return iter([9, 8])


class Sevens(list):
    def __getitem__(self, index):
        return 7


class OneAsIndex(int):
    def __index__(self):
        return 1


class OtherAsFloat(float):
    def __float__(self):
        return 3.5


class Logged:
    """An iterator that says how often it is asked for itself."""

    def __init__(self, log):
        self.log = log
        self.count = 0

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.count += 1
        if self.count > 3:
            raise StopIteration
        return self.count


class NoIterator:
    def __iter__(self):
        return 5


class OnClass:
    @classmethod
    @property
    def value(cls):
        return 2

    @classmethod
    @staticmethod
    def made():
        return 3


class OwnProperty(property):
    def __get__(self, instance, owner=None):
        if instance is None:
            return "unbound"
        return super().__get__(instance, owner) * 2


class WithProperty:
    @OwnProperty
    def value(self):
        return 4


class Reflected:
    def __rmod__(self, other):
        return "never"

    def __radd__(self, other):
        return "added"


class Owner:
    def __get__(self, instance, owner=None):
        return owner.__name__


class Above:
    owner = Owner()


class Between(Above):
    def owners(self):
        mine = super().owner, super(Between, self).owner
        return *mine, super(Between, Between).owner

    @classmethod
    def of_class(cls):
        return super().owner


class Below(Between):
    pass


def doubling(kind):
    made = kind()
    (OrderedDict if kind is Doubling else dict).__setitem__(made, "a", 3)
    return made


def keywords(**given):
    return given


def matched(subject):
    match subject:
        case {"a": value, **rest}:
            return value, rest
    return None


def logged(take):
    log = []
    return take(Logged(log)), log


def consumed(take):
    seen = []

    def numbers():
        for i in (0, 1, 2, 3):
            seen.append(i)
            yield i

    try:
        return take(numbers()), seen
    except ValueError as error:
        return str(error), seen


def same_namespaces():
    first = locals()
    extra = 1
    second = locals()
    del extra
    third = locals()
    return first is second, second is third, sorted(third)


def own_key_in_namespace():
    locals()["own"] = 1
    other = 2
    return sorted(locals()), sorted(vars()), other


NAMESPACE = {
    **globals(),
    **{module.__name__: module for module in (itertools, math, operator)},
    **{made.__name__: made for made in (UserDict, defaultdict, deque)},
}

EXPRESSIONS = """
hex(Number(3)), oct(Number(3)), list(range(Number(3)))
[1, 2, 3, 4].pop(Number(2)), deque([1, 2, 3]).rotate(Number(1))
list(itertools.islice([1, 2, 3, 4], Number(2)))
list(itertools.islice(range(9), Number(1), Number(7), Number(2)))
math.floor(Real()), math.ceil(Real()), math.floor(Number(3))
list(enumerate("ab", OneAsIndex(5))), [1, 2, 3][OneAsIndex(2)]
math.sqrt(OtherAsFloat(2.5))
math.isqrt(OneAsIndex(9)), math.gcd(OneAsIndex(9), 6), math.comb(OneAsIndex(5), 2)
"%s %s" % LyingTuple((1, 2))
bytes(OneAsIndex(3))
issubclass({1: 2}, ())
operator.concat((3, 1), x.shape), type(operator.concat((3, 1), x.shape))
deque([1]) + deque([2]), deque([1]) == [1]
dict(doubling(Doubling)), {**doubling(Doubling)}
keywords(**doubling(Doubling)), "{a}".format(**doubling(Doubling))
doubling(Doubling).copy(), OrderedDict(doubling(Doubling))
doubling(Doubling) | {"q": 1}, {"q": 1} | doubling(Doubling)
doubling(Doubling).setdefault("a", 1), matched(doubling(Doubling))
defaultdict(int, doubling(Doubling))
dict(doubling(DoublingDict)), {**doubling(DoublingDict)}
OrderedDict(doubling(DoublingDict))
dict(OtherItems(b=3)), OrderedDict(OtherItems(b=3)), repr(OtherItems(b=3))
matched(Nine(a=3)), matched({"a": 1, "b": 2}), matched(UserDict(a=1))
set(LyingSet({1, 2, 3})), frozenset(LyingSet({1})), {*LyingSet({1})} == {8, 9}
LyingSet({1, 2}) | {4}, LyingSet({1, 2}) & {1}, {1}.union(LyingSet({2}))
{1, 2, 9}.intersection(LyingSet({1})), {9}.isdisjoint(LyingSet({1}))
repr(LyingSet({1, 2, 3}))
list(reversed(Sevens([1, 2, 3])))
logged(list), logged(tuple), logged(sorted), logged(lambda i: [*i])
logged(bytes), logged(set), logged(sum), logged(lambda i: operator.index(3))
consumed(lambda i: {0, 9}.isdisjoint(i))
consumed(lambda i: {1}.issuperset(i))
consumed(lambda i: frozenset([0, 1]).intersection(i))
consumed(lambda i: {1}.intersection(i, [1]))
consumed(lambda i: {0: 1}.keys().isdisjoint(i))
consumed(lambda i: operator.indexOf(i, 1))
consumed(lambda i: bytes(v * 200 for v in i))
OnClass.value, OnClass().value, OnClass.made()
WithProperty().value, WithProperty.value
Below().owners(), Below.of_class()
same_namespaces()
own_key_in_namespace()
type(iter("abcd")).__name__, type(iter("\\u00e9")).__name__
type(iter(b"a")).__name__, list(iter("ab")), list(iter(b"ab"))
next(iter("ab")), "".join(iter("abc")), sum(iter(b"ab"))
hasattr(x.sin, "__get__"), hasattr([].append, "__get__")
x.sin.__qualname__, [].append.__qualname__, "".join.__name__
slice(x) == slice(x), slice(None, x, "a") != slice(None, x, "a")
slice(1, 2) < slice(1, 3), slice(1, 2) == slice(1, 2, None)
complex(1), (x.numel() >= 4) ^ True
torch._foreach_add_([x], 1) == [x]
"""


@pytest.mark.parametrize("expression", lines(EXPRESSIONS))
def test_expression(expression):
    check_expression(expression, NAMESPACE)


ERRORS = """
defaultdict([1, 2])
defaultdict(5)
OrderedDict().update([1])
OrderedDict().update([(1, 2, 3)])
OrderedDict().update("ab")
OrderedDict([()])
reversed(UserDict(a=1))
list(NoIterator())
[*NoIterator()]
for each in NoIterator(): pass
list(itertools.islice([1], 1.5))
list(itertools.islice([1], -2))
list(itertools.islice([1], 0, 1, 0))
math.trunc(Number(3))
"ab" % Reflected()
raise ValueError from 5
raise 5 from ValueError
Everything().setdefault("c", 3)
bytes(x for x in [1, 300])
bytes(["a"])
"""


@pytest.mark.parametrize("statement", lines(ERRORS))
def test_error(statement):
    check_error(statement, NAMESPACE)


# -- iterators that live across a graph break ---------------------------------

LIVING = """
map(lambda q: q, Logged(log))
filter(None, Logged(log))
zip(Logged(log), [4, 5, 6])
zip([4, 5, 6], Logged(log), strict=True)
enumerate(Logged(log))
itertools.islice(Logged(log), 2)
itertools.accumulate(Logged(log))
itertools.takewhile(lambda q: q < 3, Logged(log))
itertools.dropwhile(lambda q: q < 2, Logged(log))
itertools.starmap(lambda q: q, zip(Logged(log)))
itertools.zip_longest(Logged(log), [1])
itertools.pairwise(Logged(log))
itertools.groupby(Logged(log))
itertools.compress(Logged(log), Logged(log))
itertools.filterfalse(lambda q: q < 2, Logged(log))
itertools.chain(Logged(log), [1])
"""


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("expression", lines(LIVING))
def test_iterators_of_new_objects(expression, begun):
    source = (
        "def program(x):\n"
        "    log = []\n"
        f"    iterator = {expression}\n"
        f"    first = next(iterator) if {begun} else None\n"
        "    magneto.graph_break()\n"
        "    rest = [str(type(each)) if callable(each) else each\n"
        "            for each in iterator if not isinstance(each, tuple)]\n"
        "    return x + 1, rest, log, type(first).__name__\n"
    )
    scope = dict(NAMESPACE)
    exec(source, scope)
    check(scope["program"], X)
