# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors of each kind: what a direct call of their __get__ gives."""

import functools
import types

import pytest
import torch

import magneto


def function(*args):
    return args


class Class:
    static = staticmethod(function)
    of_class = classmethod(function)


DESCRIPTORS = {
    "function": function,
    "method in C": set.add,
    "slot of all objects": object.__str__,
    "slot": list.__len__,
    "bound method": function.__get__(1),
    "lru_cache": functools.lru_cache(function),
    "staticmethod": Class.__dict__["static"],
    "classmethod": Class.__dict__["of_class"],
    "property": property(function),
    "classmethod in C": dict.__dict__["fromkeys"],
    "computed in C": types.FunctionType.__code__,
    "member in C": types.FunctionType.__closure__,
}
ARGUMENTS = [
    (None,),
    (None, None),
    (1,),
    (1, int),
    (None, int),
    (set(),),
    ([], list),
    (len,),
]


@pytest.mark.parametrize("descriptor", DESCRIPTORS.values(), ids=DESCRIPTORS)
@pytest.mark.parametrize("args", ARGUMENTS, ids=str)
def test_get_of_a_descriptor(descriptor, args):
    def program(x):
        try:
            found = descriptor.__get__(*args)
        except TypeError as error:
            return x + 1, "raised", str(error)
        return x + 1, type(found).__name__, found == descriptor

    magneto.reset()
    compiled = magneto.compile(program, backend="eager")
    expected = program(torch.ones(2))[1:]
    for _ in range(2):
        assert compiled(torch.ones(2))[1:] == expected
