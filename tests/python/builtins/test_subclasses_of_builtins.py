# SPDX-License-Identifier: BSD-3-Clause
"""Subclasses of classes written in C: which of their methods C code calls,
which it does not, and in which order.
"""

import collections
import collections.abc
import copy
import functools

import pytest
import torch

import magneto
from magneto.testing import check

SEEN = []


def saw(*what):
    SEEN.append(what)


class Plain:
    def m(self):
        return "m"


class Child(Plain):
    def m(self):
        return super().m()


class Less(int):
    def __lt__(self, other):
        return True


class Same(int):
    def __eq__(self, other):
        return type(other) is Same

    __hash__ = int.__hash__


class AddsToRight(int):
    def __radd__(self, other):
        return "added"


class Indexed(int):
    def __getitem__(self, index):
        if index == 3:
            raise IndexError
        return index


class Position:
    def __index__(self):
        return 2


class Refusing(list):
    def __add__(self, other):
        return NotImplemented

    __mul__ = __iadd__ = __add__


class Empty(list):
    pass


class RightAdder(dict):
    def __radd__(self, other):
        return "radd"


class OtherItems(list):
    def __iter__(self):
        yield 9


class OtherTuple(tuple):
    def __iter__(self):
        yield 9


class OtherLength(list):
    def __len__(self):
        saw("len")
        return 7


class Slotted(dict):
    __slots__ = ("q",)


class Attentive:
    def __getattribute__(self, name):
        saw(name)
        return super().__getattribute__(name)


class AttentiveInt(int):
    @property
    def p(self):
        saw("p")
        return 5

    def __getattribute__(self, name):
        saw(name)
        return super().__getattribute__(name)


class AttentiveDict(dict):
    def __getattribute__(self, name):
        saw(name)
        return super().__getattribute__(name)


class SetsOnly:
    def __setitem__(self, index, value):
        pass


class DeletesOnly:
    def __delitem__(self, index):
        pass


class Bound:
    @classmethod
    def of_class(cls):
        pass

    def of_self(self):
        pass


class Cached:
    __slots__ = ("q",)

    @functools.cached_property
    def r(self):
        return 1


class Sized(Exception):
    def __len__(self):
        saw("len")
        return 0

    def __getitem__(self, index):
        return index


class Everything(type):
    def __instancecheck__(cls, other):
        return other != 3


class Any(metaclass=Everything):
    pass


def error(function, *args):
    try:
        return function(*args)
    except Exception as caught:
        return type(caught).__name__, str(caught)


def matched(a):
    match a:
        case collections.abc.Mapping():
            first = "mapping"
        case collections.abc.Sequence():
            first = "sequence"
        case _:
            first = "none"
    match a:
        case Any():
            return first, "any"
    return first, "not any"


def matched_itself(a):
    match a:
        case Slotted(whole):
            return len(whole)


def matched_twice(a):
    match a:
        case Slotted(_, _):
            return 1


def set_class(a):
    a.__class__ = Plain


def delete(a, index):
    del a[index]


def store(a, index):
    a[index] = 1


def set_attribute(a):
    a.p = 1


def delete_attribute(a):
    del a.zz


PROGRAMS = {
    "int.__gt__ before the reflected __lt__": (
        lambda a: (a > a, a > 1, max(a, a)),
        lambda: Less(2),
    ),
    "int.__ne__ beside an __eq__": (
        lambda a: (a != 2, 2 != a),
        lambda: Same(2),
    ),
    "int.__add__ before __radd__ of the same class": (
        lambda a: (a + a, 1 + a),
        lambda: AddsToRight(2),
    ),
    "an int with items": (lambda a: ([*a], list(a)), lambda: Indexed(1)),
    "a text times an index": (
        lambda a: error(lambda: ("ab" * a, a * b"a", [1] * a)),
        Position,
    ),
    "lists without an operator": (
        lambda a: (
            error(lambda: a + [1]),
            error(lambda: a * 2),
            error(lambda: a + 1),
        ),
        Refusing,
    ),
    "__radd__ before list.__add__": (
        lambda a: (error(lambda: Empty() + a), error(lambda: [] + a)),
        RightAdder,
    ),
    "a caller's list and __radd__": (
        lambda a: error(lambda: a + RightAdder()),
        Empty,
    ),
    "a list looks into itself": (
        lambda a: (1 in a, 9 in a),
        lambda: OtherItems([1]),
    ),
    "a tuple looks into itself": (
        lambda a: (1 in a, 9 in a),
        lambda: OtherTuple([1]),
    ),
    "a list that says another length": (
        lambda a: (a.append(1), a.append(2), a.pop(0), [*reversed(a)]),
        lambda: OtherLength([3]),
    ),
    "reversed() asks twice": (lambda a: [*reversed(a)], Sized),
    "no dictionary behind slots": (
        lambda a: error(set_attribute, a),
        Slotted,
    ),
    "__dict__ through __getattribute__": (lambda a: a.__dict__, Attentive),
    "a property of an int with __getattribute__": (
        lambda a: getattr(a, "p", None),
        lambda: AttentiveInt(2),
    ),
    "dict() asks for keys": (
        lambda a: (dict(a), {**a}),
        lambda: AttentiveDict(b=1),
    ),
    "copies look at the object itself": (
        lambda a: type(copy.copy(a)).__name__,
        Attentive,
    ),
    "isinstance() of a pattern": (lambda a: matched(a), lambda: [1]),
    "isinstance() of a pattern for a mapping": (lambda a: matched(a), dict),
    "isinstance() of a pattern for a number": (lambda a: matched(a), lambda: 3),
    "a pattern takes a subclass of a dict itself": (
        lambda a: (matched_itself(a), error(matched_twice, a)),
        Slotted,
    ),
    "super() of None": (
        lambda a: (
            error(lambda: super(Plain, a).zz),
            super(Plain, a).__thisclass__,
            super(Plain, a).__self__,
            error(Child.m, a),
        ),
        lambda: None,
    ),
    "the attributes of super() itself": (
        lambda a: (
            super(Child, a).__self__ is a,
            super(Child, a).__self_class__,
        ),
        Child,
    ),
    "the class of methods": (
        lambda a: (a.of_class.__class__, a.of_self.__class__.__name__),
        Bound,
    ),
    "__class__ of a number": (lambda a: error(set_class, a), lambda: 3),
    "deleted items": (
        lambda a: [error(delete, b, 1) for b in (a, 3, None, (1,), "a", Plain)],
        SetsOnly,
    ),
    "stored items": (
        lambda a: [error(store, b, 1) for b in (a, 3, None, (1,), "a")],
        DeletesOnly,
    ),
    "object.__init__ with too much": (
        lambda a: error(a.__init__, 1),
        Plain,
    ),
    "a cached property and no dictionary": (
        lambda a: error(getattr, a, "r"),
        Cached,
    ),
    "the base before the number": (
        lambda a: (error(int, a, 1), error(int, a, 2)),
        lambda: 2.5,
    ),
    "a union has no items": (
        lambda a: (
            error(iter, int | str),
            error(lambda: [*reversed({1: 2}.items())] + [a]),
        ),
        lambda: 1,
    ),
    "an items view of a class": (
        lambda a: error(
            lambda: reversed(collections.ChainMap({}, {1: 2}).items())
        ),
        lambda: 1,
    ),
    "attributes that tensors don't have": (
        lambda a: (error(delete_attribute, a), error(delete_attribute, a + 1)),
        lambda: torch.ones(1),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_c_code_asks_of_subclasses(name):
    look, make = PROGRAMS[name]

    def program(x, a):
        SEEN.clear()
        found = look(a)
        return x + 1, found, [*SEEN]

    check(program, torch.ones(2), make())


def test_programs_that_are_whole_graphs():
    def program(x, a, b):
        return x + 1, matched(b), a > a, 9 in OtherItems([1]), "ab" * Position()

    check(program, torch.ones(2), Less(2), {}, graph_breaks=0)


class NoLength(list):
    def __len__(self):
        pass


def test_a_write_to_a_list_whose_length_is_an_error():
    def program(x, items):
        items.append(1)
        del items[0]
        return x + 1

    items = NoLength([5])
    magneto.compile(program, backend="eager")(torch.ones(2), items)
    assert [*items] == [1]


class Real(float):
    pass


def test_hash_of_what_is_no_number_is_of_its_address():
    def program(x):
        value = Real("nan")
        return x + 1, hash(value) == object.__hash__(value)

    check(program, torch.ones(1), calls=3)
