# SPDX-License-Identifier: BSD-3-Clause
"""Tracing cost of sizes: finding out how sizes are related costs time that
grows with their number, not with its square.
"""

import time

import torch

import magneto


def add_all(xs, ys):
    return [x + y for x, y in zip(xs, ys, strict=True)]


def multiply_all(xs, ys):
    return [x.view(-1) * y.view(-1) for x, y in zip(xs, ys, strict=True)]


def seconds_to_compile(program, count):
    """Without a run of the graph, of which only the result's kind matters."""
    x = torch.ones(4, 5)
    compiled = magneto.compile(
        program,
        backend=lambda graph, inputs: lambda *args: [x] * count,
        dynamic=True,
    )
    tensors = [[torch.ones(4, 5) for _ in range(count)] for _ in range(2)]
    begin = time.perf_counter()
    compiled(*tensors)
    return time.perf_counter() - begin


def test_tensors_whose_sizes_are_equal_in_pairs():
    for program in (add_all, multiply_all):
        few, many = (
            min(seconds_to_compile(program, count) for _ in range(3))
            for count in (250, 1000)
        )
        assert many < 8 * few + 0.1, program.__name__
