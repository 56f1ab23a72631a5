# SPDX-License-Identifier: BSD-3-Clause
"""The buffer protocol: objects of C that expose their memory, where Python
takes bytes.
"""

from __future__ import annotations

import array
import ctypes
import mmap
import os
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import magneto
from magneto.testing import check


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int16)]  # noqa: RUF012


class Bare(ctypes.Structure):
    """Has neither fields nor the methods of a sequence."""


def bare() -> Bare:
    made = Bare()
    ctypes.resize(made, 2)
    memoryview(made).cast("B")[:] = b"12"
    return made


def mapped() -> mmap.mmap:
    made = mmap.mmap(-1, 2)
    made[:] = b"12"
    return made


OBJECTS: dict[str, Callable[[], Any]] = {
    "structure": lambda: Structure(12849),
    "bare": bare,
    "characters": lambda: (ctypes.c_char * 2)(*b"12"),
    "numbers": lambda: (ctypes.c_uint8 * 2)(49, 50),
    "array": lambda: array.array("b", b"12"),
    "bytearray": lambda: bytearray(b"12"),
    "memoryview": lambda: memoryview(b"12"),
    "numpy": lambda: np.array([49, 50], dtype=np.uint8),
    "mmap": mapped,
    "pickle": lambda: pickle.PickleBuffer(b"12"),
}


def assigned(memory: Any) -> bytes:
    target = bytearray(b"0000")
    target[1:3] = memory
    return bytes(target)


def extended(memory: Any) -> bytearray:
    target = bytearray(b"0")
    target.extend(memory)
    return target


USES: dict[str, Callable[[Any], Any]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "int": int,
    "int with a base": lambda m: int(m, 16),
    "float": float,
    "complex": complex,
    "str": lambda m: str(m, "ascii"),
    "join": lambda m: b"-".join([m, m]),
    "right of +": lambda m: b"a" + m,
    "right of + with a bytearray": lambda m: bytearray(b"a") + m,
    "+=": lambda m: bytearray(b"0").__iadd__(m),
    "in": lambda m: m in b"0123",
    "find": lambda m: b"0123".find(m),
    "startswith": lambda m: b"123".startswith(m),
    "removeprefix": lambda m: b"123".removeprefix(m),
    "replace": lambda m: b"0123".replace(m, b"x"),
    "split": lambda m: b"0123".split(m),
    "partition": lambda m: b"0123".partition(m)[::2],
    "strip": lambda m: b"12321".strip(m),
    "translate": lambda m: b"1".translate(None, m),
    "maketrans": lambda m: bytes.maketrans(m, m)[49:51],
    "%": lambda m: b"%b" % m,
    "% with a tuple": lambda m: b"%b" % (m,),
    "from_bytes": lambda m: int.from_bytes(m, "little"),
    "memoryview": lambda m: bytes(memoryview(m)),
    "unpack": lambda m: struct.unpack("h", m),
    "==": lambda m: m == b"12",
    "== on the right": lambda m: b"12" == m,  # noqa: SIM300
    "*": lambda m: m * 2,
    "len": len,
    "list": list,
    "eval": eval,
    "assign": assigned,
    "extend": extended,
    "hash": lambda m: hash(m) == hash(b"12"),
    "a key": lambda m: {b"12": 1}.get(m),
}


@pytest.mark.feature("B3")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", OBJECTS)
def test_memory_where_bytes_are_taken(name: str, use: str) -> None:
    make, take = OBJECTS[name], USES[use]

    def outcome(memory):
        try:
            result = take(memory)
        except Exception as error:
            return type(error), str(error)
        return type(result), repr(result)

    def given(x, memory):
        return x + 1, outcome(memory)

    def made(x):
        return x + 1, outcome(make())

    for program, inputs in ((given, (make(),)), (made, ())):
        compiled = magneto.compile(program, backend="eager")
        expected = program(torch.ones(2), *inputs)[1]
        for _ in range(2):
            assert compiled(torch.ones(2), *inputs)[1] == expected


class Index:
    def __init__(self, number: Any) -> None:
        self.number = number

    def __index__(self) -> Any:
        if isinstance(self.number, Exception):
            raise self.number
        return self.number


@pytest.mark.feature("B3")
@pytest.mark.parametrize(
    "number",
    [49, 50, 300, -1, 1 << 70, "no number", ValueError("none")],
    ids=str,
)
def test_numbers_in_bytes(number: Any) -> None:
    def program(x):
        found = []
        for bytes_ in (b"1x", bytearray(b"x1")):
            try:
                found.append(Index(number) in bytes_)
            except (TypeError, ValueError) as error:
                found.append((type(error), str(error)))
        return x + 1, found

    check(program, torch.ones(2))


@pytest.mark.feature("B3")
def test_fields_that_are_no_items() -> None:
    status = os.stat(__file__)

    def given(x, status):
        return (
            x + 1,
            hasattr(status, "st_blksize"),
            getattr(status, "st_mtime_ns", None),
            getattr(status, "st_size", None),
            getattr(status, "no_field", None),
        )

    def asked(x):
        return given(x, os.stat(__file__))

    check(given, torch.ones(2), status)
    check(asked, torch.ones(2))
