# SPDX-License-Identifier: BSD-3-Clause
"""Methods of builtin objects, special ones too, called by name with arguments
that fit and with those that do not: results, and errors with CPython's
messages.
"""

import bisect
import collections
import contextlib
import contextvars
import functools
import heapq
import math
import operator
import re
import types
import typing

import pytest
import torch

import magneto
from support.expressions import telling


def function(*args):
    return args


Pair = collections.namedtuple("Pair", "first second")


class OwnList(list):
    """Is named in the errors of its methods."""


class OwnText(str):
    """Its iterator is not that of plain ones."""


class OwnError(ValueError):
    """Is named by the errors of its construction."""


VARIABLE = contextvars.ContextVar("VARIABLE")

MAKERS = {
    "int": lambda: 3,
    "bool": lambda: True,
    "str": lambda: "ab",
    "float": lambda: 1.5,
    "bytes": lambda: b"ab",
    "list": lambda: [1, 2],
    "tuple": lambda: (1, 2),
    "dict": lambda: {"a": 1},
    "set": lambda: {1, 2},
    "range": lambda: range(3),
    "deque": lambda: collections.deque([1]),
    "OrderedDict": lambda: collections.OrderedDict(a=1),
    "frozenset": lambda: frozenset([1]),
    "defaultdict": lambda: collections.defaultdict(list, a=[]),
    "partial": lambda: functools.partial(function, 1),
    "exception": lambda: ValueError("a"),
    "list_iterator": lambda: iter([1]),
    "dict_keyiterator": lambda: iter({"a": 1}),
    "namedtuple": lambda: Pair(1, 2),
    "Size": lambda: torch.Size([1, 2]),
    "dtype": lambda: torch.float32,
    "list of a derived class": lambda: OwnList([1, 2]),
    "str of a derived class": lambda: OwnText("ab"),
    "exception of a derived class": lambda: OwnError("a", 1),
    "method of a list": lambda: OwnList([1]).append,
    "None": lambda: None,
    "module": torch.nn.Identity,
    "ModuleList": lambda: torch.nn.ModuleList([torch.nn.Identity()]),
    "Union": lambda: int | str,
    "typing.Union": lambda: typing.Union[int, str],
    "ContextVar": lambda: VARIABLE,
    "classmethod": lambda: classmethod(len),
    "Pattern": lambda: re.compile("(a)(?P<n>b)?"),
}
ARGUMENTS = ["", "None", "0, 1", "[]", "key=1", "(1, 2)"]
# What is about the process, or about the object as a whole.
LEFT_OUT = {
    "__class__",
    "__dir__",
    "__getstate__",
    "__hash__",
    "__init_subclass__",
    "__reduce__",
    "__reduce_ex__",
    "__sizeof__",
    "__subclasshook__",
}


def names_of(value):
    return [
        name
        for name in dir(value)
        if name not in LEFT_OUT and callable(getattr(value, name))
    ]


def calling(name, args, is_bound):
    """A program that calls it: as a method, or as the object that it is."""
    called = "found" if is_bound else f"value.{name}"
    return telling(
        f"{called}({args})",
        {},
        first=f"found = value.{name}",
        also=", shown(value)",
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_called_by_name(kind):
    make = MAKERS[kind]
    differ = []
    for name in names_of(make()):
        for args in ARGUMENTS:
            for is_bound in (False, True):
                magneto.reset()
                program = calling(name, args, is_bound)
                compiled = magneto.compile(program, backend="eager")
                expected = program(torch.ones(1), make())[1:]
                found = compiled(torch.ones(1), make())[1:]
                if found != expected:
                    differ.append((name, args, expected, found))
    assert not differ


def first_of(value):
    return value


class HasAll:
    """Any attribute, a tuple."""

    def __getattr__(self, name):
        return name, name


KNOWN = {
    "bisect": bisect,
    "collections": collections,
    "contextlib": contextlib,
    "first_of": first_of,
    "functools": functools,
    "heapq": heapq,
    "math": math,
    "operator": operator,
    "HasAll": HasAll,
    "Pair": Pair,
    "torch": torch,
    "types": types,
}

# What needs an argument by position doesn't take a keyword for it, and what
# several things are wrong with says the first one.
WRONG_CALLS = [
    "functools.partial(key=1)",
    "functools.partial(first_of, value=1)()",
    "functools.cmp_to_key(mycmp=first_of)",
    "functools.singledispatch(first_of)(key=1)",
    "functools.partial(first_of).__setstate__(key=1)",
    "operator.call(key=1)",
    "operator.call(first_of, value=1)",
    "operator.methodcaller(key=1)",
    "sorted(key=len)",
    "sorted([2, 1], key=abs)",
    "min(key=len)",
    "max(default=1)",
    "max([], default=1)",
    "sum(start=1)",
    "sum([1], start=1)",
    "math.prod(start=1)",
    "math.prod([2], start=3)",
    "bisect.insort(0, 1)",
    "type([1], key=abs)",
    "collections.defaultdict(1, 2, 3)",
    "collections.defaultdict(list, {}, 3)",
    "collections.defaultdict(list, {}, 3, 4)",
    "heapq.heapify(None)",
    "contextlib.AbstractContextManager(1)",
    "contextlib.AbstractContextManager()",
    "collections.OrderedDict(a=1).pop((1, 2))",
    "collections.OrderedDict(a=1).move_to_end(None)",
    "collections.OrderedDict(a=1).move_to_end(Pair(1, 2))",
    "collections.OrderedDict(a=1).pop(())",
    "collections.defaultdict.fromkeys(key=1)",
    "SystemError(key=1)",
    "EncodingWarning(1, key=1)",
    "getattr(None, '__bool__')",
    "[None.__eq__, None.__dir__]",
    "tuple.__repr__(torch.Size([1, 2]))",
    "super(torch.Size, torch.Size([1])).__repr__()",
    "dict.__repr__(collections.OrderedDict(a=1))",
    "isinstance(1, HasAll())",
    "issubclass(int, HasAll())",
    "types.MappingProxyType({'a': 1}) < types.MappingProxyType({})",
    "types.MappingProxyType({'a': 1}) >= {}",
    "{} <= types.MappingProxyType({'a': 1})",
    "types.MappingProxyType({'a': 1}) == {'a': 1}",
    "types.MappingProxyType({'a': 1}) | types.MappingProxyType({'b': 2})",
    "types.MappingProxyType({'a': 1}) | {'b': 2}",
    "{'a': 1} | types.MappingProxyType({'b': 2})",
    "types.MappingProxyType({'a': 1}) | [1]",
    "operator.ior(types.MappingProxyType({'a': 1}), {'b': 2})",
]


@pytest.mark.parametrize("text", WRONG_CALLS)
def test_called_with_what_is_wrong(text):
    program = telling(text, KNOWN)
    compiled = magneto.compile(program, backend="eager")
    assert compiled(torch.ones(1))[1] == program(torch.ones(1))[1]
