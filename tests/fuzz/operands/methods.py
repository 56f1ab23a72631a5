# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of all methods of the built-in types, of functions and operators
on plain data: results, errors' words, and what the receiver is afterwards.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import fractions
import functools
import itertools
import math
import operator
import random
import types
from typing import Any

import torch

from tests.fuzz.support.running import NoEnd, difference_of, finding, limited
from tests.fuzz.support.showing import cleaned, named
from tests.fuzz.support.writing import caught


class Color(enum.Enum):
    """A plain enum."""

    RED = 1
    BLUE = "b"


class Access(enum.Flag):
    """Flags."""

    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    """Numbers with names."""

    LOW = 1
    HIGH = 2


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass(order=True)
class Data:
    """A dataclass."""

    a: int
    b: str = "x"


@dataclasses.dataclass(frozen=True)
class Frozen:
    """One that has a hash."""

    a: int = 3


class MyList(list):
    """A subclass that changes nothing."""


class MyDict(dict):
    """A dict that knows every key."""

    def __missing__(self, key: Any) -> Any:
        return "missing", key


class MyStr(str):
    """A subclass that changes nothing."""


class MyInt(int):
    """A number with a sum and an equality of its own."""

    __hash__ = int.__hash__

    def __add__(self, other: Any) -> Any:
        return "added"

    def __eq__(self, other: object) -> bool:
        return int(self) == other


# What the calls know by name.
NAMES = named(
    collections, copy, dataclasses, fractions, functools, itertools, math,
    operator, torch, Color, Access, Level, Pair, Data, Frozen, MyList, MyDict,
    MyStr, MyInt,
)  # fmt: skip

# Values by what they are. What a method gets is more often of its own kind.
VALUES = {
    "int": "0|1|-3|7|255|2**70|True|False|MyInt(4)|Level.LOW",
    "float": "0.0|-0.0|1.5|-2.25|1e300|math.inf|-math.inf|math.nan|3.0",
    "complex": "1j|2-3j|complex(0.0, -0.0)",
    "str": "''|'abc'|'Hello World'|'a,b,,c'|' x '|'12'|'\\u00df\\u0130'|"
    "'a\\nb\\r\\nc'|MyStr('sub')|'{}-{x}'|'%d %s'|'-0x1F'|'tEsT'",
    "bytes": "b''|b'abc'|b'a,b'|b'\\xff\\x00'|bytearray(b'xyz')",
    "list": "[]|[1, 2, 3]|['b', 'a']|[3, 1, 2]|[[1], [2]]|MyList([1, 2])|"
    "[None, 0]|[1.5, 2]",
    "tuple": "()|(1, 2)|('a',)|Pair(1, 2)|(1, (2, 3))|torch.Size([2, 3])",
    "dict": "{}|{'a': 1, 'b': 2}|{1: 'x'}|MyDict(a=1)|{'x': 5}|"
    "collections.OrderedDict(a=1, b=2)|collections.Counter('aab')|"
    "collections.defaultdict(list, a=[1])",
    "set": "set()|{1, 2}|{'a', 'b'}|frozenset([1, 3])|frozenset()",
    "range": "range(0)|range(5)|range(1, 10, 3)|range(5, 0, -2)",
    "slice": "slice(1, 3)|slice(None, None, -1)|slice(0, 9, 2)",
    "deque": "collections.deque()|collections.deque([1, 2, 3])|"
    "collections.deque([1, 2], 2)",
    "enum": "Color.RED|Access.READ|Access.READ|Access.WRITE|Level.HIGH|"
    "Access(0)",
    "object": "Data(1)|Data(2, 'y')|Frozen()|fractions.Fraction(1, 3)",
    "other": "None|...|NotImplemented|int|list|len|Color|torch.float32",
}
KINDS = {kind: values.split("|") for kind, values in VALUES.items()}
ALL = [value for values in KINDS.values() for value in values]

FUNCTIONS = (
    "abs all any ascii bin bool bytes callable chr complex dict divmod "
    "enumerate filter float format frozenset getattr hasattr hash hex int "
    "isinstance issubclass iter len list map max min next oct ord pow range "
    "repr reversed round set slice sorted str sum tuple type zip math.floor "
    "math.ceil math.sqrt math.gcd math.isclose math.copysign math.comb "
    "math.prod math.trunc math.log operator.add operator.index operator.mul "
    "operator.contains operator.itemgetter operator.concat operator.countOf "
    "operator.indexOf operator.neg operator.truth collections.Counter "
    "collections.deque itertools.chain itertools.product itertools.islice "
    "itertools.zip_longest itertools.accumulate itertools.combinations "
    "itertools.permutations itertools.pairwise itertools.groupby "
    "itertools.compress itertools.cycle itertools.repeat itertools.count "
    "itertools.starmap itertools.takewhile functools.reduce functools.partial "
    "copy.copy copy.deepcopy dataclasses.replace dataclasses.asdict"
).split()
OPERATORS = (
    "+ - * / // % ** & | ^ << >> == != < <= > >= in is and or @"
).split()
FORMATS = (
    ",5,<8,^9,08,+,.2f,e,x,b,%,s,r,.3,_,#x,c,n,=+5,d,>4s,*^7,.0f,g"
).split(",")  # fmt: skip

# Methods that are about other things than values.
LEFT_OUT = set(
    "__init_subclass__ __subclasshook__ __reduce__ __reduce_ex__ __getstate__ "
    "__setstate__ __sizeof__ __dir__ __class__ __new__ __init__ __alloc__ "
    "__getattribute__ __setattr__ __delattr__ __doc__ __class_getitem__ "
    "__getnewargs__ __getnewargs_ex__ __copy__".split()
)


def call_of(choose: random.Random) -> tuple[str, str]:
    """An expression, and the receiver that it knows as `r`."""
    value = lambda kind=None: choose.choice(KINDS[kind] if kind else ALL)  # noqa: E731
    chance = choose.random()
    if chance < 0.55:
        kind = choose.choice(list(KINDS))
        receiver = value(kind)
        owner = type(eval(receiver, dict(NAMES)))
        names = [
            name
            for name in dir(owner)
            if name not in LEFT_OUT and callable(getattr(owner, name, None))
        ]
        arguments = ", ".join(
            value(choose.choice([kind, kind, None, "int", "str"]))
            for _ in range(choose.choice([0, 1, 1, 1, 2, 2, 3]))
        )
        who = "r" if choose.random() < 0.7 else f"({receiver})"
        return f"{who}.{choose.choice(names)}({arguments})", receiver
    if chance < 0.75:
        return f"{value()} {choose.choice(OPERATORS)} {value()}", "None"
    if chance < 0.80:
        key = value(choose.choice(["int", "slice", "str", None]))
        return f"({value()})[{key}]", "None"
    if chance < 0.84:
        return f"format({value()}, {choose.choice(FORMATS)!r})", "None"
    if chance < 0.88:
        values = value(choose.choice([None, "tuple", "dict", "int"]))
        return f"{value('str')} % {values}", "None"
    count = choose.choice([1, 1, 2, 2, 3])
    arguments = ", ".join(value() for _ in range(count))
    return f"{choose.choice(FUNCTIONS)}({arguments})", "None"


def shown(value: Any, depth: int = 0) -> Any:
    """A value as it is compared: iterators by their first items."""
    if depth > 4:
        return type(value).__name__
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__qualname__
    if isinstance(value, types.MethodType):
        return value.__qualname__
    if hasattr(value, "__next__"):
        return [shown(item, depth + 1) for item in itertools.islice(value, 8)]
    if isinstance(value, list | tuple | collections.deque):
        items = [shown(item, depth + 1) for item in value]
        return type(value).__name__, items, getattr(value, "maxlen", None)
    if isinstance(value, dict):
        items = [
            (shown(k, depth + 1), shown(value[k], depth + 1)) for k in value
        ]
        return type(value).__name__, items
    return type(value).__name__, cleaned(repr(value))


def result_of(call: Any, receiver: str) -> str:
    """What a run gives, as text."""
    try:
        with limited(3):
            _, value, left = call(torch.zeros(1), eval(receiver, dict(NAMES)))
            return repr((shown(value), shown(left)))
    except NoEnd:
        return "no end"
    except Exception as error:
        return f"raised {error!r}"


def try_seed(seed: int) -> str:
    """What differs for the call of a seed; empty if nothing."""
    choose = random.Random(seed)
    expression, receiver = call_of(choose)
    # Half of the receivers are made by the program itself.
    made = f"r = {receiver}" if choose.random() < 0.5 else "pass"
    source = "\n".join(
        [
            "def program(x, r):",
            "    notes = []",
            f"    {made}",
            *caught([f"notes.append({expression})"]),
            "    return x + 1, notes, r",
        ]
    )
    differs = difference_of(
        source, dict(NAMES), lambda call: result_of(call, receiver)
    )
    return finding(seed, f"{receiver}\n{source}", differs)
