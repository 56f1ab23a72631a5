# SPDX-License-Identifier: BSD-3-Clause
"""TorchFunctionMode and TorchDispatchMode: a program's modes see its
operations, and nothing of a trace.
"""

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import magneto
from magneto.testing import check

X = torch.arange(16.0).reshape(4, 4) / 7


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        print(function.__name__)
        return function(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        print(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Functions, Operators])
def test_modes_around_the_call(mode, capsys):
    def program(x):
        return torch.ones(4) + x

    compiled = magneto.compile(program, backend="eager")
    compiled(X)
    seen = []
    for call in (program, compiled, compiled):
        capsys.readouterr()
        with mode():
            call(X)
        seen.append(capsys.readouterr().out.split())
    assert seen[0]
    assert seen[0] == seen[1] == seen[2]
    report = magneto.explain(program)
    with mode():
        found = report(X)
    assert [skip.reason for skip in found.skips] == ["torch-mode"]


@pytest.mark.parametrize("mode", [Functions, Operators])
def test_modes_that_the_function_enters(mode):
    def program(x):
        y = x * 2
        with mode():
            z = torch.ones(4) + y
        return z, y + 1

    check(program, X, calls=3)
