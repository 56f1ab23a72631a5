# SPDX-License-Identifier: BSD-3-Clause
"""What an exception behind a graph break lets go of dies in CPython's order."""

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.ones(2)


def noting(name):
    try:
        yield from range(3)
    finally:
        print(name)


class Noting:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print(self.name)


def without_gradients():
    with torch.no_grad():
        yield 1


def in_bfloat16():
    with torch.autocast("cpu"):
        yield 1


def raised_behind_the_break(x):
    for i in noting("outer"):
        for j in noting("inner"):
            magneto.graph_break()
            raise KeyError(i, j)


def raised_by_what_breaks(x):
    for i in noting("outer"):
        for _ in noting("inner"):
            magneto.graph_break()
            open(f"/none/{i}")


def caught(x):
    try:
        for i in noting("outer"):
            for j in noting("middle"):
                for k in noting("inner"):
                    magneto.graph_break()
                    raise KeyError(i, j, k)
    except KeyError as error:
        print(error.args)
    return x + 1


def caught_in_between(x):
    for i in noting("outer"):
        try:
            for j in noting("inner"):
                for _ in noting("innermost"):
                    magneto.graph_break()
                    open(f"/none/{i}{j}")
        except OSError:
            print("caught")
    return x + 1


def callee(x):
    first, second = Noting("first"), Noting("second")
    for i in noting("outer"):
        for _ in noting("inner"):
            magneto.graph_break()
            open(f"/none/{i}")
    return first, second


def in_a_call(x):
    kept = Noting("caller's")
    try:
        for _ in noting("around"):
            callee(x)
    except OSError as error:
        error.__traceback__ = None
        print("caught")
    return x + 1, kept.name


def states(x):
    try:
        for _ in without_gradients():
            for _ in in_bfloat16():
                for _ in without_gradients():
                    magneto.graph_break()
                    raise KeyError
    except KeyError:
        pass
    return (
        (x @ x).dtype,
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


def given_to_a_call(x):
    def call(given, y):
        magneto.graph_break()
        print("call")
        return y + 1

    y = call(Noting("given"), x)
    print("back")
    return y


@pytest.mark.parametrize(
    "program",
    [
        given_to_a_call,
        raised_behind_the_break,
        raised_by_what_breaks,
        caught,
        caught_in_between,
        in_a_call,
        states,
    ],
)
def test_order(program):
    check(program, X)
