# SPDX-License-Identifier: BSD-3-Clause
"""Variables that are unbound or deleted, and cells that a closure reads."""

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)


def test_unbound_variables_have_no_name():
    def program(x):
        try:
            raise ValueError
        except ValueError as error:
            caught = type(error)
        try:
            error  # noqa: B018, F821
        except UnboundLocalError as unbound:
            return x + 1, unbound.name, str(unbound), caught

    check(program, X, fullgraph=True)


def test_cells_are_read_as_they_are():
    def make():
        k = 1

        def inner():
            return k

        def program(x):
            nonlocal k
            k += 1
            return inner.__closure__[0].cell_contents, k, inner(), x + 1

        return program

    compiled = magneto.compile(make(), backend="eager", fullgraph=True)
    program = make()
    for _ in range(3):
        assert compiled(X)[:3] == program(X)[:3]


def broken_rows(x):
    magneto.graph_break()
    yield x


def deleted_in_a_loop(x):
    for _ in broken_rows(x):
        del missing  # noqa: F821
    missing = 1
    return x + 1, missing


def deleted_in_finally(x):
    y = x + 1
    try:
        try:
            open("/no such file")  # noqa: SIM115
        finally:
            del missing  # noqa: F821
    except Exception as error:
        return y, type(error), type(error.__context__)
    missing = 1
    return missing


def deleted_twice(x):
    for _ in broken_rows(x):
        there = 1
        magneto.graph_break()
        del there
        try:
            del there  # noqa: F821
        except UnboundLocalError as error:
            return x + 1, str(error)


@pytest.mark.parametrize(
    "program", [deleted_in_a_loop, deleted_in_finally, deleted_twice]
)
def test_variables_that_are_not_there(program):
    check(program, X)
