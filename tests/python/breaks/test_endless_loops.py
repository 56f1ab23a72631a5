# SPDX-License-Identifier: BSD-3-Clause
"""Loops whose end a trace cannot see: the trace gives up, and plain Python runs
them.
"""

import collections
import threading
import types

import pytest
import torch

import magneto


def operates(x, state):
    while not state.stops:
        x = x * 0.5
    return x * 0 + 1


def waits(x, state):
    x = x + 1
    while not state.stops:
        pass
    return x


@pytest.mark.parametrize("program", [operates, waits])
def test_another_thread_ends_the_loop(program):
    state = types.SimpleNamespace(stops=False)
    compiled = magneto.compile(program, backend="eager")
    timer = threading.Timer(0.2, setattr, (state, "stops", True))
    timer.start()
    result = compiled(torch.ones(2), state)
    timer.join()
    assert torch.equal(result, program(torch.ones(2), state))


def test_an_exception_of_the_graph_ends_the_loop():
    def program(x, notes):
        while True:
            notes.append(len(notes))
            x *= 8
            x > int(x[1] * 4)

    def run(call):
        x, notes = torch.arange(2.0), []
        with pytest.raises(OverflowError) as caught:
            call(x, notes)
        return x.tolist(), notes, str(caught.value)

    assert run(magneto.compile(program, backend="eager")) == run(program)


def test_a_loop_that_copies_more_and_more():
    """What one step copies counts, too: the trace ends soon, and small."""

    def program(x, items):
        assert x.sum() > 9, "small"
        while collections.deque(items, maxlen=2):
            items.append([*items[-3:]])

    compiled = magneto.compile(program, backend="eager")
    with pytest.raises(AssertionError, match="small"):
        compiled(torch.ones(2), [1])
