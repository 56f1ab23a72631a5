# SPDX-License-Identifier: BSD-3-Clause
# What is reached in an unusual way (through a class's dictionary, a bound
# method, a signature, the list of subclasses) is the object itself, not a copy
# of it as it was while tracing.
import collections
import inspect

import pytest
import torch

import magneto
from magneto.testing import check


class Config:
    scale = 1


class Base:
    items: list = []
    config = Config()
    table = collections.OrderedDict(a=1)
    counts = collections.defaultdict(int)

    def method(self):
        return 3


class First(Base):
    pass


ITEMS = [0]
APPEND = ITEMS.append
LOOKUP = {"a": 1}
GET = LOOKUP.get


def written_through_the_class(x):
    Base.items.append(len(Base.items))
    return x * Base.__dict__["config"].scale, [*Base.__dict__["items"]]


def written_through_the_dictionary(x):
    Base.__dict__["items"].append("new")
    vars(Base).get("counts")["k"] += 1
    return x + 1, [*Base.items], Base.counts["k"], "items" in vars(Base)


def of_an_ordered_dict(x):
    return x + 1, [*Base.__dict__["table"].items()]


def missing_in_the_dictionary(x):
    try:
        return First.__dict__["items"]
    except KeyError as error:
        return x + 1, str(error), First.__dict__.get("items", 5)


def method_in_the_dictionary(x):
    return x + 1, Base.__dict__["method"](Base()), First().method()


def self_of_a_method(x):
    ITEMS.append(1)
    owner = APPEND.__self__
    owner.append(2)
    return x + 1, [*ITEMS], owner is ITEMS, GET.__self__ is LOOKUP


PROGRAMS = [
    written_through_the_class,
    written_through_the_dictionary,
    of_an_ordered_dict,
    missing_in_the_dictionary,
    method_in_the_dictionary,
    self_of_a_method,
]


def set_world(number):
    Base.items = [number]
    Base.config = Config()
    Base.config.scale = number
    Base.counts.clear()
    Base.table["b"] = number
    ITEMS[:] = [number]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_class_has_is_what_its_dictionary_has(program):
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for number in (1, 2, 2, 5):
        set_world(number)
        expected = program(torch.ones(2)), Base.items, dict(Base.counts)
        set_world(number)
        got = compiled(torch.ones(2)), Base.items, dict(Base.counts)
        assert str(got) == str(expected)


def test_lists_in_a_signature_are_made_anew():
    def described(a, b):
        pass

    def program(x):
        names = inspect.getfullargspec(described).args
        names.append("self")
        return x + 1, names

    check(program, torch.ones(2), calls=3)


def test_a_signature_of_a_function_that_was_written_to():
    def make():
        def described(*, b=[0], c=1):  # noqa: B006
            return b

        return described

    def program(x, function):
        function.__kwdefaults__["b"] = [7]
        function.__annotations__["c"] = int
        spec = inspect.getfullargspec(function)
        return x + 1, str(inspect.signature(function)), spec.kwonlydefaults

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        got = compiled(torch.ones(2), make())
        assert str(got) == str(program(torch.ones(2), make()))


def all_subclasses(x):
    found, left = [], [Base]
    while left:
        left += left.pop().__subclasses__()
        found += left[-1:]
    return x + len(found), [cls.__name__ for cls in found]


def test_subclasses_that_come_and_go():
    compiled = magneto.compile(all_subclasses, backend="eager", fullgraph=True)

    def look():
        got, expected = compiled(torch.ones(2)), all_subclasses(torch.ones(2))
        assert str(got) == str(expected)

    look()
    made = type("Made", (First,), {})
    look()
    other = type("Other", (Base,), {})
    look()
    made.__bases__ = (Base,)
    look()
    del made, other
    look()
