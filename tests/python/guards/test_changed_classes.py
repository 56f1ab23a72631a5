# SPDX-License-Identifier: BSD-3-Clause
"""A class that is given a special method or a hook of attribute access, or
loses it, between the calls of what was compiled for its instances: also where
only C code looks for the method.
"""

import collections
import copy
import math
import operator
import os
import re
import types
from typing import Any

import pytest
import torch

import magneto

NOTES: list[Any] = []
PATTERN = re.compile("a")
PLAIN_TEXT = "text"

PROGRAMS = {
    "a key of a dict": ("__hash__", lambda odd: {odd: 1}),
    "a key that is looked up": ("__hash__", lambda odd: {1: 2}.get(odd)),
    "a key that is taken out": ("__hash__", lambda odd: {1: 2}.pop(odd, 3)),
    "a key of an empty dict": ("__hash__", lambda odd: {}.pop(odd, 3)),
    "an item of a set": ("__hash__", lambda odd: sorted(map(repr, {odd, 1}))),
    "what a set is asked for": ("__hash__", lambda odd: odd in {1, 2}),
    "a key in a tuple": ("__hash__", lambda odd: {(odd, 1): 2}),
    "a text of a key": ("__hash__", lambda odd: repr({odd: odd})),
    "pairs": ("__hash__", lambda odd: dict([(odd, odd)])),
    "a counter": ("__hash__", lambda odd: collections.Counter([odd, odd])),
    "a hash": ("__hash__", lambda odd: hash((odd,)) == hash((odd,))),
    "equal keys": ("__eq__", lambda odd: {odd: 1}.get(odd)),
    "an item that is written": ("__index__", lambda odd: {1}.__class__ and put({1}, odd)),
    "an item that is deleted": ("__index__", lambda odd: drop({1}, odd)),
    "a position": ("__index__", lambda odd: [1, 2, 3][odd]),
    "a bound": ("__index__", lambda odd: [1, 2, 3].index(3, odd)),
    "a slice of a tensor": ("__index__", lambda odd: torch.ones(3)[odd : torch.tensor(2)]),
    "a count of a deque": ("__index__", lambda odd: collections.deque([1]) * odd),
    "a real number": ("__float__", lambda odd: math.sqrt(odd)),
    "a divisor": ("__index__", lambda odd: math.gcd(odd, 4)),
    "what is called": ("__call__", lambda odd: odd()),
    "whether it is called": ("__call__", lambda odd: callable(odd)),
    "what is unpacked": ("__iter__", lambda odd: unpacked(odd)),
    "arguments": ("__iter__", lambda odd: max(*odd)),
    "truth": ("__bool__", lambda odd: not odd),
    "truth by length": ("__len__", lambda odd: not odd),
    "a text": ("__str__", lambda odd: f"{odd}"),
    "an operand": ("__radd__", lambda odd: 1 + odd),
    "a member": ("__contains__", lambda odd: 1 in odd),
    "a member by items": ("__getitem__", lambda odd: 5 in odd),
    "backwards": ("__getitem__", lambda odd: [*reversed(odd)]),
    "backwards by length": ("__len__", lambda odd: [*reversed(odd)]),
    "backwards by itself": ("__reversed__", lambda odd: type(reversed(odd)).__name__),
    "a mapping of a format": ("__getitem__", lambda odd: "%(key)s" % odd),
    "no more than a format": ("__getitem__", lambda odd: PLAIN_TEXT % odd),
    "what is concatenated": ("__add__", lambda odd: operator.concat(odd, odd)),
    "a sequence concatenated": ("__getitem__", lambda odd: operator.concat(odd, [1])),
    "items that are deleted": ("__setitem__", lambda odd: drop(odd, 1)),
    "items that are written": ("__delitem__", lambda odd: put(odd, 1)),
    "a mapping proxy": ("__getitem__", lambda odd: len(types.MappingProxyType(odd))),
    "a group of errors": ("__getitem__", lambda odd: ExceptionGroup("text", odd)),
    "a replacement": ("__call__", lambda odd: re.sub("a", odd, "bab")),
    "a count of replacements": ("__index__", lambda odd: re.sub("a", "c", "bab", odd)),
    "a place to match at": ("__index__", lambda odd: PATTERN.search("bab", odd) is None),
    "a pattern": ("__hash__", lambda odd: re.search(odd, "bab") is None),
    "a mapping that is spread": ("keys", lambda odd: {**odd}),
    "a mapping's items": ("__getitem__", lambda odd: {**odd}),
    "a mapping that updates": ("keys", lambda odd: dict(odd)),
    "a mapping's iteration": ("__iter__", lambda odd: dict(odd)),
    "a match of a sequence": ("__len__", lambda odd: matched(odd)),
    "a missing key": ("__missing__", lambda odd: odd["k"]),
    "an attribute": ("__getattr__", lambda odd: odd.text),
    "any attribute": ("__getattribute__", lambda odd: odd.text),
    "an attribute by name": ("__getattr__", lambda odd: getattr(odd, "text", 3)),
    "an attribute that is asked for": ("__getattr__", lambda odd: hasattr(odd, "text")),
    "an attribute that is written": ("__setattr__", lambda odd: setattr(odd, "text", 1)),
    "an attribute that is deleted": ("__delattr__", lambda odd: delattr(odd, "text")),
    "a length": ("__len__", lambda odd: len(odd)),
    "a hint of a length": ("__length_hint__", lambda odd: operator.length_hint(odd, 7)),
    "what comes next": ("__next__", lambda odd: next(odd)),
    "an iterator": ("__next__", lambda odd: iter(odd) is odd),
    "a comparison": ("__lt__", lambda odd: odd < odd),
    "a reflected comparison": ("__gt__", lambda odd: 1 < odd),
    "an unequal one": ("__ne__", lambda odd: odd != odd),
    "equal to": ("__eq__", lambda odd: [odd] == [1]),
    "a rounded one": ("__round__", lambda odd: round(odd)),
    "the whole part": ("__trunc__", lambda odd: int(odd)),
    "a complex number": ("__complex__", lambda odd: complex(odd)),
    "bytes": ("__bytes__", lambda odd: bytes(odd)),
    "a path": ("__fspath__", lambda odd: type(os.fspath(odd)).__name__),
    "a format": ("__format__", lambda odd: f"{odd:3}"),
    "a check of an instance": ("__instancecheck__", lambda odd: isinstance(1, odd)),
    "a copy": ("__copy__", lambda odd: copy.copy(odd) is odd),
    "a deep copy": ("__deepcopy__", lambda odd: copy.deepcopy([odd])[0] is odd),
    "a context": ("__exit__", lambda odd: entered(odd)),
    "a tensor's operand": ("__radd__", lambda odd: torch.ones(2) + odd),
    "a tensor's function": ("__torch_function__", lambda odd: torch.add(torch.ones(2), odd)),
    "an element of a tensor": ("__index__", lambda odd: torch.tensor([odd])),
    "a number of a tensor": ("__float__", lambda odd: torch.tensor([odd])),
    "a size": ("__index__", lambda odd: torch.ones(odd)),
    "a dimension": ("__index__", lambda odd: torch.ones(1, 2).sum(odd)),
}  # fmt: skip
# Of a class `Odd`, of that of its descriptor `field`, and of its metaclass.
OF_CLASSES = {
    "a descriptor": ("field", "__get__", lambda Odd: Odd().field),
    "a descriptor of the class": ("field", "__get__", lambda Odd: Odd.field),
    "a descriptor behind the instance": ("field", "__get__", lambda Odd: written(Odd)),
    "a descriptor that is written": ("field", "__set__", lambda Odd: written(Odd)),
    "a descriptor that only deletes": ("field", "__delete__", lambda Odd: written(Odd)),
    "a descriptor that is deleted": ("field", "__delete__", lambda Odd: delattr(Odd(), "field")),
    "a method": ("field", "__call__", lambda Odd: Odd().field()),
    "what makes it": ("Odd", "__new__", lambda Odd: Odd()),
    "what fills it": ("Odd", "__init__", lambda Odd: vars(Odd())),
    "what fills it with an argument": ("Odd", "__init__", lambda Odd: Odd(1)),
    "an item of the class": ("Odd", "__class_getitem__", lambda Odd: Odd[1]),
    "an alias": ("Odd", "__getattr__", lambda Odd: Odd().anything),
    "a class derived from it": ("Odd", "__init_subclass__", lambda Odd: derived(Odd)),
    "a call": ("Meta", "__call__", lambda Odd: Odd()),
    "an attribute of the class": ("Meta", "__getattr__", lambda Odd: Odd.anything),
    "any attribute of the class": ("Meta", "__getattribute__", lambda Odd: Odd.field),
    "an attribute written": ("Meta", "__setattr__", lambda Odd: setattr(Odd, "other", 1)),
    "a field of the metaclass's": ("Meta", "text", lambda Odd: Odd.text),
    "an item by an attribute": ("Meta", "__getattr__", lambda Odd: Odd[1]),
    "an item by any attribute": ("Meta", "__getattribute__", lambda Odd: Odd[1]),
    "an item by the metaclass": ("Meta", "__getitem__", lambda Odd: Odd[1]),
    "a member of the class": ("Meta", "__contains__", lambda Odd: 1 in Odd),
    "a length of the class": ("Meta", "__len__", lambda Odd: len(Odd)),
    "truth of the class": ("Meta", "__bool__", lambda Odd: not Odd),
    "truth by the class's length": ("Meta", "__len__", lambda Odd: not Odd),
    "iteration over the class": ("Meta", "__iter__", lambda Odd: [*Odd]),
    "a check of an instance": ("Meta", "__instancecheck__", lambda Odd: isinstance(1, Odd)),
    "a check of a class": ("Meta", "__subclasscheck__", lambda Odd: issubclass(int, Odd)),
    "an operand that is a class": ("Meta", "__or__", lambda Odd: Odd | 1),
    "a reflected one": ("Meta", "__radd__", lambda Odd: 1 + Odd),
    "a hash of the class": ("Meta", "__hash__", lambda Odd: {Odd: 1}[Odd]),
    "a key by its class": ("Meta", "__eq__", lambda Odd: {Odd: 1}.get(int)),
    "equal classes": ("Meta", "__eq__", lambda Odd: operator.eq(Odd, int)),
    "a text of the class": ("Meta", "__str__", lambda Odd: str(Odd)),
    "a name of the class": ("Meta", "__repr__", lambda Odd: repr(Odd)),
    "a format of the class": ("Meta", "__format__", lambda Odd: f"{Odd}"),
    "an index": ("Meta", "__index__", lambda Odd: [1, 2][Odd]),
    "what handles": ("Meta", "__subclasscheck__", lambda Odd: handled(Odd)),
    "what is caught": ("Meta", "__instancecheck__", lambda Odd: handled(Odd)),
    "a case of a match": ("Meta", "__instancecheck__", lambda Odd: case_of(Odd)),
    "positions of a match": ("Odd", "__match_args__", lambda Odd: case_of(Odd)),
}  # fmt: skip
ANSWERS = {
    "__eq__": True,
    "__str__": "text",
    "__float__": 4.0,
    "__bool__": False,
}


def put(items, key):
    items[key] = 1


def drop(items, key):
    del items[key]


def unpacked(items):
    a, b = items
    return a, b


def matched(items):
    match items:
        case [a, b]:
            return a, b
        case {"k": value}:
            return value
    return None


def entered(manager):
    with manager:
        return 1


def written(cls):
    made = cls()
    made.field = 4
    return made.field, vars(made)


def derived(cls):
    class Derived(cls):
        pass

    return Derived.__name__


def handled(cls):
    try:
        raise ValueError(1)
    except cls:
        return 1


def case_of(cls):
    Other = cls
    match cls():
        case int():
            return 1
        case Other(a):
            return a


def method_of(name):
    """Of an instance: the first word tells which of the two was called."""

    def method(self, *others):
        NOTES.append(name)
        if name in ("__init__", "__init_subclass__"):
            return None
        if name == "__iter__":
            return iter((1, 2))
        if name == "__getitem__" and others[0] == 2:
            raise IndexError(name)
        if name == "keys":
            return ["k"]
        return ANSWERS.get(name, 1)

    return method


def told(call, odd):
    NOTES.clear()
    try:
        result = call(odd)
        result = type(result).__name__, repr(result)
    except Exception as error:
        result = type(error), str(error)
    return result, [*NOTES]


def check_changes(use, name, make):
    """Of what `make` gives: a class, and what the program gets; the class is
    given the method before the third call and loses it before the fifth.
    """

    def program(odd):
        try:
            return use(odd)
        except Exception as error:
            return type(error), str(error)

    def runs(call):
        changed, odd = make()
        found = []
        for step in range(6):
            if step == 2:
                setattr(changed, name, method_of(name))
            if step == 4:
                delattr(changed, name)
            found.append(told(call, odd))
        return found

    compiled = magneto.compile(program, backend="eager")
    assert runs(compiled) == runs(program)


@pytest.mark.parametrize("base", [object, str, list, dict, tuple, int, float])
@pytest.mark.parametrize(("name", "use"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_method_that_a_class_is_given_later(name, use, base):
    def make():
        cls = type("Odd", (base,), {"__repr__": lambda self: "odd"})
        return cls, cls()

    check_changes(use, name, make)


@pytest.mark.parametrize(
    ("owner", "name", "use"), OF_CLASSES.values(), ids=OF_CLASSES
)
def test_a_method_that_makes_a_class_another(owner, name, use):
    def make():
        class Field:
            def __repr__(self):
                return "field"

        class Meta(type):
            pass

        class Odd(metaclass=Meta):
            field = Field()
            __repr__ = Field.__repr__

        return locals()[owner.capitalize()], Odd

    check_changes(use, name, make)


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("__getattribute__", lambda self, name: 100),
        ("__setattr__", lambda self, name, value: None),
        ("__delattr__", lambda self, name: None),
    ],
)
def test_hooks_of_attributes_that_come_later(hook, answer):
    class Root:
        pass

    class Holder(Root):
        pass

    def program(holder, x):
        holder.b = 2
        del holder.b
        return x * holder.a, hasattr(holder, "b")

    compiled = magneto.compile(program, backend="eager")

    def agrees():
        pairs = []
        for call in (compiled, program):
            holder = Holder()
            holder.__dict__.update(a=1) if hook != "__getattribute__" else None
            holder = Holder.__new__(Holder)
            object.__setattr__(holder, "a", 1)
            if hook == "__delattr__":
                object.__setattr__(holder, "b", 1)
            try:
                pairs.append(call(holder, torch.arange(4.0)))
            except AttributeError as error:
                pairs.append((torch.arange(4.0), str(error)))
        return torch.equal(pairs[0][0], pairs[1][0]) and (
            pairs[0][1] == pairs[1][1]
        )

    assert agrees()
    setattr(Root, hook, answer)
    assert agrees()
    delattr(Root, hook)
    assert agrees()


def test_metaclass_hooks_that_come_later():
    class Meta(type):
        pass

    class Holder(metaclass=Meta):
        a = 1

    def program(x):
        return x * Holder.a

    compiled = magneto.compile(program, backend="eager")
    assert torch.equal(compiled(torch.arange(4.0)), torch.arange(4.0))
    Meta.__getattribute__ = lambda cls, name: 100
    assert torch.equal(compiled(torch.arange(4.0)), torch.arange(4.0) * 100)
