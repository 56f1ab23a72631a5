# SPDX-License-Identifier: BSD-3-Clause
"""Odd operands: instances of a class that derives from a built-in one and has a
few special methods of its own, which note that they were asked and may answer
otherwise in each call. And what a call with operands gives, in words.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import io
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.fuzz.support.showing import cleaned

Answer = Callable[[int], Any]
ASKED: list[Any] = []


def raising(kind: type[Exception]) -> Answer:
    """An answer that is an error."""

    def answer(i: int) -> Any:
        raise kind("x")

    return answer


def always(value: Any) -> Answer:
    """The same answer in each call."""
    return lambda i: value


# What one method answers in call number i.
SPECIALS: list[tuple[str, Answer]] = [
    ("__index__", lambda i: i), ("__index__", lambda i: i / 2),
    ("__index__", always(1)), ("__index__", raising(ValueError)),
    ("__index__", always("x")), ("__int__", lambda i: i),
    ("__int__", always(3)), ("__float__", lambda i: i + 0.5),
    ("__float__", float), ("__complex__", lambda i: 1j * i),
    ("__complex__", complex), ("__len__", lambda i: i), ("__len__", always(2)),
    ("__len__", always(-1)), ("__bool__", lambda i: bool(i % 2)),
    ("__bool__", lambda i: i), ("__hash__", lambda i: i % 3),
    ("__hash__", lambda i: i + 7), ("__hash__", raising(ValueError)),
    ("__eq__", lambda i: bool(i % 2)), ("__eq__", always(True)),
    ("__eq__", always(NotImplemented)), ("__ne__", lambda i: i % 2 == 1),
    ("__lt__", lambda i: i % 2), ("__lt__", always(True)),
    ("__le__", always(True)), ("__le__", lambda i: i % 2 == 1),
    ("__gt__", always(NotImplemented)), ("__gt__", lambda i: i % 2 == 1),
    ("__ge__", lambda i: i % 2 == 1), ("__contains__", lambda i: i % 2),
    ("__contains__", always(True)), ("__iter__", lambda i: iter(range(i))),
    ("__iter__", lambda i: [i]), ("__iter__", raising(ValueError)),
    ("__iter__", lambda i: iter([i])), ("__getitem__", lambda i: i),
    ("__getitem__", raising(IndexError)), ("__str__", str),
    ("__str__", always(4)), ("__repr__", lambda i: f"r{i}"),
    ("__format__", lambda i: f"f{i}"), ("__bytes__", lambda i: b"a" * i),
    ("__fspath__", always("p")), ("__fspath__", always(4)),
    ("__call__", lambda i: i), ("__enter__", lambda i: i),
    ("__next__", lambda i: i), ("__reversed__", lambda i: [i]),
    ("__reversed__", lambda i: iter([i])), ("__reversed__", always(6)),
    ("__length_hint__", lambda i: i), ("__length_hint__", raising(ValueError)),
    ("__missing__", lambda i: i), ("__setitem__", always(None)),
    ("__delitem__", always(None)), ("__copy__", lambda i: i),
    ("__deepcopy__", lambda i: i), ("__reduce_ex__", lambda i: (int, (i,))),
    ("keys", lambda i: [1, i]), ("__array__", lambda i: np.ones(2)),
    ("__getattr__", lambda i: i), ("__torch_function__", lambda i: i),
    ("__divmod__", lambda i: (i, i)), ("__round__", always(2)),
    *((f"__{name}__", always(NotImplemented))
      for name in "radd mul rmul ror".split()),
    *((f"__{name}__", lambda i: i)
      for name in "neg abs invert round trunc floor ceil add radd sub rsub mul "
      "rmul mod rmod pow rpow and rand or ror rfloordiv iadd imul".split()),
]  # fmt: skip
# What instances are made from, by their class's base.
BASES: dict[type, tuple[Any, ...]] = {
    object: (), int: (3,), float: (2.5,), complex: (1j,), str: ("ab",),
    bytes: (b"ab",), bytearray: (b"ab",), tuple: ((1, 2),),
    frozenset: ((1, 2),), list: ([1, 2],), dict: ({1: 2},), set: ({1, 2},),
    Exception: ("x",), collections.deque: ([1, 2],),
    collections.OrderedDict: ({1: 2},), collections.Counter: ("ab",),
}  # fmt: skip
# torch takes the length of a list's own for that of its memory, and crashes.
UNSAFE = [("__len__", list), ("__len__", tuple)]


class Choice(enum.IntEnum):
    """Whose members are numbers."""

    ONE = 1
    TWO = 2


def method_of(name: str, answer: Answer) -> Callable[..., Any]:
    """A special method, which notes that it was called."""

    def method(self: Any, *others: Any) -> Any:
        ASKED.append((name, len(others)))
        if name == "__getitem__" and others[0] not in range(3):
            raise IndexError(name)
        return answer(self.call)

    return method


class Odd:
    """A class with some special methods, and how its instances are made."""

    def __init__(self, choose: random.Random, count: int) -> None:
        self.base = choose.choice([*[object] * 4, *BASES])
        chosen = choose.sample(SPECIALS, count)
        self.names = [name for name, _ in chosen]
        self.is_unsafe = any((n, self.base) in UNSAFE for n in self.names)
        self.methods: dict[str, Any] = {"call": 2}
        if choose.random() < 0.7:
            self.methods["__repr__"] = lambda self: "odd"
        self.methods |= {n: method_of(n, answer) for n, answer in chosen}
        self.arguments = BASES[self.base] if choose.random() < 0.5 else ()

    def __str__(self) -> str:
        made = f"{self.base.__name__}{self.arguments}"
        return f"{', '.join(self.names)} of {made}"

    def new_type(self) -> type:
        """Such a class, made anew."""
        return type("Odd", (self.base,), dict(self.methods))

    def made(self, call: int, cls: type) -> Any:
        """An instance of such a class, for one of the calls."""
        made = cls(*self.arguments)
        made.call = call
        return made

    def anew(self, call: int) -> Any:
        """An instance of a class of its own."""
        return self.made(call, self.new_type())


def is_huge(value: Any) -> bool:
    """Whether it takes forever to raise something to its power."""
    return isinstance(value, int) and value > 10**9


def layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    """How it lies in its memory."""
    return tensor.stride(), tensor.storage_offset(), tensor.is_contiguous()


def shares(result: Any, operand: Any) -> Any:
    """Whether a result is an operand, or has the memory of it."""
    if isinstance(result, torch.Tensor) and isinstance(operand, torch.Tensor):
        memory = result.untyped_storage().data_ptr()
        if memory and memory == operand.untyped_storage().data_ptr():
            return "is" if result is operand else "shares"
        return ""
    plain = int | float | complex | str | bytes | frozenset | np.generic
    is_plain = isinstance(result, plain)
    return result is operand and not is_plain


def shown(value: Any) -> str:
    """In words that two runs share."""
    if type(value).__name__ == "Odd":
        return "odd"
    try:
        if isinstance(value, set | frozenset):
            return type(value).__name__ + repr(sorted(map(shown, value)))
        text = repr(value)
        if type(value) is torch.Tensor:
            text += repr((layout(value), value.is_leaf))
        if "iterator" in text or "object at" in text:
            text += repr([*itertools.islice(value, 5)])
    except Exception as error:
        text = repr(error)
    return type(value).__name__ + cleaned(text)


def told_of(call: Callable[..., Any], *operands: Any) -> str:
    """What a call gives, asks, prints and leaves, as text."""
    ASKED.clear()
    torch.default_generator.manual_seed(0)  # manual_seed() is slow
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            made = call(*operands)
            result = shown(made)
            if not isinstance(made, tuple | list):
                made = [made]
            result += repr([shares(m, o) for m in made for o in operands])
        except BaseException as error:
            result = f"raised {error!r}"
    result = result.partition("Exception raised from")[0]
    left = [shown(operand) for operand in operands]
    return repr((result, ASKED, left, cleaned(printed.getvalue())))
