# SPDX-License-Identifier: BSD-3-Clause
"""Functions that read a frame's variables by name, behind a graph break: all of
them are there, whether the program reads them again or not.
"""
# ruff: noqa: F841 - read by name

import inspect
import sys

import pytest
import torch

from magneto.testing import check
from support.breaking import Context, breaks


def by_locals(x):
    unread = 5
    with Context():
        found = locals()
    return x + 1, sorted(found), found["unread"]


def by_vars_and_dir(x):
    unread = 5

    def later():
        return unread

    breaks()
    return x + 1, sorted(set(vars()) - {"later"}), sorted(dir())


def by_eval(x):
    unread = 5
    with Context():
        return x + eval("unread + 1")


def by_format(x):
    unread = 5
    breaks()
    return x + 1, "{unread}".format(**locals())


def by_its_frame(x):
    unread = 5
    with Context():
        frame = sys._getframe()
        return x + 1, sorted(set(frame.f_locals) - {"frame"}), unread


def by_the_current_frame(x):
    unread = 5
    with Context():
        return x + 1, inspect.currentframe().f_locals["unread"]


def by_an_inner_function(x):
    unread = 5

    def names():
        return sorted(sys._getframe(1).f_locals)

    breaks()
    return x + 1, names()


def by_a_traceback(x):
    unread = 5
    breaks()
    try:
        raise ValueError
    except ValueError as error:
        return x + 1, error.__traceback__.tb_frame.f_locals["unread"]


def by_a_comprehension(x):
    unread = 5
    breaks()
    return x + 1, [sys._getframe(1).f_locals["unread"] for _ in range(2)]


PROGRAMS = [
    by_locals,
    by_vars_and_dir,
    by_eval,
    by_format,
    by_its_frame,
    by_the_current_frame,
    by_an_inner_function,
    by_a_traceback,
    by_a_comprehension,
]


@pytest.mark.parametrize("inlined", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_variables(program, inlined):
    compiled = (lambda x: program(x)) if inlined else program
    check(compiled, torch.ones(2), calls=2)
