# SPDX-License-Identifier: BSD-3-Clause
"""Objects that are reached indirectly (through a class's dictionary, a bound
method, a signature, the list of subclasses) are the objects themselves, not
copies from the time of tracing.
"""

import abc
import collections
import enum
import inspect
import json
import types
import weakref

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


MODULE = types.ModuleType("with_a_class")
MODULE.value = 1


class WithProperty(types.ModuleType):
    value = property(lambda self: 7)


def test_a_module_that_gets_another_class():
    def program(x):
        return x + 1, MODULE.value, type(MODULE).__name__

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for cls in (types.ModuleType, WithProperty, types.ModuleType):
        MODULE.__class__ = cls
        assert compiled(torch.ones(1))[1:] == program(torch.ones(1))[1:]


class Trainer:
    def __init__(self, scale):
        self.scale = scale

    @property
    def twice(self):
        return self.scale * 2


def test_attributes_behind_a_weak_proxy():
    def program(x, proxy):
        return x + 1, proxy.scale, proxy.twice, hasattr(proxy, "other")

    trainer = Trainer(1)
    assert not magneto.explain(program)(
        torch.ones(1), weakref.proxy(trainer)
    ).breaks
    compiled = magneto.compile(program, backend="eager")
    for scale in (1, 2, 2):
        trainer = Trainer(scale)
        proxy = weakref.proxy(trainer)
        expected = program(torch.ones(1), proxy)[1:]
        assert compiled(torch.ones(1), proxy)[1:] == expected
    del trainer
    with pytest.raises(ReferenceError):
        compiled(torch.ones(1), proxy)


def test_a_class_that_becomes_abstract():
    class Plain(abc.ABC):
        pass

    class MadeByHand(abc.ABC):
        @abc.abstractmethod
        def method(self):
            pass

        def __new__(cls):
            return 5

    def program(x):
        try:
            Plain()
            return x + 1, "made", MadeByHand()
        except TypeError as error:
            return x + 1, str(error), MadeByHand()

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1))[1:] == program(torch.ones(1))[1:]
    Plain.method = abc.abstractmethod(lambda self: 1)
    abc.update_abstractmethods(Plain)
    assert compiled(torch.ones(1))[1:] == program(torch.ones(1))[1:]
    assert program(torch.ones(1))[1] != "made"


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


MODES = {Mode.FAST}
FUNCTIONS = {torch.relu, len}


def test_sets_of_members_and_functions():
    def program(x):
        return x + 1, Mode.FAST in MODES, Mode.SLOW in MODES, len in FUNCTIONS

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for modes in ({Mode.FAST}, {Mode.SLOW}, {Mode.FAST, Mode.SLOW}, set()):
        MODES.clear()
        MODES.update(modes)
        assert compiled(torch.ones(1))[1:] == program(torch.ones(1))[1:]


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


STATE = {"scale": 1}
CALLS: list = []


class Numbered(int):
    def __str__(self):
        CALLS.append("str")
        return f"i{STATE['scale']}"


class Encoder(json.JSONEncoder):
    def default(self, item):
        CALLS.append("default")
        return STATE["scale"]


class Fallback(enum.Enum):
    ONE = 1
    TWO = 2

    @classmethod
    def _missing_(cls, value):
        CALLS.append(value)
        return cls(STATE["scale"])


class Metaclass(enum.EnumMeta):
    def __call__(cls, value, *rest, **named):
        CALLS.append("called")
        return super().__call__(value, *rest, **named)


class Called(enum.Enum, metaclass=Metaclass):
    ONE = 1
    TWO = 2


def decoded(pairs):
    CALLS.append(len(pairs))
    return {**pairs, "scale": STATE["scale"]}


N = Numbered(3)
UNSEEN = {
    "json.loads": lambda: json.loads('{"v": 1}', object_hook=decoded),
    "json.dumps": lambda: json.dumps([{1}], cls=Encoder),
    "json, plainly": lambda: (json.loads("[1]"), json.dumps("a", indent=1)),
    "_missing_": lambda: Fallback(9),
    "a member": lambda: Fallback(1),
    "metaclass": lambda: Called(2),
    "f-string": lambda: f"{N}",
    "format": lambda: format(N),
    "format with a width": lambda: format(N, "4d"),
    "str.format": lambda: "{}".format(N),  # noqa: UP032
}


@pytest.mark.parametrize("name", UNSEEN)
def test_code_that_c_code_calls(name):
    look = UNSEEN[name]

    def program(x):
        return x + 1, look()

    compiled = magneto.compile(program, backend="eager")
    for scale in (1, 2, 2):
        STATE["scale"] = scale
        CALLS.clear()
        expected = program(torch.ones(1))[1], [*CALLS]
        CALLS.clear()
        assert (compiled(torch.ones(1))[1], [*CALLS]) == expected
