# SPDX-License-Identifier: BSD-3-Clause
"""Tracing cost of contexts: entering and leaving one of torch's contexts does
not cost more in a larger graph.
"""

import time

import pytest
import torch

import magneto

CONTEXTS = {
    "autocast": lambda: torch.autocast("cpu"),
    "inference_mode": lambda: torch.inference_mode(False),
}


def contexts_first(x, context):
    for _ in range(10_000):
        with context():
            pass
    for _ in range(50_000):
        x = x + 1
    return x


def contexts_last(x, context):
    for _ in range(50_000):
        x = x + 1
    for _ in range(10_000):
        with context():
            pass
    return x


def seconds_to_compile(program, context):
    """Without a run of the graph, of which only the result's kind matters."""
    x = torch.zeros(1)
    compiled = magneto.compile(
        program, backend=lambda graph, inputs: lambda *args: [x]
    )
    begin = time.perf_counter()
    compiled(x, context)
    return time.perf_counter() - begin


@pytest.mark.parametrize("context", CONTEXTS)
def test_contexts_behind_many_calls(context):
    context = CONTEXTS[context]
    seconds_to_compile(contexts_first, context)  # what is done once
    first, last = (
        min(seconds_to_compile(program, context) for _ in range(3))
        for program in (contexts_first, contexts_last)
    )
    assert last < 1.5 * first + 0.1
