# SPDX-License-Identifier: BSD-3-Clause
"""What the frames that an exception has left hold lives as long as its
traceback: also what they got on the way out, and behind graph breaks.
"""

from __future__ import annotations

import traceback
from typing import Any

import pytest
import torch

import magneto

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
