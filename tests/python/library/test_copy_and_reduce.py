# SPDX-License-Identifier: BSD-3-Clause
"""copy and `__reduce_ex__`, in every protocol: which methods of the object are
called, and what comes out.
"""

import copy
import functools
import pickle
from typing import ClassVar

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)
OWN = {"spam": 42}


class Plain:
    def __init__(self):
        self.value = 1


class Empty:
    pass


class Slots:
    __slots__ = ("a", "__hidden", "unset")

    def __init__(self):
        self.a = 1
        self.__hidden = 2


class SlotsAndMore(Slots):
    def __init__(self):
        super().__init__()
        self.c = 3


class NewArguments:
    def __getnewargs__(self):
        return (-1, "spam")


class NewArgumentsOfTheClass(int):
    @classmethod
    def __getnewargs__(cls):
        return (3,)


class WrongNewArguments:
    def __getnewargs__(self):
        return "bad"


class KeywordArguments:
    def __getnewargs_ex__(self):
        return (1, 2), {"bacon": 3}


class NoKeywordArguments:
    def __getnewargs_ex__(self):
        return (1, 2), {}


class Wrong:
    answer = ()

    def __getnewargs_ex__(self):
        return self.answer


class WrongKeywords(Wrong):
    answer = ((), "bad")


class WrongPositional(Wrong):
    answer = ("bad", {})


class WrongKind(Wrong):
    answer = "bad"


class State:
    def __getstate__(self):
        return {"x": 1}


class Answers:
    """Everything but what C code asks the class for."""

    def __getstate__(self):
        return {}

    def __getattr__(self, name):
        if name.startswith("__getnewargs"):
            raise AssertionError(name)


class Reduces:
    def __reduce__(self):
        return Reduces, ()


class Mute:
    def __getattribute__(self, name):
        if name.startswith("__reduce"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)


class NamedSlots:
    __slotnames__ = ["spam"]

    def __getattr__(self, name):
        if name == "spam":
            return 42
        raise AttributeError(name)


class Items(list):
    pass


class Entries(dict):
    pass


class Whole(int):
    pass


class Text(str):
    pass


def made(cls, *args):
    one = cls(*args)
    one.more = 5
    return one


MAKERS = {
    "plain": Plain,
    "empty": Empty,
    "object": object,
    "slots": Slots,
    "slots and more": SlotsAndMore,
    "new arguments": NewArguments,
    "new arguments, state": lambda: made(NewArguments),
    "new arguments of the class": NewArgumentsOfTheClass,
    "wrong new arguments": WrongNewArguments,
    "keywords": KeywordArguments,
    "no keywords": NoKeywordArguments,
    "wrong": Wrong,
    "wrong keywords": WrongKeywords,
    "wrong positional": WrongPositional,
    "wrong kind": WrongKind,
    "state": State,
    "answers": Answers,
    "reduces": Reduces,
    "named slots": NamedSlots,
    "list": lambda: made(Items, [1, 2]),
    "dict": lambda: made(Entries, {1: 2}),
    "int": lambda: made(Whole, 3),
    "str": lambda: made(Text, "a"),
}


def shown(part):
    """The parts, with iterators unpacked."""
    if isinstance(part, tuple):
        return tuple(shown(each) for each in part)
    if hasattr(part, "__next__"):
        return list(part)
    return part


def contents(thing):
    """What the object holds, whether it compares or not."""
    return (
        type(thing).__name__,
        dict(getattr(thing, "__dict__", {})),
        getattr(thing, "a", None),
        list(thing) if isinstance(thing, list | dict) else None,
    )


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("where", ["traced", "given"])
def test_parts_of_an_object(name, where):
    def reduce(x, protocol, thing=None):
        thing = MAKERS[name]() if thing is None else thing
        try:
            parts = thing.__reduce_ex__(protocol)
        except (TypeError, ValueError) as error:
            return x + 1, type(error), str(error)
        return x + 1, shown(parts)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        given = (MAKERS[name](),) if where == "given" else ()

        def program(x, given=given, protocol=protocol):
            return repr(reduce(x, protocol, *given))

        check(program, X)


WRONG_CALLS = [
    lambda thing: thing.__reduce_ex__(),
    lambda thing: thing.__reduce_ex__(1, 2),
    lambda thing: thing.__reduce__(1),
    lambda thing: thing.__getstate__(1),
]


@pytest.mark.parametrize("wrong", WRONG_CALLS)
@pytest.mark.parametrize("cls", [Plain, Items, set, ValueError])
def test_wrong_calls(wrong, cls):
    def program(x):
        try:
            return wrong(cls())
        except TypeError as error:
            return x + 1, str(error)

    check(program, X)


ASKED = []


class AskedSlots:
    __slots__ = ("a", "unset")

    def __init__(self):
        self.a = 1

    def __getattribute__(self, name):
        ASKED.append(name)
        return super().__getattribute__(name)


class AskedTwice(AskedSlots):
    __slots__ = ("a", "b")


@pytest.mark.parametrize("cls", [AskedSlots, AskedTwice])
@pytest.mark.parametrize("protocol", [2, 4])
def test_what_an_object_is_asked_for(cls, protocol):
    def program(x, thing):
        ASKED.clear()
        parts = thing.__reduce_ex__(protocol)
        return x + 1, shown(parts), list(ASKED)

    check(program, X, cls())


COPIED = [
    each
    for each in MAKERS
    if "wrong" not in each
    and each not in ("answers", "keywords", "no keywords", "named slots")
    and not each.startswith("new arguments")
]


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
def test_copy_of_an_object(name, function):
    def program(x):
        thing = MAKERS[name]()
        again = function(thing)
        return x + 1, contents(again), again is thing

    check(program, X)


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
def test_object_that_does_not_say_what_it_is_cannot_be_copied(function):
    def program(x):
        try:
            return function(Mute())
        except copy.Error as error:
            return x + 1, str(error)

    check(program, X)


class Remembers(functools.partial):
    """Counts how often it is made."""

    made: ClassVar[list[str]] = []

    def __new__(cls, *args, **keywords):
        cls.made.append("new")
        return super().__new__(cls, *args, **keywords)


@pytest.mark.parametrize("cls", [functools.partial, Remembers])
@pytest.mark.parametrize("attributes", [{}, {"extra": 5}])
def test_parts_and_copies_of_a_partial_function(cls, attributes):
    def program(x):
        Remembers.made.clear()
        items = [1, 2]
        function = cls(max, items, key=len)
        for name, value in attributes.items():
            setattr(function, name, value)
        copies = [copy.copy(function), copy.deepcopy(function)]
        return (
            x + 1,
            list(Remembers.made),
            function.__reduce__(),
            function.__reduce_ex__(4),
            [(type(c), c.func, c.args, c.keywords) for c in copies],
            [c.args[0] is items for c in copies],
            [getattr(c, "extra", None) for c in copies],
        )

    # The copy of one with attributes shares their dictionary.
    check(program, X, fullgraph=not attributes)


class Asked(Exception):
    pass


def copied_and_left(x, error):
    y = x + 1
    copy.copy(error)
    raise LookupError(y.shape)


def test_copies_leave_an_exception_as_it_was():
    """Whether it has a dictionary yet is among what it consists of."""
    compiled = magneto.compile(copied_and_left, backend="eager")
    for call in (copied_and_left, compiled, compiled):
        error = Asked(1)
        with pytest.raises(LookupError):
            call(X, error)
        assert error.__reduce__() == (Asked, (1,))


def keys_of(x, error):
    return x + 1, list(object.__getattribute__(error, "__dict__"))


def consists_of(x, error):
    return x + 1, error.__reduce__()


def asked_before(x, error):
    vars(error)
    return x + 1, error.__reduce__()


def written_and_deleted(x, error):
    error.more = x + 1
    del error.more
    return x + 1, error.__reduce__()


def written(x, error):
    error.more = 3
    return x + 1, error.__reduce__()


def made_and_asked(x, error):
    made = Asked(2)
    before = made.__reduce__()
    made.__dict__  # noqa: B018 - it is made by being asked for
    return x + 1, before, made.__reduce__()


def made_and_deleted(x, error):
    made = Asked(2)
    made.more = 3
    before = made.__reduce__()
    del made.more
    return x + 1, before, made.__reduce__()


def an_error(kind):
    error = Asked(1)
    if kind != "none":
        error.more = 3
    if kind == "empty":
        del error.more
    return error


@pytest.mark.parametrize(
    "program",
    [
        keys_of,
        consists_of,
        asked_before,
        written_and_deleted,
        written,
        made_and_asked,
        made_and_deleted,
    ],
    ids=lambda program: program.__name__,
)
def test_dictionaries_of_exceptions(program):
    """An exception has none until it is written to or asked for it; from then
    on its state says so, also when nothing is in it."""
    compiled = magneto.compile(program, backend="eager")
    for kind in ("none", "some", "empty", "none", "empty", "some"):
        expected = program(X, an_error(kind))
        assert repr(compiled(X, an_error(kind))) == repr(expected), kind
        errors = an_error(kind), an_error(kind)
        program(X, errors[0])
        compiled(X, errors[1])
        assert errors[1].__reduce__() == errors[0].__reduce__(), kind
