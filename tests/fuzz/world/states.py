# SPDX-License-Identifier: BSD-3-Clause
"""Random uses of an object that C code or the standard library made, with two of
its kind by turns: whatever tells them apart must be told by a guard.
"""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import copy
import ctypes
import datetime
import decimal
import fractions
import functools
import inspect
import io
import ipaddress
import itertools
import math
import operator
import pathlib
import random
import re
import string
import struct
import types
import typing
import uuid
import warnings
import weakref
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz.operands.methods import Access, Color
from tests.fuzz.support.running import finding, is_python
from tests.fuzz.support.showing import named


class Plain:
    """An instance with one attribute."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def method(self) -> Any:
        """What it holds."""
        return self.a


class Pair(typing.NamedTuple):
    """Two things."""

    a: Any
    b: Any


def add(a: int, b: int = 1) -> int:
    """A function with a default."""
    return a + b


def subtract(a: int, b: int = 2, *, c: int = 3) -> int:
    """A function with more of them."""
    return a - b - c


FIRST = contextvars.ContextVar("first", default=1)
SECOND = contextvars.ContextVar("second", default=2)

# Two objects of a kind each: what they are made with where `k` is 0 and 1.
KINDS = """
functools.partial(int, base=(2, 8)[k])
functools.partial((add, subtract)[k], 5)
functools.lru_cache(3 + k)((add, subtract)[k])
functools.singledispatch((add, subtract)[k])
functools.cmp_to_key((add, subtract)[k])
re.compile(("a", "b(c)")[k], (0, re.I)[k])
re.match(("a", "(b)(?P<x>c)")[k], ("abc", "bcd")[k])
slice(k, 3 + k)
range(k, 5)
property((add, subtract)[k])
staticmethod((add, subtract)[k])
operator.methodcaller(("upper", "lower")[k])
operator.itemgetter(k)
operator.attrgetter(("real", "imag")[k])
struct.Struct(("b", "h")[k])
datetime.date(2000 + k, 1, 2)
datetime.datetime(2000, 1 + k, 2, 3, tzinfo=(None, datetime.timezone.utc)[k])
datetime.time(1 + k, 2)
datetime.timedelta(k, 5)
datetime.timezone(datetime.timedelta(hours=k))
zoneinfo.ZoneInfo(("UTC", "Europe/Berlin")[k])
decimal.Decimal(("1.5", "-2.25")[k])
decimal.Context(prec=5 + k)
fractions.Fraction(1 + k, 3)
types.MappingProxyType({k: 1})
types.SimpleNamespace(a=k)
types.CellType(k)
memoryview((b"ab", b"cde")[k])
array.array(("b", "h")[k], [1, 2 + k])
bytearray((b"ab", b"cde")[k])
(ctypes.c_int8, ctypes.c_int16)[k](3 + k)
(ctypes.c_int8 * (2 + k))(*range(2 + k))
np.dtype(("i1", "f4")[k])
(np.float32(1.5), np.int8(2))[k]
(np.ceil, np.floor)[k]
(np.sin, np.add)[k]
(np.sum, np.prod)[k]
(np.round, np.mean)[k]
np.arange(2 + k)
np.finfo(("f4", "f8")[k])
torch.finfo((torch.float32, torch.float16)[k])
torch.iinfo((torch.int32, torch.int8)[k])
torch.device(("cpu", "meta")[k])
(torch.float32, torch.int8)[k]
torch.Size([1 + k, 2])
(torch.strided, torch.sparse_coo)[k]
torch.arange(2 + k)
torch.ones(1 + k, device="meta")
torch.nn.Parameter(torch.ones(1 + k))
torch.max(torch.arange(2.0 + k).view(1, -1), 1)
torch.nn.ModuleList([torch.nn.ReLU()] * (1 + k))
(torch.nn.ReLU(), torch.nn.Tanh())[k]
(torch.no_grad(), torch.enable_grad())[k]
(torch.ops.aten.add.Tensor, torch.ops.aten.add.Scalar)[k]
(torch.ops.aten.sin, torch.ops.aten.cos)[k]
(torch.sin, torch.cos)[k]
(torch.Tensor.sin, torch.Tensor.cos)[k]
(list[int], dict[str, int])[k]
(int | str, int | None)[k]
(typing.Union[int, str], typing.Optional[int])[k]
(typing.Literal[1], typing.Literal[2, "a"])[k]
(typing.Callable[[int], str], typing.Callable[..., int])[k]
(add, subtract)[k].__code__
(add, subtract)[k]
Plain(k).method
([1].count, {}.get)[k]
(int.__add__, int.__mul__)[k]
((1).__add__, (2).__mul__)[k]
(str.upper, str.lower)[k]
(math.ceil, math.sqrt)[k]
(Plain, Pair)[k]
(int, str)[k]
Plain(k)
Pair(k, 2)
iter([1, 2][k:])
enumerate([1, 2], k)
zip([1, 2], [3, 4][k:])
map((abs, str)[k], [1])
itertools.islice(itertools.count(k), 3)
itertools.repeat(k, 2)
itertools.chain([k], [2])
collections.deque([k, 2], maxlen=3 + k)
collections.OrderedDict([(k, 2)])
collections.defaultdict((int, list)[k], a=k)
collections.Counter(("aab", "bbc")[k])
collections.ChainMap({k: 1}, {2: 3})
collections.UserDict({k: 1})
frozenset([k, 2])
{k, 2}
io.StringIO(("ab", "cd\\ne")[k])
io.BytesIO((b"ab", b"cd\\ne")[k])
uuid.UUID(int=k + 5)
pathlib.PurePosixPath(("/a/b.c", "d/e")[k])
ipaddress.ip_address(("1.2.3.4", "::1")[k])
string.Template(("$a", "b $c")[k])
(Color.RED, Color.BLUE)[k]
(Access.READ, Access.READ | Access.WRITE)[k]
(Color, Access)[k]
inspect.signature((add, subtract)[k])
(ValueError("a"), KeyError(1, 2))[k]
(OSError(1, "a"), FileNotFoundError(2, "b", "f"))[k]
(1 + 2j, 3j)[k]
(5, 1 << 70)[k]
(1.5, float("inf"))[k]
("ab", "Cd e")[k]
(b"ab", b"Cd e")[k]
(FIRST, SECOND)[k]
contextlib.nullcontext(k)
weakref.ref((Plain, Pair)[k])
(None, ...)[k]
bool(k)
""".strip().splitlines()

# What is done with one, `v`; `name` is one of its attributes.
USES = (
    """
v.name | v.name() | v.name(1) | getattr(v, "name", 5) | hasattr(v, "name")
repr(v) | str(v) | bool(v) | len(v) | list(itertools.islice(iter(v), 4))
hash(v) == hash(v) | f"{v}" | "%s" % v | "%d" % v | (v == v, v != v, v is v)
-v | v + v | v * 2 | v[0] | v["a"] | 1 in v | int(v) | float(v) | abs(v)
operator.index(v) | callable(v) | type(v) | dict(vars(v)) | copy.copy(v)
copy.deepcopy(v) | dict(v) | sorted(v) | max(v) | v() | v(3) | v(1.5) | v(x)
v(3, 4) | v([1, 2]) | v("aB") | v < v | hex(v) | round(v) | bytes(v) | next(v)
list(reversed(v)) | isinstance(1, v) | issubclass(bool, v) | [*v] | dict(**v)
str(inspect.signature(v)) | matched(v) | torch.tensor(v) | entered(v)
",".join(v) | x + v | v in {v} | {v: 1}[v] | (v, 1) == (v, 1) | v.__name__
list(map(v, [1, 2])) | functools.reduce(v, [1, 2, 3]) | v.__self__
torch.zeros(2, dtype=v) | torch.zeros(2, device=v) | x.to(v) | x.view(v)
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)

# How the program comes by it.
WAYS = {
    "return {use}": "v",
    "breaks()\n    return {use}": "v",
    "v = v[0]\n    return {use}": "[v]",
    "v = v['key']\n    return {use}": "{'key': v}",
    "v = v.a\n    return {use}": "Plain(v)",
    "f = lambda: {use}\n    return f()": "v",
    "f = lambda: {use}\n    breaks()\n    return f()": "v",
}


def matched(value: Any) -> Any:
    """What a match statement makes of it."""
    match value:
        case int(a):
            return "an int", a
        case str():
            return "a str"
        case [a, *b]:
            return a, b
        case {"a": a, **rest}:
            return a, rest
        case datetime.date(year=year):
            return year
    return None


def entered(value: Any) -> Any:
    """What it gives as a context manager."""
    with value as given:
        return given


NAMES: dict[str, Any] = {
    **named(
        array, collections, contextlib, copy, ctypes, datetime, decimal,
        fractions, functools, inspect, io, ipaddress, itertools, math, operator,
        pathlib, re, string, struct, torch, types, typing, uuid, weakref,
        zoneinfo, Plain, Color, Access, Pair, add, subtract, matched, entered,
    ),
    "np": np,
    "FIRST": FIRST,
    "SECOND": SECOND,
    "breaks": magneto.graph_break,
}  # fmt: skip

# What tells the time or an address, or leaves something behind.
LEFT_OUT = re.compile(
    "^_|now|today|ctypes|data_?ptr|seed|storage|cdata|share|pin_|cuda|xpu|mtia|"
    "ipu|hpu|register|subclass|exit|close|detach|from_buffer|_weak|cache_clear|impl"
)


def attributes(value: Any) -> list[str]:
    """The names of its attributes, those of its class first."""
    return [name for name in dir(value) if not LEFT_OUT.search(name)]


def shown(value: Any, depth: int = 0) -> str:
    """As text, without addresses."""
    if isinstance(value, list | tuple) and depth < 3:
        parts = [shown(each, depth + 1) for each in value]
        return f"{type(value).__name__}{parts}"
    return without_addresses(f"{type(value).__name__} {value!r}")


def without_addresses(text: str) -> str:
    """What is the same in each run."""
    text = text.partition("Exception raised from")[0]  # the frames of C++
    return re.sub(r"0x[0-9a-f]{6,}|id=\d+|\d{12,}", "", text)


def runs(program: Callable[..., Any], make: Callable[[int], Any]) -> list[str]:
    """What four calls give: with one, the other, and again."""
    found = []
    for k in (0, 1, 0, 1):
        torch.manual_seed(0)
        try:
            found.append(shown(program(torch.ones(2), make(k))))
        except Exception as error:
            found.append(without_addresses(f"raised {error!r}"))
    return found


def try_seed(seed: int) -> str:
    """What differs for the program of a seed; empty if nothing."""
    choose = random.Random(seed)
    kind, use = choose.choice(KINDS), choose.choice(USES)
    way = choose.choice(list(WAYS))
    if "torch.ops" in kind and "copy" in use:
        return ""  # copies itself without an end
    namespace: dict[str, Any] = dict(NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = eval(kind, namespace, {"k": choose.randint(0, 1)})
        names = attributes(value)
        if names:
            use = re.sub(r"\bname\b", choose.choice(names), use)
        if isinstance(value, type):
            # CPython 3.11 looks below its stack for the receiver of a method
            # that is called without one.
            use = use.replace("()", "(1)")
        body = way.format(use=f"(x + 1, {use})")
        source = (
            f"def make(k):\n    v = {kind}\n    return {WAYS[way]}\n\n\n"
            f"def program(x, v):\n    {body}\n"
        )
        if not is_python(source):
            return ""
        exec(compile(source, "<program>", "exec"), namespace)
        program, make = namespace["program"], namespace["make"]
        expected = runs(program, make)
        got = runs(magneto.compile(program, backend="eager"), make)
        magneto.reset()
    if expected == got:
        return ""
    return finding(seed, source, "\n".join([*expected, "", *got]))
