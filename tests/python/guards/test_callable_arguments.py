# SPDX-License-Identifier: BSD-3-Clause
"""Callables of one type, of which a function is given one and then another: as
an argument, behind a break, in a list, as an attribute and in a closure.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import itertools
import json
import math
import operator
import re
import string
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import magneto
from support.breaking import breaks

X = torch.ones(2)
TWO: dict[str, tuple[tuple[Any, Any], tuple[Any, ...]]] = {
    "ufuncs": ((np.ceil, np.floor), (1.5,)),
    "ufuncs of ints": ((np.add, np.multiply), (3, 4)),
    "ufuncs of NumPy's": ((np.add, np.multiply), (np.int64(3), np.int64(4))),
    "NumPy's functions": ((np.sum, np.prod), ([1, 2, 3, 4],)),
    "methods of ufuncs": ((np.add.reduce, np.multiply.reduce), ([2, 3],)),
    "NumPy's numbers": ((np.int8, np.float32), (3,)),
    "functions of math": ((math.ceil, math.sqrt), (2.5,)),
    "builtins": ((min, max), (1, 2)),
    "types": ((int, float), (2.5,)),
    "containers": ((list, tuple), ((1, 2),)),
    "methods of str": ((str.upper, str.lower), ("aB",)),
    "methods of texts": (("a".join, "b".join), (["1", "2"],)),
    "formats": (("{}a".format, "{}b".format), (4,)),
    "operators": ((operator.add, operator.sub), (5, 2)),
    "itemgetters": (
        (operator.itemgetter(0), operator.itemgetter(1)),
        ([5, 2],),
    ),
    "attrgetters": (
        (operator.attrgetter("real"), operator.attrgetter("imag")),
        (3 + 4j,),
    ),
    "methodcallers": (
        (operator.methodcaller("upper"), operator.methodcaller("lower")),
        ("aB",),
    ),
    "partials": (
        (functools.partial(int, base=2), functools.partial(int, base=8)),
        ("10",),
    ),
    "caches": (
        (functools.cache(lambda a: a + 1), functools.cache(lambda a: a + 2)),
        (1,),
    ),
    "patterns": ((re.compile("a").sub, re.compile("b").sub), ("x", "ab")),
    "decimals": (
        (decimal.Decimal.exp, decimal.Decimal.sqrt),
        (decimal.Decimal(4),),
    ),
    "classmethods": (
        (datetime.date.fromordinal, datetime.datetime.fromordinal),
        (1000,),
    ),
    "templates": (
        (string.Template("$x").substitute, string.Template("a$x").substitute),
        ({"x": 1},),
    ),
    "structs": ((struct.Struct("b").pack, struct.Struct("h").pack), (4,)),
    "encoders": ((json.dumps, repr), ([1],)),
    "slots": ((int.__add__, int.__mul__), (3, 4)),
    "bound slots": (((3).__add__, (4).__add__), (4,)),
    "items of lists": (([1, 2].__getitem__, [3, 4].__getitem__), (1,)),
    "items of dicts": (({1: 2}.get, {1: 3}.get), (1,)),
    "iterators": ((itertools.chain, itertools.product), ([1], [2])),
    "functions of torch": ((torch.sin, torch.cos), (X,)),
    "methods of tensors": ((torch.Tensor.sin, torch.Tensor.cos), (X,)),
    "methods of a tensor": ((X.add, X.sub), (X,)),
    "overloads": (
        (torch.ops.aten.sin.default, torch.ops.aten.cos.default),
        (X,),
    ),
    "packets of overloads": ((torch.ops.aten.sin, torch.ops.aten.cos), (X,)),
    "functional": ((F.relu, F.gelu), (X,)),
    "modules": ((torch.nn.ReLU(), torch.nn.Tanh()), (X,)),
    "made of functions": (
        (
            np.frompyfunc(lambda a: a + 1, 1, 1),
            np.frompyfunc(lambda a: a + 2, 1, 1),
        ),
        (3,),
    ),
    "vectorized": (
        (np.vectorize(lambda a: a + 1), np.vectorize(lambda a: a + 2)),
        (3,),
    ),
    "keys of comparisons": (
        (
            functools.cmp_to_key(lambda a, b: a - b),
            functools.cmp_to_key(lambda a, b: b - a),
        ),
        (3,),
    ),
    "single dispatch": (
        (
            functools.singledispatch(lambda a: a + 1),
            functools.singledispatch(lambda a: a + 2),
        ),
        (3,),
    ),
}


def as_an_argument(x, function, args):
    return x + 1, function(*args)


def behind_a_break(x, function, args):
    y = x + 1
    breaks()
    return y, function(*args)


def in_a_list(x, functions, args):
    return x + 1, [function(*args) for function in functions]


def as_an_attribute(x, holder, args):
    return x + 1, holder.function(*args)


def in_a_closure(x, function, args):
    def inner(*given):
        return function(*given)

    return x + 1, inner(*args)


PROGRAMS: dict[Callable[..., Any], Callable[[Any], Any]] = {
    as_an_argument: lambda function: function,
    behind_a_break: lambda function: function,
    in_a_list: lambda function: [function],
    as_an_attribute: lambda function: types.SimpleNamespace(function=function),
    in_a_closure: lambda function: function,
}


def shown(result: Any) -> str:
    """What is equal reads the same."""
    if isinstance(result, itertools.chain | itertools.product):
        result = type(result), list(result)
    return re.sub("0x[0-9a-f]+", "", repr(result))


@pytest.mark.feature("D1")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", TWO)
def test_one_and_then_the_other(name, program):
    functions, args = TWO[name]
    magneto.reset()
    compiled = magneto.compile(program, backend="eager")
    for function in (*functions, *functions):
        held = PROGRAMS[program](function)
        expected, found = program(X, held, args), compiled(X, held, args)
        assert shown(found[1]) == shown(expected[1])


@pytest.mark.feature("B6")
def test_whose_a_static_method_is():
    def program(x, function):
        return x + 1, function.__self__

    compiled = magneto.compile(program, backend="eager")
    for function in (torch.sin, len, X.add, str.maketrans, torch.cos):
        assert compiled(X, function)[1] is function.__self__
