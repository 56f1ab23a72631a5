# SPDX-License-Identifier: BSD-3-Clause
"""What a program reads of its environment changes between calls: settings of
torch and Python, attributes of functions and classes, and what tensors are
besides their shape.
"""

from __future__ import annotations

import abc
import functools
import gc
import inspect
import math
import os
import sys
import threading
import time
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import compare

X = torch.ones(2)


MISTAKES = [
    lambda thing, cls: thing.nothing,
    lambda thing, cls: cls.nothing,
    lambda thing, cls: super(cls, thing).nothing,
    lambda thing, cls: cls().nothing,
    lambda thing, cls: thing(),
    lambda thing, cls: len(thing),
    lambda thing, cls: thing + 1,
    lambda thing, cls: "a" + thing,
    lambda thing, cls: thing < 3,
    lambda thing, cls: thing[0],
    lambda thing, cls: [1][thing],
    lambda thing, cls: int(thing),
    lambda thing, cls: list(thing),
    lambda thing, cls: next(thing),
    lambda thing, cls: -thing,
    lambda thing, cls: "%d" % thing,
    lambda thing, cls: format(thing, "5"),
    lambda thing, cls: cls(1),
    lambda thing, cls: thing.method(1),
    lambda thing, cls: math.sqrt(thing),
    lambda thing, cls: torch.ones(2) + thing,
    lambda thing, cls: 1 in thing,
    lambda thing, cls: isinstance(1, thing),
    lambda thing, cls: ",".join([thing]),
    lambda thing, cls: sum([thing]),
    lambda thing, cls: reversed(thing),
]


def words_of_errors(thing: Any, cls: Any) -> list[str]:
    words = []
    for mistake in MISTAKES:
        try:
            mistake(thing, cls)
        except Exception as error:
            words.append(str(error))
    return words


class World:
    """What the programs look at; made anew for each run."""

    def __init__(self):
        class Abstract(abc.ABC):
            pass

        class Base:
            def method(self):
                return "base"

        class OtherBase:
            def method(self):
                return "other base"

        class Meta(type):
            pass

        class Descriptor:
            pass

        class Thing(Base, metaclass=Meta):
            described = Descriptor()

            @property
            def property(self):
                return 1

        @functools.singledispatch
        def dispatched(argument):
            return "any"

        self.Abstract, self.Base, self.OtherBase = Abstract, Base, OtherBase
        self.Meta, self.Descriptor, self.Thing = Meta, Descriptor, Thing
        self.dispatched = dispatched
        self.thing = Thing()
        self.thing.__dict__["described"] = "own"
        self.module = types.ModuleType("made")
        self.value: Any = None
        self.tensor = torch.ones(3, 2)
        self.other = torch.ones(3, 2)
        self.leaf = torch.ones(2, requires_grad=True)
        self.function = lambda a: 0
        self.class_ = type("Own", (), {"__annotations__": {"a": int}})
        self.start = time.monotonic()


LONG = 10**5000


def digits_or_error(read: Callable[[], Any]) -> Any:
    """What is read, or what the limit on digits makes of that."""
    try:
        return read()
    except ValueError as error:
        return str(error)


def sets(name: str, *makes: Callable[[World], Any]) -> tuple[Any, ...]:
    """Changes that give an attribute of the world other values."""
    return tuple(lambda w, m=make: setattr(w, name, m(w)) for make in makes)


def of(read: Callable[[], Any], *changes: Callable[[], Any]) -> tuple[Any, ...]:
    """A program over a setting, and changes of it; the last one restores it."""
    return (
        lambda x, w: (x * 2, read()),
        *(lambda w, change=change: change() for change in changes),
    )


ROWS: dict[str, tuple[Any, ...]] = {
    "num_threads": of(
        torch.get_num_threads,
        lambda: torch.set_num_threads(2),
        lambda: torch.set_num_threads(1),
    ),
    "matmul precision": of(
        lambda: torch.get_float32_matmul_precision(),
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    "warn always": of(
        lambda: torch.is_warn_always_enabled(),
        lambda: torch.set_warn_always(True),
        lambda: torch.set_warn_always(False),
    ),
    "anomaly": of(
        lambda: torch.is_anomaly_enabled(),
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.set_detect_anomaly(False),
    ),
    "recursion limit": of(
        lambda: sys.getrecursionlimit(),
        lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 234),
        lambda: sys.setrecursionlimit(sys.getrecursionlimit() - 234),
    ),
    **{
        f"digits of {name}": of(
            read,
            lambda: sys.set_int_max_str_digits(0),
            lambda: sys.set_int_max_str_digits(4300),
        )
        for name, read in {
            "a text": lambda: digits_or_error(lambda: str(10**5000)),
            "a tuple's text": lambda: digits_or_error(lambda: repr((LONG,))),
            "a formatted text": lambda: digits_or_error(lambda: f"{LONG:,}"),
            "text and number": lambda: digits_or_error(lambda: "%d" % LONG),
            "a number": lambda: digits_or_error(lambda: int("9" * 5000)),
        }.items()
    },
    "collection": of(lambda: gc.isenabled(), gc.disable, gc.enable),
    "environment": of(
        lambda: os.environ.get("MAGNETO_TEST_WORLD", "5"),
        lambda: os.environ.__setitem__("MAGNETO_TEST_WORLD", "1"),
        lambda: os.environ.pop("MAGNETO_TEST_WORLD"),
    ),
    "thread": of(
        lambda: threading.current_thread().name,
        lambda: setattr(threading.current_thread(), "name", "other"),
        lambda: setattr(threading.current_thread(), "name", "MainThread"),
    ),
    "method of tensors": of(
        lambda: hasattr(X, "added_later"),
        lambda: setattr(torch.Tensor, "added_later", 1),
        lambda: delattr(torch.Tensor, "added_later"),
    ),
    "function of torch": of(
        lambda: torch.nn.functional.relu(X - 2),
        lambda relu=torch.nn.functional.relu: (
            setattr(torch.nn.functional, "relu_before", relu),
            setattr(torch.nn.functional, "relu", torch.neg),
        ),
        lambda: (
            setattr(
                torch.nn.functional, "relu", torch.nn.functional.relu_before
            ),
            delattr(torch.nn.functional, "relu_before"),
        ),
    ),
    "time": (
        lambda x, w: x * (time.monotonic() > w.start + 0.05),
        lambda w: time.sleep(0.06),
    ),
    "grad_fn": (
        lambda x, w: x * (2 if w.leaf.grad_fn is None else 3),
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf.detach()),
    ),
    "name of grad_fn": (
        lambda x, w: w.leaf.grad_fn and w.leaf.grad_fn.name(),
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf + 2),
    ),
    "is_leaf": (
        lambda x, w: x * w.leaf.is_leaf,
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf.detach()),
    ),
    "base": (
        lambda x, w: x * (2 if w.tensor._base is None else 3),
        *sets("tensor", lambda w: w.tensor[:], lambda w: torch.ones(3, 2)),
    ),
    "is_set_to": (
        lambda x, w: x * w.tensor.is_set_to(w.other),
        *sets("other", lambda w: w.tensor[:], lambda w: torch.ones(3, 2)),
    ),
    "storage": (
        lambda x, w: (x + 1, w.tensor.untyped_storage().nbytes()),
        *sets("tensor", lambda w: torch.ones(4, 2)[1:]),
    ),
    "offset": (
        lambda x, w: x * w.tensor.storage_offset(),
        *sets("tensor", lambda w: torch.ones(4, 2)[1:]),
    ),
    "attribute": (
        lambda x, w: x * getattr(w.tensor, "mark", 4),
        lambda w: setattr(w.tensor, "mark", 9),
        lambda w: delattr(w.tensor, "mark"),
    ),
    "documentation": (
        lambda x, w: x * len(w.function.__doc__ or ""),
        lambda w: setattr(w.function, "__doc__", "abc"),
        lambda w: setattr(w.function, "__doc__", None),
    ),
    "name": (
        lambda x, w: (x + 1, w.function.__name__, w.function.__qualname__),
        lambda w: setattr(w.function, "__name__", "abc"),
        lambda w: setattr(w.function, "__qualname__", "abc.d"),
    ),
    "signature": (
        lambda x, w: x * len(inspect.signature(w.function).parameters),
        *sets("function", lambda w: lambda a, b: 0),
    ),
    "name of a class": (
        lambda x, w: (x + 1, w.class_.__name__),
        lambda w: setattr(w.class_, "__name__", "Other"),
    ),
    "registered class": (
        lambda x, w: (x + 1, isinstance(w.thing, w.Abstract)),
        lambda w: w.Abstract.register(w.Thing),
    ),
    "check of a metaclass": (
        lambda x, w: (x + 1, isinstance(3, w.Thing), issubclass(int, w.Thing)),
        lambda w: setattr(w.Meta, "__instancecheck__", lambda c, o: True),
        lambda w: setattr(w.Meta, "__subclasscheck__", lambda c, o: True),
    ),
    "dispatched function": (
        lambda x, w: (x + 1, w.dispatched(3)),
        lambda w: w.dispatched.register(int, lambda argument: "int"),
        lambda w: w.dispatched.register(int, lambda argument: "other int"),
    ),
    "class of an object": (
        lambda x, w: (x + 1, w.thing.method()),
        lambda w: setattr(w, "thing", w.Thing()),
        lambda w: setattr(
            w.thing, "__class__", type("Mine", (), {"method": lambda s: 1})
        ),
    ),
    "bases of a class": (
        lambda x, w: (x + 1, w.thing.method()),
        lambda w: setattr(w.Thing, "__bases__", (w.OtherBase,)),
    ),
    "method of an object": (
        lambda x, w: (x + 1, w.thing.method()),
        lambda w: setattr(w.thing, "method", lambda: "own"),
        lambda w: delattr(w.thing, "method"),
    ),
    "class that begins to describe": (
        lambda x, w: (x + 1, w.thing.described),
        lambda w: setattr(w.Descriptor, "__get__", lambda *a: "given"),
        lambda w: setattr(w.Descriptor, "__set__", lambda *a: None),
        lambda w: delattr(w.Descriptor, "__set__"),
        lambda w: setattr(w.Descriptor, "__delete__", lambda *a: None),
    ),
    "class that begins to give": (
        lambda x, w: (x + 1, type(w.Thing().described).__name__),
        lambda w: setattr(w.Descriptor, "__get__", lambda *a: 7),
    ),
    "class that begins to take": (
        lambda x, w: (setattr(w.thing, "described", 5), x + 1),
        lambda w: setattr(w.Descriptor, "__set__", lambda *a: None),
        lambda w: w.thing.__dict__.clear(),
    ),
    "property": (
        lambda x, w: (x + 1, w.thing.property),
        lambda w: setattr(w.Thing, "property", property(lambda self: 2)),
        lambda w: setattr(w.Thing, "property", 3),
    ),
    "attributes of a metaclass": (
        lambda x, w: (x + 1, getattr(w.Thing, "later", "none")),
        lambda w: setattr(w.Meta, "later", 1),
        lambda w: setattr(w.Thing, "later", 2),
        lambda w: delattr(w.Thing, "later"),
    ),
    "attributes that are made up": (
        lambda x, w: (x + 1, getattr(w.thing, "later", "none")),
        lambda w: setattr(w.Base, "__getattr__", lambda s, name: name),
        lambda w: setattr(w.thing, "later", 4),
    ),
    "truth and equality": (
        lambda x, w: (x + 1, bool(w.thing), w.thing == 3, w.thing in [3]),
        lambda w: setattr(w.Thing, "__eq__", lambda s, other: True),
        lambda w: setattr(w.Thing, "__len__", lambda s: 0),
        lambda w: setattr(w.Thing, "__bool__", lambda s: True),
    ),
    "attributes of a module": (
        lambda x, w: (x + 1, getattr(w.module, "later", "none")),
        lambda w: setattr(w.module, "__getattr__", lambda name: name),
        lambda w: setattr(w.module, "later", 5),
    ),
    "default of a dict": (
        lambda x, w: (x + 1, (w.value or {"q": 0})["q"]),
        *sets(
            "value",
            lambda w: defaultdict(list),
            lambda w: defaultdict(dict),
            lambda w: defaultdict(lambda: 4),
            lambda w: defaultdict(lambda: 5),
        ),
    ),
    "bound of a deque": (
        lambda x, w: (x + 1, w.value is None or (w.value + w.value).maxlen),
        *sets("value", lambda w: deque([1]), lambda w: deque([1], 2)),
    ),
    "equal ranges": (
        lambda x, w: (x + 1, w.value and (w.value.start, w.value.stop)),
        *sets(
            "value",
            lambda w: range(3),
            lambda w: range(0, 3, 2),
            lambda w: range(0, 4, 2),
            lambda w: range(0, True),
            lambda w: range(1),
        ),
    ),
    "referent": (
        lambda x, w: (x + 1, w.value is None or w.value() is None),
        lambda w: setattr(w, "value", weakref.ref(w.thing)),
        lambda w: setattr(w, "thing", None),
    ),
    "defaults of a function": (
        lambda x, w: (x + 1, w.function(1)),
        *sets("function", lambda w: lambda c, a=1, *, b=2: (a, b)),
        lambda w: setattr(w.function, "__defaults__", (5,)),
        lambda w: setattr(w.function, "__kwdefaults__", {"b": 6}),
        lambda w: setattr(
            w.function, "__code__", (lambda c, a=1, *, b=2: "new").__code__
        ),
    ),
    "name of a class in an error": (
        lambda x, w: (x + 1, words_of_errors(w.thing, w.Thing)),
        lambda w: setattr(w.Thing, "__name__", "Renamed"),
        lambda w: setattr(w.Base, "__name__", "RenamedBase"),
        lambda w: setattr(w.Thing, "__name__", "Again"),
    ),
    "annotations": (
        lambda x, w: x * len(w.class_.__annotations__),
        lambda w: w.class_.__annotations__.__setitem__("b", int),
        lambda w: w.class_.__annotations__.clear(),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_changes_between_calls_is_seen(name: str) -> None:
    read, *changes = ROWS[name]
    outcomes = []
    for call in (read, magneto.compile(read, backend="eager")):
        world = World()
        found = [call(X, world), call(X, world)]
        for change in changes:
            change(world)
            found += [call(X, world), call(X, world)]
        outcomes.append(found)
    compare(*outcomes)
