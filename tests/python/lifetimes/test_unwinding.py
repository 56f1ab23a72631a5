# SPDX-License-Identifier: BSD-3-Clause
"""What the frames that an exception has left hold lives as long as its
traceback, also what they got on the way out, and behind graph breaks; and it
dies in CPython's order.
"""

from __future__ import annotations

import traceback
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check

LOG: list[Any] = []
X = torch.ones(2)


class Noisy:
    def __del__(self):
        LOG.append("died")


def note_mode():
    LOG.append(torch.is_inference_mode_enabled())


def enter_mode():
    mode = torch.inference_mode()
    mode.__enter__()
    return mode


def made_on_the_way_out(x):
    try:
        raise KeyError
    finally:
        held = Noisy()  # noqa: F841 - it dies
        LOG.append("finally")
        x = x + 1


def made_in_a_call(x):
    x = x + 1
    made_on_the_way_out(x)


def put_into_a_list(x):
    held = []
    try:
        raise KeyError
    finally:
        held.append(Noisy())
        LOG.append("finally")
        x = x + 1


def entered_on_the_way_out(x):
    x = x + 1
    try:
        raise KeyError
    finally:
        cast = torch.autocast("cpu", dtype=torch.float16)
        cast.__enter__()
        mode = enter_mode()  # noqa: F841 - it ends when it dies
        cast.__exit__(None, None, None)


def entered_in_a_call(x):
    x = x + 1
    entered_on_the_way_out(x)


@torch.autocast("cpu")
def raises_in_a_mode(x):
    mode = enter_mode()  # noqa: F841 - it ends when it dies
    x = x + 1
    raise KeyError


def decorated(x):
    raises_in_a_mode(x)


def breaks_in_the_handler(x):
    try:
        raises_in_a_mode(x)
    except KeyError as error:
        note_mode()
        magneto.graph_break()
        note_mode()
        entry = error.__traceback__
        while entry.tb_next:
            entry = entry.tb_next
        LOG.append(sorted(entry.tb_frame.f_locals))
        del entry
    note_mode()


def kept_behind_a_break(x):
    kept = None
    try:
        raises_in_a_mode(x)
    except KeyError as error:
        kept = error
    note_mode()
    magneto.graph_break()
    note_mode()
    kept = None
    note_mode()
    return kept


def cleared_on_the_way_out(x):
    try:
        raise KeyError
    except KeyError as error:
        traceback.clear_frames(error.__traceback__)
        held = Noisy()  # noqa: F841 - it dies
        x = x + 1
        raise


def left_generator(x):
    try:
        yield x
    finally:
        LOG.append("closed")


def raises_within_a_loop(x):
    for y in left_generator(x):
        x = x + y
        raise KeyError


def generator_in_a_handler(x):
    try:
        raises_within_a_loop(x)
    except KeyError:
        LOG.append("handler")
        magneto.graph_break()
        LOG.append("behind")
    LOG.append("after")


PROGRAMS = [
    made_on_the_way_out,
    made_in_a_call,
    put_into_a_list,
    entered_on_the_way_out,
    entered_in_a_call,
    decorated,
    breaks_in_the_handler,
    kept_behind_a_break,
    cleared_on_the_way_out,
    raises_within_a_loop,
    generator_in_a_handler,
]


def outcome(call):
    LOG.clear()
    try:
        call(X)
    except KeyError as error:
        LOG.append(f"caught {type(error).__name__}")
        note_mode()
    note_mode()
    # The end of an inference mode puts back what autocast was at its begin.
    LOG.append(torch.is_autocast_enabled("cpu"))
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    return list(LOG)


@pytest.mark.parametrize("program", PROGRAMS)
def test_lives_as_long_as_the_traceback(program):
    expected = outcome(program)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert outcome(compiled) == expected


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
