# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions that a function catches and keeps: their frames hold the variables
of calls that have ended, and their callers' frames, until they die.
"""
# ruff: noqa: F841 - what a variable holds dies, read or not

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch

import magneto
from tests.fuzz.world.lifetimes import LOG, Failure, Plain, say, watched
from tests.fuzz.world.lifetimes import Noisy as Dies


def in_one_piece(x, kept, given):
    try:
        raise Failure(1)
    except Failure as error:
        kept.append(error)
    return x + 1


def behind_a_break(x, kept, given):
    a = Dies("a")
    try:
        raise Failure(a)
    except Failure as error:
        kept.append(error)
    say("caught")
    return x + 1


def variable_that_changes(x, kept, given):
    a = Dies("a")
    try:
        raise Failure(1)
    except Failure as error:
        kept.append(error)
    b = Dies("b")
    say("caught")
    a = Dies("another a")
    say("changed")
    return x + 1


def raised_in_plain_python(x, kept, given):
    a = Dies("a")
    try:
        given.raising()
    except Failure as error:
        kept.append(error)
    b = [watched("b")]
    x = x + 1
    say("caught")
    return x + 1


def in_an_inlined_call(x, kept, given):
    def inner(x, a):
        b = Dies("b")
        try:
            raise Failure(1)
        except Failure as error:
            kept.append(error)
        return x + 1

    a = Dies("a")
    x = inner(x, Dies("argument"))
    c = Dies("c")
    x = x * 2
    return x + 1


def inlined_call_without_a_break(x, kept, given):
    def inner(x):
        try:
            raise Failure(1)
        except Failure as error:
            kept.append(error)
        return x + 1

    held = given.held
    return inner(x)


def inlined_call_with_a_break(x, kept, given):
    def inner(x):
        a = Dies("inner")
        try:
            raise Failure(1)
        except Failure as error:
            magneto.graph_break()
            kept.append(error)
        magneto.graph_break()
        return x + 1

    a = Dies("a")
    x = inner(x)
    say("called")
    return x


def two_calls_deep(x, kept, given):
    def innermost(x):
        a = Dies("innermost")
        try:
            raise Failure(2)
        except Failure as error:
            kept.append(error)
        return x

    def inner(x):
        a = Dies("inner")
        x = innermost(x + 1)
        b = Dies("behind it")
        return x * 2

    a = Dies("a")
    x = inner(x)
    return x


def twice(x, kept, given):
    for i in range(2):
        a = Dies(i)
        try:
            raise Failure(i)
        except Failure as error:
            kept.append(error)
        magneto.graph_break()
    return x + 1


def raised_by_a_call_that_ended(x, kept, given):
    def inner(x, a):
        raise Failure(x.shape[0])

    a = watched("a")
    try:
        inner(x, Dies("argument"))
    except Failure as error:
        kept.append(error)
    a = Dies("later")
    return x + 1


def let_go_of_again(x, kept, given):
    a = Dies("a")
    try:
        raise Failure(1)
    except Failure as error:
        kept.append(error)
    kept.clear()
    say("cleared")
    a = None
    say("end")
    return x


def kept_beside_its_context(x, kept, given):
    a = Dies("a")
    try:
        raise Failure(1)
    except Failure as error:
        try:
            raise Failure(2)
        except Failure as other:
            kept.append(other)
        b = Dies("b")
    say("caught")
    return x


def closure(x, kept, given):
    a = Dies("cell")

    def inner(x):
        nonlocal a
        try:
            raise Failure(1)
        except Failure as error:
            kept.append(error)
        a = Dies("another cell")
        return x

    return inner(x + 1)


def loop_in_plain_python(x, kept, given):
    a = Dies("a")
    try:
        raise Failure(1)
    except Failure as error:
        kept.append(error)
    for item in given.items():
        b = Dies("b")
        x = x + item
    return x


class Given:
    """What the programs are given."""

    def __init__(self) -> None:
        self.held = Plain(Dies("given"))

    @magneto.disable
    def raising(self) -> None:
        """Has a variable of its own."""
        a = Dies("raising")
        raise Failure("raised")

    @magneto.disable
    def items(self) -> Any:
        """Something to iterate over."""
        return iter([1, 2])


def outcome(call: Any) -> list[Any]:
    """What is noted by a call, and when what it has kept is let go of."""
    LOG.clear()
    gc.disable()
    kept: list[Any] = []
    given = Given()
    result = call(torch.ones(2), kept, given)
    say("returned")
    given.held = None
    kept.clear()
    say("let go")
    seen = [*LOG, result.tolist()]
    del given
    gc.enable()
    gc.collect()
    LOG.clear()
    return seen


PROGRAMS = [
    in_one_piece,
    behind_a_break,
    variable_that_changes,
    raised_in_plain_python,
    in_an_inlined_call,
    inlined_call_without_a_break,
    inlined_call_with_a_break,
    two_calls_deep,
    twice,
    raised_by_a_call_that_ended,
    let_go_of_again,
    kept_beside_its_context,
    closure,
    loop_in_plain_python,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_variables_live_as_long_as_the_exception(no_frame_hook, program):
    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert outcome(compiled) == outcome(program)


# -- what its frames tell


def frames_of(kept: list[Any]) -> list[Any]:
    """Of each exception: the frames of its traceback, and their callers'."""
    seen = []
    for error in kept:
        entry = error.__traceback__
        while entry:
            frame = entry.tb_frame
            numbers = {
                name: value
                for name, value in frame.f_locals.items()
                if isinstance(value, (int, str, torch.Tensor))
            }
            callers = []
            while frame and frame.f_code.co_name != "told":
                callers.append((frame.f_code.co_name, frame.f_lineno))
                frame = frame.f_back
            seen.append((entry.tb_lineno, callers, repr(numbers)))
            entry = entry.tb_next
    return seen


def numbers_in_one_piece(x, kept):
    a = 1
    try:
        raise Failure(a)
    except Failure as error:
        kept.append(error)
    a, b = 2, x + 1
    return b


def numbers_of_a_caller(x, kept):
    def inner(x, n):
        m = n + 1
        try:
            raise Failure(n)
        except Failure as error:
            kept.append(error)
        m += 1
        return x

    a = 1
    b = inner(x, 5)
    a += 1
    return b


def numbers_behind_a_break(x, kept):
    def inner(x, n):
        try:
            raise Failure(n)
        except Failure as error:
            magneto.graph_break()
            kept.append(error)
        return x + n  # what nobody reads again isn't kept behind a break

    b = inner(x, 5)
    magneto.graph_break()
    return b


@pytest.mark.parametrize(
    "program",
    [numbers_in_one_piece, numbers_of_a_caller, numbers_behind_a_break],
    ids=lambda p: p.__name__,
)
def test_frames_of_calls_that_have_ended(no_frame_hook, program):
    def told(call):
        kept = []
        call(torch.ones(2), kept)
        return frames_of(kept)

    compiled = magneto.compile(program, backend="eager")
    expected = told(program)
    for _ in range(3):
        assert told(compiled) == expected


def test_one_frame_for_each_call(no_frame_hook):
    def program(x, kept):
        for i in range(3):
            try:
                raise Failure(i)
            except Failure as error:
                kept.append(error)
            magneto.graph_break()
        try:
            raise Failure(3)
        except Failure as error:
            kept.append(error)
        return x + 1

    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        kept = []
        compiled(torch.ones(2), kept)
        frames = {id(error.__traceback__.tb_frame) for error in kept}
        assert (len(kept), len(frames)) == (4, 1)
