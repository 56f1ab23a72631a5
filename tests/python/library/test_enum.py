# SPDX-License-Identifier: BSD-3-Clause
"""enum.IntFlag: members that are inverted while tracing, with each boundary."""

import enum

import pytest
import torch

import magneto

X = torch.arange(4.0)


@pytest.mark.parametrize("boundary", enum.FlagBoundary)
def test_flags_that_nobody_has_inverted(boundary):
    class Flags(enum.IntFlag, boundary=boundary):
        READ = 1
        WRITE = 8

    def program(x, flag):
        return x + 1, ~flag, ~~flag, ~(flag | Flags.WRITE)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for flag in (Flags.READ, Flags.READ | Flags.WRITE):
        got = compiled(X, flag)
        expected = program(X, flag)
        assert got[1:] == expected[1:]
        assert [*map(type, got)] == [*map(type, expected)]
