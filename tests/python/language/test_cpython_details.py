# SPDX-License-Identifier: BSD-3-Clause
"""Details of CPython that programs can see: regular expressions, sequences and
bases of classes that answer for themselves, and keys that change.
"""

import array
import collections
import inspect
import math
import re
import sys
import types

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)


def failing_pattern(x):
    try:
        re.compile("(")
    except re.error as error:
        caught = error
    y = x + 1
    magneto.graph_break()
    # The traceback of what is computed while tracing ends at the program.
    return caught.args, vars(caught), y


def pattern_that_prints(x):
    return re.compile("(?>a)b", re.DEBUG).pattern, x + 1


def bound_methods_of_c_classes(x):
    numbers = array.array("i", [1])
    extend, match = numbers.extend, re.compile("a").match
    magneto.graph_break()
    extend(array.array("i", [3]))
    return numbers.tolist(), match("ab") is not None, x + 1


class Sequence:
    def __len__(self):
        print("asked for the length")
        return 5

    def __getitem__(self, position):
        return position


def reversed_sequence(x):
    backwards = reversed(Sequence())
    first = next(backwards)
    magneto.graph_break()
    return first, next(backwards), x + 1


class Convertible:
    is_converted = False

    def __float__(self):
        self.is_converted = True
        raise ZeroDivisionError


def numbers_are_asked_for_in_order(x):
    told = []
    for function in (math.atan2, math.copysign, math.remainder, math.hypot):
        given = Convertible()
        try:
            function("no number", given)
        except (TypeError, ZeroDivisionError) as error:
            told.append((repr(error), given.is_converted))
    return told, x + 1


def wrong_numbers_of_arguments(x):
    def optional(a=1):
        pass

    def mixed(a, /, b, *, c=1, d=2):
        pass

    told = []
    for args, keywords in (
        ((1, 2, 3), {}),
        ((1, 2, 3), {"c": 4}),
        ((1, 2, 3), {"c": 4, "d": 5}),
    ):
        for function in (optional, mixed):
            try:
                function(*args, **keywords)
            except TypeError as error:
                told.append(str(error))
    try:
        (lambda *, c: None)(1, c=2)
    except TypeError as error:
        told.append(str(error))
    return told, x + 1


def classes_nested_without_end(x):
    told = []
    for ask, what in ((isinstance, ""), (issubclass, str)):
        classes = (int,)
        try:
            for _ in range(sys.getrecursionlimit() + 5):
                classes = (classes,)
                ask(what, classes)
        except RecursionError as error:
            told.append(str(error))
    return told, x + 1


class EndlessBases:
    def __getattr__(self, name):
        return self, None


def bases_without_end(x):
    told = []
    for candidate in (EndlessBases(), 3):
        try:
            told.append(issubclass(candidate, int))
        except (RecursionError, TypeError) as error:
            told.append(type(error))
    return told, x + 1


class Changing:
    value = 1

    def __hash__(self):
        return self.value


def changed_keys():
    table = collections.OrderedDict()
    key = Changing()
    table[key] = 1
    key.value = 2
    return table


CHANGED = changed_keys()


def keys_whose_hash_has_changed(x):
    told = []
    for table in (changed_keys(), CHANGED):
        try:
            told.append(list(table.items()))
        except (KeyError, RuntimeError) as error:
            told.append(type(error))
    return told, x + 1


def globals_of_functions(x):
    def inner():
        pass

    found = globals()
    return (
        inner.__globals__ is found,
        changed_keys.__globals__ is found,
        inspect.signature.__globals__ is found,
        x + 1,
    )


def annotations_made_when_read(x):
    class Bare:
        pass

    module = types.ModuleType("bare")
    return [
        ("__annotations__" in vars(each), each.__annotations__)
        + ("__annotations__" in vars(each),)
        for each in (Bare, module)
    ], x + 1


PROGRAMS = [
    failing_pattern,
    pattern_that_prints,
    bound_methods_of_c_classes,
    reversed_sequence,
    numbers_are_asked_for_in_order,
    wrong_numbers_of_arguments,
    classes_nested_without_end,
    bases_without_end,
    keys_whose_hash_has_changed,
    globals_of_functions,
    annotations_made_when_read,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_plain_python(program):
    check_calls(program, [((X,), {})] * 2)
