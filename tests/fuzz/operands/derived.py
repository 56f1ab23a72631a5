# SPDX-License-Identifier: BSD-3-Clause
"""Random uses of classes that derive from a class written in C: attributes,
methods, and methods of their own that go by what the base keeps. The instance
is the caller's, or made by the program.
"""

from __future__ import annotations

import array
import collections
import copy
import datetime
import decimal
import fractions
import functools
import io
import itertools
import random
import struct
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

import magneto
from tests.fuzz.operands.odd import told_of
from tests.fuzz.support.running import finding


def function(*values: Any) -> Any:
    """What descriptors, partials and the like are made of."""
    return values


# What their instances are made from.
BASES: dict[type, tuple[Any, ...]] = {
    property: (function, function, function, "text"),
    staticmethod: (function,), classmethod: (function,),
    functools.partial: (function, 1, 2), functools.partialmethod: (function,),
    functools.cached_property: (function,), collections.deque: ([1, 2], 4),
    int: (3,), float: (2.5,), complex: (1, 2), str: ("a",), bytes: (b"a",),
    Exception: (1, 2), StopIteration: (4,), OSError: (2, "x", "f"),
    SyntaxError: ("m", ("f", 1, 2, "t", 3, 4)), ImportError: ("m",),
    UnicodeDecodeError: ("utf8", b"a", 0, 1, "r"), KeyError: ("k",),
    AttributeError: ("m",), NameError: ("m",), SystemExit: (3,),
    ExceptionGroup: ("g", [ValueError(1)]), enumerate: ([1, 2],),
    zip: ([1],), map: (function, [1, 2]), filter: (None, [1, 0]),
    reversed: ([1, 2],), random.Random: (3,), list: ([3, 1],), set: ([1],),
    collections.defaultdict: (int, {1: 2}), collections.OrderedDict: ({1: 2},),
    collections.Counter: ("ab",), collections.UserDict: ({1: 2},),
    array.array: ("i", [1]), bytearray: (b"a",), tuple: ([1, 2],),
    datetime.datetime: (2020, 1, 2), datetime.timedelta: (1,),
    decimal.Decimal: (2,), fractions.Fraction: (1, 2), io.StringIO: ("a",),
    types.SimpleNamespace: (), types.ModuleType: ("m",), dict: ({1: 2},),
    struct.Struct: ("i",), itertools.count: (2,), itertools.chain: ([1], [2]),
    itertools.repeat: (1, 3), frozenset: ([1],),
    type: ("Made", (), {}), super: (),
}  # fmt: skip
VALUES: list[Callable[[Any], Any]] = [
    lambda odd: 1, lambda odd: -1, lambda odd: 2.5, lambda odd: "a",
    lambda odd: b"a", lambda odd: None, lambda odd: (1, 2), lambda odd: [3, 1],
    lambda odd: {1: 2}, lambda odd: int, lambda odd: function, lambda odd: True,
    lambda odd: slice(0, 1), lambda odd: odd, lambda odd: torch.ones(2),
    lambda odd: type(odd), lambda odd: iter([1, 2]), lambda odd: "fget",
]  # fmt: skip


class Owner:
    """Has a descriptor as a field, for the time of a call."""


def owner_of(odd: Any) -> Any:
    """An instance of a class whose field is a descriptor."""
    owner = type("Owner", (Owner,), {"field": odd})
    return owner()


# These tell of the interpreter, or of addresses.
LEFT_OUT = {
    "__reduce__", "__reduce_ex__", "__sizeof__", "__dir__", "__class__",
    "__init_subclass__", "__subclasshook__", "__getstate__", "__hash__",
    "__abstractmethods__", "__doc__", "__dict__", "__subclasses__", "__weakref__", "__flags__",
}  # fmt: skip
# These make an instance or find all the others, or can't be written.
KEPT = ("__new__", "__init__", "__getattribute__", "mro", "__base__")
PROGRAM = """\
def program(odd{parameters}):
    {make}
    try:
        result = {use}
    except Exception as error:
        result = type(error), str(error)
    return result, odd
"""
# A method of the class's own, which asks the base in turn.
OWN = """\
def method(self, *values):
    found = [getattr(self, name, "none") for name in {names}]
    return super({owner}, self).{name}(*values), found
"""


class Derived:
    """A class, what its instances are made from, and a program of one."""

    def __init__(self, choose: random.Random) -> None:
        self.base = choose.choice(list(BASES))
        self.type = type("Odd", (self.base,), {"__module__": "tests"})
        names = [name for name in dir(self.type) if name not in LEFT_OUT]
        methods = [n for n in names if callable(getattr(self.type, n, None))]
        if self.base is type:  # names no string, and says so later
            methods = [n for n in methods if "attr__" not in n]
        chosen = choose.choice(methods)
        if choose.random() < 0.4:
            self.add_method(choose, chosen, names)
        if choose.random() < 0.4:
            chosen = choose.choice(methods)
        count = choose.choice([0, 1, 1, 1, 2, 2, 3])
        self.values = [choose.choice(VALUES) for _ in range(count)]
        given = ", ".join(f"v{i}" for i in range(count))
        use = f"odd.{chosen}({given})"
        if choose.random() < 0.3:
            use = f"odd.{choose.choice(names)}"
        self.is_made = choose.random() < 0.4
        if choose.random() < 0.5 and hasattr(self.type, "__get__"):
            self.is_made = False
            self.values = [owner_of, *self.values][: max(1, count)]
            count = len(self.values)
            use = choose.choice(["v0.field", "type(v0).field", "v0.field(1)"])
        self.source = PROGRAM.format(
            parameters="".join(f", v{i}" for i in range(count)),
            make="odd = odd[0](*odd[1])" if self.is_made else "",
            use=use,
        )

    def add_method(
        self, choose: random.Random, name: str, names: list[str]
    ) -> None:
        """Override one method."""
        if name in KEPT:
            return
        fields = [n for n in names if not callable(getattr(self.type, n, None))]
        namespace: dict[str, Any] = {"Odd": self.type}
        asked = choose.sample(fields, min(2, len(fields)))
        exec(OWN.format(names=asked, name=name, owner="Odd"), namespace)
        setattr(self.type, name, namespace["method"])

    def operands(self) -> list[Any]:
        """Those of a call, made anew."""
        arguments = copy.deepcopy(BASES[self.base])
        made = self.type(*arguments)
        values = [value(made) for value in self.values]
        if self.is_made:
            return [(self.type, copy.deepcopy(BASES[self.base])), *values]
        return [made, *values]


def try_seed(seed: int) -> str:
    """What differs for the calls of a seed; empty if nothing."""
    derived = Derived(random.Random(seed))
    namespace: dict[str, Any] = {}
    exec(derived.source, namespace)
    program = namespace["program"]
    differs = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            derived.operands()
        except Exception:
            return ""
        compiled = magneto.compile(program, backend="eager")
        for _ in range(2):
            expected = told_of(program, *derived.operands())
            found = told_of(compiled, *derived.operands())
            if expected != found and expected == told_of(
                program, *derived.operands()
            ):
                differs = f"{expected}\n{found}"
                break
    if seed % 50 == 0:
        magneto.reset()
    about = f"{derived.base.__name__}\n{derived.source}"
    about += f"{[n for n in vars(derived.type) if n != '__module__']}"
    return finding(seed, about, differs)
