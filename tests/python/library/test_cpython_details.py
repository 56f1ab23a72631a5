# SPDX-License-Identifier: BSD-3-Clause
"""Details of the standard library that programs can see: indices that change
their list, codecs, dates, thread-local objects, loggers and code objects.
"""

import codecs
import datetime
import decimal
import functools
import gc
import logging
import sys
import threading
import weakref

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)


class Emptying:
    """An index that changes the list which it is an index of."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __index__(self):
        self.numbers[:] = [7]
        return 1


def assign_items(numbers, index):
    numbers[0:10:index] = []


def assign_slice(numbers, index):
    numbers[0:index] = [5, 6]


def assign_item(numbers, index):
    numbers[index] = 3


def delete_items(numbers, index):
    del numbers[0:10:index]


def delete_item(numbers, index):
    del numbers[index]


def read_items(numbers, index):
    return numbers[0:10:index]


def read_item(numbers, index):
    return numbers[index]


def indices_that_change_the_list(x):
    found = []
    for use in (
        assign_items,
        assign_slice,
        assign_item,
        delete_items,
        delete_item,
        read_items,
        read_item,
    ):
        numbers = [1, 2, 3]
        try:
            found.append(use(numbers, Emptying(numbers)))
        except (IndexError, ValueError) as error:
            found.append(repr(error))
        found.append(numbers)
    return found, x + 1


class Said:
    def __init__(self, text, number):
        self.text, self.number = text, number

    def __index__(self):
        print(self.text)
        return self.number


def bounds_are_asked_for_in_order(x):
    numbers = [1, 2, 3, 4]
    return (
        numbers[Said("start", 0) : Said("stop", 3) : Said("step", 2)],
        x + 1,
    )


def items_that_change_the_list(x):
    numbers = [1, 2, 3]

    def items():
        numbers.pop()
        yield 5

    numbers[1:3] = items()
    return numbers, x + 1


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return hash(self.x)

    @property
    @functools.lru_cache  # noqa: B019
    def doubled(self):
        return self.x * 2


def cached_properties(x):
    return Point(2).doubled, Point(2).doubled, Point(3).doubled, x + 1


def raise_in_codec(*_args):
    raise RuntimeError("asked")


def find_codec(name):
    if name != "magneto_codec":
        return None
    return codecs.CodecInfo(raise_in_codec, raise_in_codec, name=name)


def codecs_of_the_programs(x):
    codecs.register(find_codec)
    found = []
    try:
        for use in (
            lambda: "a".encode("magneto_codec"),
            lambda: b"a".decode("magneto_codec"),
            lambda: str(b"a", "magneto_codec"),
            lambda: bytes("a", "magneto_codec"),
            lambda: "a\u0100".encode("latin-1", "magneto_handler"),
            lambda: "a\u0100".encode("latin-1", errors="replace"),
            lambda: "\u0100".encode("UTF-8"),
            lambda: "\u0100".encode("ascii"),
            lambda: "a".encode("nothing"),
            lambda: str(b"a", "nothing"),
        ):
            try:
                found.append(use())
            except (RuntimeError, LookupError, UnicodeError) as error:
                found.append(repr(error))
    finally:
        codecs.unregister(find_codec)
    return found, x + 1


def formats_of_c_classes(x):
    day = datetime.datetime(2024, 2, 3)
    price = decimal.Decimal("-0.001")
    return f"{day:%Y-%m}", format(price, "z.2f"), f"{price}", x + 1


def flags_of_a_context(x):
    """The flags are a view into the context, whatever becomes of that."""
    context = decimal.Context(prec=3, traps=[])
    text = str(context.create_decimal(decimal.Decimal("NaN12345")))
    return text, context.flags[decimal.InvalidOperation], x + 1


class Thing:
    pass


def references_out_of_c_code(x):
    """What an iterator hands to weakref.ref lives as long as its variable."""
    first, second = Thing(), Thing()
    references = list(map(weakref.ref, [first, second]))
    return [reference() is None for reference in references], x + 1


class Local(threading.local):
    name = None
    is_set = False


def locals_of_a_thread(x):
    local = Local()
    local.is_set = True
    local.name = None
    return local.name, local.is_set, sorted(vars(local)), x + 1


def hints_of_an_operator(x):
    found = []
    for use in (
        lambda: print >> sys.stderr,  # noqa: F633
        lambda: print >> 1,  # noqa: F633
        lambda: max >> 1,
        lambda: print << 1,
    ):
        try:
            use()
        except TypeError as error:
            found.append(str(error))
    return found, x + 1


class Loud(logging.Logger):
    def __init__(self, name, level=logging.NOTSET):
        super().__init__(name, level)
        print("made", name)


def loggers_are_made_once(x):
    kind = logging.getLoggerClass()
    logging.setLoggerClass(Loud)
    try:
        logger = logging.getLogger("magneto_corner.inner")
        same = logging.getLogger("magneto_corner.inner") is logger
        # The name of a place in the tree that has no logger yet.
        outer = logging.getLogger("magneto_corner")
    finally:
        logging.setLoggerClass(kind)
    logging.Logger.manager.loggerDict.pop(logger.name)
    logging.Logger.manager.loggerDict.pop(outer.name)
    return type(logger).__name__, type(outer).__name__, same, x + 1


def builtins_of_functions(x):
    def inner(s):
        return len(s)

    own = {"len": lambda _: 42, "type": type}
    namespace = {"__builtins__": own, "stop": magneto.graph_break}
    exec(
        "def f(x): return len(x)\n"
        "g = type(f)(f.__code__, {})\n"
        "def h(x):\n"
        "    before = len(x)\n"
        "    stop()\n"
        "    return before + len(x)\n",
        namespace,
    )
    f, g = namespace["f"], namespace["g"]
    other = type(inner)(inner.__code__, {})
    return (
        f(x),
        g(x),
        namespace["h"](x),
        len(x),
        other("abc"),
        f.__builtins__ is own,
        g.__builtins__ is own,
        other.__builtins__ is inner.__builtins__,
        type(inner)(f.__code__, namespace)(x),
        x + 1,
    )


PROGRAMS = [
    builtins_of_functions,
    indices_that_change_the_list,
    bounds_are_asked_for_in_order,
    items_that_change_the_list,
    cached_properties,
    codecs_of_the_programs,
    formats_of_c_classes,
    flags_of_a_context,
    references_out_of_c_code,
    locals_of_a_thread,
    hints_of_an_operator,
    loggers_are_made_once,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_plain_python(program):
    check_calls(program, [((X,), {})] * 2)


def test_code_dies_with_its_function():
    @magneto.compile(backend="eager")
    def refer_to_code(function):
        return weakref.ref(function.__code__)

    namespace = {}
    exec("def f(): pass", namespace)
    reference = refer_to_code(namespace.pop("f"))
    gc.collect()
    assert reference() is None


def test_code_that_is_replaced():
    @magneto.compile(backend="eager")
    def name_of_code(function):
        return function.__code__.co_name

    def first():
        pass

    def second():
        pass

    assert name_of_code(first) == "first"
    first.__code__ = second.__code__
    assert name_of_code(first) == "second"


def test_imports_that_a_program_replaces(monkeypatch):
    """What magneto imports for itself doesn't go through the program's hook."""
    asked = []
    plain = __import__

    def hook(name, *args, **kwargs):
        asked.append(name)
        return plain(name, *args, **kwargs)

    def program(x):
        return [f"{n}" for n in range(3)], x + 1

    monkeypatch.setattr("builtins.__import__", hook)
    magneto.compile(program, backend=lambda gm, inputs: gm)(X)
    assert not [name for name in asked if name.startswith("magneto")]
