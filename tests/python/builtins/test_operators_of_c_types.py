# SPDX-License-Identifier: BSD-3-Clause
"""Operators on the caller's objects whose class is written in C: plain Python
answers, whatever the answer is.
"""

import array
import contextvars
import copy
import datetime
import decimal
import fractions
import operator
import threading
import types
import uuid
import weakref

import pytest
import torch

from magneto.testing import check

X = torch.arange(4.0)


class Cents(decimal.Decimal):
    """Inherits its operators from C."""


OBJECTS = {
    "decimal": decimal.Decimal(2),
    "zero": decimal.Decimal(0),
    "subclass": Cents(3),
    "timedelta": datetime.timedelta(days=1),
    "date": datetime.date(2020, 1, 2),
    "array": array.array("i", [1, 2]),
    "empty array": array.array("i"),
    "namespace": types.SimpleNamespace(a=1),
    "fraction": fractions.Fraction(1, 2),
    "uuid": uuid.UUID(int=3),
}
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.ge,
    operator.iadd,
    operator.imul,
]
UNARY = [
    operator.neg,
    operator.pos,
    operator.invert,
    operator.not_,
    abs,
    bool,
    len,
    hash,
    str,
]


def attempt(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("name", OBJECTS)
def test_binary_operators(name):
    def f(x, a, b):
        results = []
        for function in BINARY:
            for left, right in ((a, b), (a, 2), (2, a), (a, None)):
                results.append(attempt(function, left, right))
        return x + 1, results

    check(f, X, OBJECTS[name], OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_unary_operators_and_truth(name):
    def f(x, a):
        results = [attempt(function, a) for function in UNARY]
        return x + (1 if a else 2), results

    check(f, X, OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_written_as_operators(name):
    def f(x, a, b):
        same = a == b
        unlike = a != b
        try:
            total = a + b
            total += a
        except TypeError:
            total = None
        try:
            order = a < b
        except TypeError:
            order = None
        try:
            negative = -a
        except TypeError:
            negative = None
        return x + 1, same, unlike, total, order, negative, not a

    check(f, X, OBJECTS[name], OBJECTS[name])


class Entries(dict):
    pass


CONTAINERS = [[], [1, 2], (1, 2), {}, {"a": 1}, Entries(a=1), {1, 2}]
PROXIES = [types.MappingProxyType(d) for d in ({}, {"a": 1}, Entries(a=1))]


@pytest.mark.parametrize("name", [*OBJECTS, *range(len(PROXIES))])
@pytest.mark.parametrize("number", range(len(CONTAINERS)))
def test_equality_with_containers(name, number):
    other = PROXIES[name] if isinstance(name, int) else OBJECTS[name]

    def f(x):
        made = copy.copy(CONTAINERS[number])
        container = CONTAINERS[number]
        return (
            x + 1,
            [other == made, made == other, other != made, made != other],
            [other == container, container == other, made == container],
            [type(made.keys().mapping), made.keys().mapping == made]
            if isinstance(made, dict)
            else None,
        )

    check(f, X)


# -- attributes that a class in C looks up in a way of its own -------------------


class Local(threading.local):
    of_class = 1

    def __init__(self):
        self.of_thread = 2


class Target:
    of_class = 1

    def __init__(self):
        self.of_thread = 2


TARGET = Target()
LOCAL = threading.local()
LOCAL.of_thread = 2


def text_of():
    return ""


LOOKED_UP = {
    "thread-local data": LOCAL,
    "a class of such": Local(),
    "a proxy": weakref.proxy(TARGET),
    "a proxy of a function": weakref.proxy(text_of),
    "a proxy of what is gone": weakref.proxy(Target()),
    "an alias": list[int],
    "an alias of a class of the user's": types.GenericAlias(Target, (int,)),
    "a union": int | str,
    "a decimal context": decimal.Context(prec=5),
    "a context variable": contextvars.ContextVar("name"),
}
ATTRIBUTES = (
    "of_class",
    "of_thread",
    "append",
    "prec",
    "name",
    "__origin__",
    "__args__",
    "__name__",
    "missing",
)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("name", LOOKED_UP)
def test_attribute_is_looked_up_as_the_class_does(name, attribute):
    value = LOOKED_UP[name]

    def program(x):
        try:
            found = getattr(value, attribute, "nothing")
            return x + 1, hasattr(value, attribute), str(found)
        except ReferenceError as error:
            return x - 1, str(error)

    def raising(x):
        return x + len(str(getattr(value, attribute)))

    check(program, X)
    check(raising, X)


@pytest.mark.parametrize("name", LOOKED_UP)
def test_class_is_what_the_object_says(name):
    value = LOOKED_UP[name]

    def program(x):
        try:
            return x + isinstance(value, Target), isinstance(value, type)
        except ReferenceError as error:
            return x - 1, str(error)

    check(program, X)


# -- any two operands, in place or not -----------------------------------------


class Plain:
    pass


class Whole(int):
    pass


class Index:
    def __index__(self):
        return 2


class Items(tuple):
    pass


# By name: each side is made for each run.
OPERANDS = {
    "class": lambda: Plain,
    "member": lambda: Plain.__weakref__,
    "whole": lambda: Whole(2),
    "index": Index,
    "items": lambda: Items((3,)),
    "list": lambda: [1],
    "dict": lambda: {1: 2},
    "function": lambda: len,
    "constant": lambda: Ellipsis,
    "number": lambda: 3,
    "true": lambda: True,
    "text": lambda: "ab",
    "nothing": lambda: None,
    "dtype": lambda: torch.float32,
}
SYMBOLS = ["+", "-", "*", "@", "|", "**", "//", "<<"]


@pytest.mark.parametrize("symbol", [*SYMBOLS, *(f"{s}=" for s in SYMBOLS)])
@pytest.mark.parametrize("left", OPERANDS)
def test_operands_of_any_kind(left, symbol):
    statement = f"a {symbol} b" if "=" in symbol else f"a = a {symbol} b"
    namespace = {"OPERANDS": OPERANDS}
    exec(
        f"def operate(left, right):\n"
        f"    a, b = OPERANDS[left](), OPERANDS[right]()\n"
        f"    try:\n"
        f"        {statement}\n"
        f"    except Exception as error:\n"
        f"        return type(error).__name__, str(error)\n"
        f"    return a\n",
        namespace,
    )

    def program(x):
        return x + 1, [namespace["operate"](left, right) for right in OPERANDS]

    check(program, torch.ones(2))
