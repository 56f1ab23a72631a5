# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of a call through C code (an instance with a __call__, a
module, a partial) live to the call's end, whatever the callee drops.
"""

import functools

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support.generators import numbers

X = torch.arange(4.0)


def lets_go(notes, held):
    del held
    notes.append("in")


class Letting(torch.nn.Module):
    def forward(self, notes, held):
        lets_go(notes, held)
        notes.append("forward")


class Called:
    def __call__(self, notes, held):
        del held
        notes.append("in")

    def method(self, notes, held):
        del held
        notes.append("in")


def begun(notes):
    made = numbers(notes)
    next(made)
    return made


def given_away(call):
    """Whether the operands of the call outlive the callee's variables."""

    def program(x, notes):
        call(notes)
        notes.append("out")
        return x + 1

    return program


GIVEN = {
    "function": lambda notes: lets_go(notes, begun(notes)),
    "function's arguments": lambda notes: lets_go(*(notes, begun(notes))),
    "method": lambda notes: Called().method(notes, begun(notes)),
    "instance": lambda notes: Called()(notes, begun(notes)),
    "keyword": lambda notes: Called()(notes, held=begun(notes)),
    "module": lambda notes, module=Letting(): module(notes, begun(notes)),
    "partial": lambda notes: functools.partial(lets_go, notes)(begun(notes)),
    "in partial": lambda notes: functools.partial(
        lets_go, notes, begun(notes)
    )(),
}


@pytest.mark.parametrize("call", GIVEN.values(), ids=GIVEN)
def test_operands_that_c_code_holds_outlive_the_variables(call, no_frame_hook):
    check_calls(given_away(call), [((X, []), {})] * 2)


def lets_go_behind(notes, held):
    magneto.graph_break()
    del held
    notes.append("in")


def lets_go_before(notes, held):
    del held
    magneto.graph_break()
    notes.append("in")


class Dying:
    def __init__(self, notes):
        self.notes = notes

    def __del__(self):
        self.notes.append("dies")


class InForward(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, notes, held):
        self.function(notes, held)


def forwards_by_itself(module, notes, held):
    del held
    magneto.graph_break()
    notes.append("in")


WAYS = {
    "function": lambda function: function,
    "instance": lambda function: type(
        "C", (), {"__call__": staticmethod(function)}
    )(),
    "module": InForward,
    "forward": lambda _: type(
        "M", (InForward,), {"forward": forwards_by_itself}
    )(_),
    "partial": functools.partial,
}


@pytest.mark.parametrize("make", [begun, Dying])
@pytest.mark.parametrize("function", [lets_go_before, lets_go_behind])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_operands_that_c_code_holds_over_a_break(
    way, function, make, no_frame_hook
):
    called = way(function)

    def program(x, notes):
        called(notes, make(notes))
        notes.append("out")
        return x + 1

    check_calls(program, [((X, []), {})] * 3)
