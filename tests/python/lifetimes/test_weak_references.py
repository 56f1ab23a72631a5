# SPDX-License-Identifier: BSD-3-Clause
"""Weak references and their callbacks see what dies in a program as in plain
Python; and what was compiled keeps no class alive.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import magneto
from magneto.testing import check


class Thing:
    def method(self):
        return 1


def asked_behind_the_last_variable():
    thing = Thing()
    reference = weakref.ref(thing)
    thing = None
    return reference() is None


def asked_behind_del():
    thing = Thing()
    reference = weakref.ref(thing)
    before = reference() is thing
    del thing
    return before, reference()


def asked_while_it_lives():
    thing = Thing()
    reference = weakref.ref(thing)
    other = [1]
    magneto.graph_break()
    del other
    return reference() is thing


def removed_from_a_list():
    things = [Thing()]
    reference = weakref.ref(things[0])
    magneto.graph_break()
    things.pop()
    return reference()


def attribute_written_anew():
    thing = Thing()
    thing.inner = Thing()
    reference = weakref.ref(thing.inner)
    magneto.graph_break()
    thing.inner = None
    return reference()


def in_a_callee():
    thing = Thing()
    reference = weakref.ref(thing)

    def ask():
        return reference()

    del thing
    return ask()


def method_reference():
    thing = Thing()
    reference = weakref.WeakMethod(thing.method, lambda _: None)
    of_reference = weakref.ref(reference)
    del reference
    return of_reference()


def handled_exception_is_gone():
    class Error(Exception):
        def __init__(self, thing):
            self.thing = thing

    def fail():
        local = thing
        raise Error(local)

    thing = Thing()
    reference = weakref.ref(thing)
    try:
        fail()
    except Error:
        pass
    thing = None
    return reference()


def callback_of_a_class():
    log = []

    class Made:
        pass

    made = Made()
    made.own = made
    _reference = weakref.ref(Made, lambda _: log.append("gone"))
    del made, Made
    gc.collect()
    return log


def callback_of_a_class_with_methods():
    log = []

    class Made:
        def method(self):
            return log

    made = Made()
    _reference = weakref.ref(Made, lambda _: log.append("gone"))
    made.method().append(1)
    made.own = made
    del made, Made
    gc.collect()
    return log


@pytest.mark.parametrize(
    "program",
    [
        asked_behind_the_last_variable,
        asked_behind_del,
        asked_while_it_lives,
        removed_from_a_list,
        attribute_written_anew,
        in_a_callee,
        method_reference,
        handled_exception_is_gone,
        callback_of_a_class,
        callback_of_a_class_with_methods,
    ],
    ids=lambda each: each.__name__,
)
def test_deaths_are_seen(program: Callable[..., Any]) -> None:
    check(program)


# -- classes that a program makes ----------------------------------------------


def cut() -> None:
    magneto.graph_break()


def instance():
    class Made:
        pass

    made = Made()
    made.own = made
    cut()
    return weakref.ref(Made)


def method_called():
    class Made:
        def method(self):
            return 1

    made = Made()
    made.method()
    cut()
    made.method()
    return weakref.ref(Made)


def mro():
    class Made:
        pass

    classes = Made.__mro__
    cut()
    classes = (*classes, int)
    return weakref.ref(Made)


def bases():
    class Made:
        pass

    class Derived(Made):
        pass

    Derived.__bases__ += ()
    cut()
    assert Derived.__base__ is Made
    return weakref.ref(Made)


def reduced():
    class Made:
        pass

    Made().__reduce_ex__(4)
    return weakref.ref(Made)


@pytest.mark.parametrize(
    "program",
    [instance, method_called, mro, bases, reduced],
    ids=lambda each: each.__name__,
)
def test_classes_die_although_they_were_met(
    program: Callable[..., Any],
) -> None:
    compiled = magneto.compile(program, backend="eager")
    references = [compiled() for _ in range(3)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
