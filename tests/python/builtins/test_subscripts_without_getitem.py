# SPDX-License-Identifier: BSD-3-Clause
"""Subscripts of what has no items: Python calls the key's __index__ before it
raises.
"""

import types

import pytest
import torch

import magneto
from support.compiled_calls import moved


class Key:
    """Stands for a position, and notes that it was asked."""

    def __init__(self, position, notes):
        self.position = position
        self.notes = notes

    def __index__(self):
        self.notes.append("asked")
        if self.position is None:
            raise ValueError("no position")
        return self.position

    def __repr__(self):
        return "key"


class Plain:
    pass


class Deleting:
    """Whose C function stands for writes, too."""

    def __delitem__(self, key):
        raise LookupError(key)


class Pair(tuple):
    pass


CONTAINERS = {
    "instance": Plain,
    "of a class that deletes": Deleting,
    "tuple": lambda: (1, 2),
    "derived from tuple": lambda: Pair((1, 2)),
    "str": lambda: "ab",
    "bytes": lambda: b"ab",
    "range": lambda: range(3),
    "set": lambda: {1},
    "view": lambda: {1: 2}.items(),
    "proxy": lambda: types.MappingProxyType({1: 2}),
    "size": lambda: torch.Size([1, 2]),
    "int": lambda: 3,
    "None": lambda: None,
    "iterator": lambda: iter([1]),
    "class": lambda: Plain,
    "function": lambda: len,
}
KEYS = {
    "a position": lambda notes: Key(1, notes),
    "none": lambda notes: Key(None, notes),
    "too large": lambda notes: Key(10**30, notes),
    "a large int": lambda notes: 10**30,
    "True": lambda notes: True,
    "text": lambda notes: "a",
    "a slice": lambda notes: slice(1),
    "a number": lambda notes: torch.tensor(1),
    "several numbers": lambda notes: torch.ones(2),
}


def write(container, key):
    container[key] = 1


def delete(container, key):
    del container[key]


def read(container, key):
    return str(container[key])


@pytest.mark.parametrize("access", [write, delete, read])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_a_key_is_asked_for_its_position(container, key, access):
    def told(call):
        notes = []
        try:
            result = call(container(), key(notes))
        except Exception as error:
            result = type(error), str(error)
        return result, notes

    compiled = magneto.compile(access, backend="eager")
    for _ in range(2):
        assert told(compiled) == told(access)
    magneto.reset()


def test_a_number_that_varies():
    def program(x, container, n):
        try:
            container[n] = x
        except TypeError as error:
            return x + n, str(error)

    compiled = magneto.compile(program, backend="eager", dynamic=True)

    def check():
        for n in (3, 4, 5):
            x = torch.ones(2)
            y, text = compiled(x, Plain(), n)
            assert y.tolist() == (x + n).tolist()
            assert text == "'Plain' object does not support item assignment"

    assert moved(check) == {"compilations": 1, "graphs": 1}
