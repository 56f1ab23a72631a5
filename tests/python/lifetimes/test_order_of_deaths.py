# SPDX-License-Identifier: BSD-3-Clause
"""The order in which the variables of a function die, and those of what it
calls: the frames that an exception has gone through hold theirs until it dies.
"""
# ruff: noqa: F841 - what a variable holds dies, read or not

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from tests.fuzz.world.lifetimes import (
    LOG,
    Failure,
    Plain,
    dropped,
    returned,
    watched,
)
from tests.fuzz.world.lifetimes import Noisy as Dies
from tests.fuzz.world.lifetimes import say as note

# -- frames in the tracebacks of several exceptions


def raised_in_a_handler(x, flag, table):
    a, b = Dies("a"), [Dies("b")]

    def inner(x, a):
        try:
            raise Failure(a)
        except Failure:
            raise Failure(Dies("in handler"))

    inner(x, Dies("argument"))
    return a, b


def raised_in_a_finally(x, flag, table):
    a, b = Dies("a"), [watched("b")]

    def inner(x, a):
        try:
            raise Failure(b)
        finally:
            try:
                raise Failure(a)
            finally:
                table["k"] = Dies("in table")

    inner(x, watched("argument"))
    return a, b


def raised_again(x, flag, table):
    a = returned(Dies("a"))

    def inner(x, a, b):
        try:
            raise Failure(a)
        except Failure:
            try:
                raise Failure(b)
            except Failure:
                b, b = watched("first"), Dies("second")
                raise

    inner(x, a, Dies("argument"))


def one_frame_for_each_call(x, flag, table):
    a, b = Dies("a"), [Dies("b")]

    def inner(x, a):
        try:
            raise Failure(watched("in exception"))
        except Failure:
            try:
                raise Failure(a)
            finally:
                a = watched("in finally")

    inner(x, b)
    return a


def overwritten_behind_an_exception(x, flag, table):
    a = Dies("a")

    def inner(x, a, b):
        try:
            try:
                raise Failure(Dies("in exception"))
            finally:
                a, a = a, None
        finally:
            b = returned(a)
            note("end")
        return b

    inner(x, a, Dies("argument"))


# -- arguments


def argument_overwritten(x, flag, table):
    def inner(x, a, b):
        if flag:
            b, b = Dies("first"), Dies("second")
        raise Failure(b)

    inner(x, watched("a"), Dies("b"))


def argument_overwritten_by_keyword(x, flag, table):
    def inner(x, *, a, b=None):
        if flag:
            a = returned(watched("new"))
        note("end")
        raise Failure(b)

    inner(x, a=Dies("a"), b=1)


def argument_of_a_method(x, flag, table):
    class Local:
        def method(self, x, a):
            if flag:
                a = returned(watched("new"))
            note("end")
            raise Failure(a)

    Local().method(x, Dies("a"))


def argument_deleted(x, flag, table):
    def inner(x, a, b):
        if flag:
            try:
                raise Failure(1)
            except Failure:
                b = None
                a = None
        raise Failure(a)

    inner(x, watched("a"), Dies("b"))


def argument_overwritten_before_a_break(x, flag, table):
    def inner(x, a):
        if flag:
            a = None
            note("overwritten")
            table["k"] = Dies("in table")
            note("end")
        raise Failure(a)

    inner(x, Dies("a"))


def argument_in_a_tuple(x, flag, table):
    def inner(x, a, b):
        a = (a,)
        if flag:
            dropped([[Dies("first")], Dies("second")])
        raise Failure(b)

    inner(x, watched("a"), watched("b"))


# -- variables that nobody reads


def in_a_tuple_over_a_break(x, flag, table):
    a, b, c = Dies("a"), watched("b"), None
    if flag:
        c = [Dies("c")].append
    b = None
    c = (c, 1)
    table.clear()
    return a is b


def in_a_list_to_the_end(x, flag, table):
    def inner(x, a, b, c=None):
        if flag:
            c = [[watched("c")], c]
        b = Dies("b")
        c = [c]
        return

    inner(x, [Dies("a")], watched("argument"))


def read_in_a_handler_only(x, flag, table):
    def inner(x, c=None):
        if flag:
            c = returned({"k": watched("c")})
        try:
            table.pop("k", None)
        except Failure:
            note(c)
        raise Failure(watched("raised"))

    inner(x)


def same_object_in_another_call(x, flag, table):
    a, b = Dies("a"), watched("b")

    def inner(x, a, b):
        if flag:
            a = Dies("new")
        return a

    b = inner(x, a, Dies("argument"))
    note(b is a)


def in_a_loop(x, flag, table):
    c = None
    for _ in range(2):
        c = (c, 1)

        def inner(x, a):
            note("called")
            return a

        c = inner(x, watched("argument"))
    return c is None


# -- generators


def default_of_a_generator(x, flag, table):
    def made(held=Dies("default")):
        held = 1 if flag else held
        yield x + 1

    items = made()
    made = None
    first = next(items)
    note("begun")
    magneto.graph_break()
    note("behind")
    items = None
    note("end")
    return first


def keyword_default_of_a_generator(x, flag, table):
    held = Dies("default")

    def made(*, held=held):
        held = None
        yield x + 1
        yield x + 2

    items = made()
    held = made = None
    first = next(items)
    note("begun")
    magneto.graph_break()
    for item in items:
        note(float(item[0]))
    note("behind")
    return first


def generator_of_a_function_of_the_caller(x, flag, table):
    made = table.pop("made")
    items = made()
    made = None
    first = next(items)
    note("begun")
    magneto.graph_break()
    for item in items:
        note(item)
    note("behind")
    return first


def left(x):
    magneto.graph_break()
    try:
        yield x + 1
    except GeneratorExit:
        note("left")


def behind_an_iterator(x, flag, table):
    items = itertools.islice(left(x), 2)
    note(float(next(items, x)[0]))
    items = None
    note("behind")


def behind_an_iterator_of_a_list(x, flag, table):
    items = iter([left(x)])
    note(float(next(next(items))[0]))
    items = None
    note("behind")


def in_a_tuple_that_is_filled(x, flag, table):
    held = ([], 1)
    fill = held[0].append
    fill(Dies("item"))
    fill = None
    note("filled")
    held = None
    note("behind")


# -- far away


def behind_a_method_of_a_list(x, flag, table):
    a, b, c = Dies("a"), [Dies("b")], None
    a = lambda q=Dies("default"): q  # noqa: E731
    a = Plain([a])
    c = Dies("c")
    c = [a].append
    return b is c


def behind_an_iterator_of_a_default(x, flag, table):
    a, b, c = Dies("a"), [Dies("b")], None
    c = iter([b])
    b = lambda q=c: q  # noqa: E731
    c = a
    return b is c


PROGRAMS = [
    raised_in_a_handler,
    raised_in_a_finally,
    raised_again,
    one_frame_for_each_call,
    overwritten_behind_an_exception,
    argument_overwritten,
    argument_overwritten_by_keyword,
    argument_of_a_method,
    argument_deleted,
    argument_overwritten_before_a_break,
    argument_in_a_tuple,
    in_a_tuple_over_a_break,
    in_a_list_to_the_end,
    read_in_a_handler_only,
    same_object_in_another_call,
    in_a_loop,
    default_of_a_generator,
    keyword_default_of_a_generator,
    generator_of_a_function_of_the_caller,
    behind_an_iterator,
    behind_an_iterator_of_a_list,
    in_a_tuple_that_is_filled,
    behind_a_method_of_a_list,
    behind_an_iterator_of_a_default,
]


def counting():
    def made(held=Dies("default of the caller")):
        held = None
        yield 1
        yield 2

    return made


def outcome(call: Callable[..., Any], flag: bool) -> list[Any]:
    """What is noted by a call, and when the world around it ends."""
    LOG.clear()
    gc.disable()
    table = {"k": Dies("table"), "made": counting()}
    try:
        call(torch.ones(2), flag, table)
    except Failure as error:
        note(type(error))
    note("returned")
    table.clear()
    seen = list(LOG)
    gc.enable()
    return seen


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("flags", [(0, 1, 0), (1, 0, 1)], ids=["no", "yes"])
def test_variables_die_in_the_order_of_plain_python(
    no_frame_hook, program, flags
):
    compiled = magneto.compile(program, backend="eager")
    for flag in flags:
        assert outcome(compiled, bool(flag)) == outcome(program, bool(flag))


def test_exception_keeps_the_frames_of_its_callers():
    kept = []

    def program(x):
        held = x + 1

        def inner(x):
            number = 5
            try:
                raise Failure(number)
            except Failure as error:
                magneto.graph_break()
                kept.append(error)
                raise

        inner(x)
        return held

    def callers():
        kept.clear()
        with pytest.raises(Failure):
            compiled(torch.ones(2))
        entry = kept[0].__traceback__
        while entry.tb_next:
            entry = entry.tb_next
        inner = entry.tb_frame
        return [inner.f_code.co_name, inner.f_back.f_code.co_name]

    compiled = program
    expected = callers()
    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert callers() == expected
