# SPDX-License-Identifier: BSD-3-Clause
"""Tensor subclasses that compute themselves, beside plain tensors that need
gradients.
"""

from __future__ import annotations

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import magneto


def beside(i, y):
    return i.sin() + y.sin()


def plain_first(i, y):
    z = i.sin() * 2
    return (z * y, z)[0]


def in_a_callee(i, y):
    return sine(i) + y


def sine(i):
    return i.sin()


def in_a_list(i, y):
    return sum(t.sin() for t in [i, y])


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, i, y):
        return self.linear(i) + y


LAYER = Layer()


def of_a_module(i, y):
    return LAYER(i, y)


PROGRAMS = [beside, plain_first, in_a_callee, in_a_list, of_a_module]


def run(function, requires_grad=True):
    torch.manual_seed(0)
    i = torch.ones(3, requires_grad=requires_grad)
    y = TwoTensor(torch.rand(3), torch.rand(3))
    result = function(i, y)
    if not requires_grad:
        return type(result), result.a, result.b
    result.sum().backward()
    return type(result), type(i.grad), i.grad.a, i.grad.b, result.a, result.b


def same(first, second):
    for a, b in zip(first, second, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b)
        else:
            assert a is b


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_training_is_eagers(program, backend):
    compiled = magneto.compile(program, backend=backend)
    for _ in range(2):
        same(run(compiled), run(program))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_inference_is_eagers(program, backend):
    compiled = magneto.compile(program, backend=backend)
    with torch.no_grad():
        for _ in range(2):
            same(run(compiled, False), run(program, False))


def test_pieces_are_compiled_where_nothing_is_differentiated():
    before = magneto.stats()["graphs"]
    with torch.no_grad():
        run(magneto.compile(beside, backend="eager"), False)
    assert magneto.stats()["graphs"] > before


def test_the_reason_is_told():
    i, y = (
        torch.ones(3, requires_grad=True),
        TwoTensor(torch.ones(3), torch.ones(3)),
    )
    found = magneto.explain(beside)(i, y)
    assert [skip.reason for skip in found.skips] == ["tensor-subclass"]
    with pytest.raises(magneto.exc.Unsupported, match="TwoTensor"):
        magneto.compile(beside, backend="eager", fullgraph=True)(i, y)


class Summing(torch.Tensor):
    def sum(self):
        return super().sum() + 1


def test_super_of_a_tensors_class():
    compiled = magneto.compile(lambda x: x.sum(), backend="eager")
    x = torch.ones(3).as_subclass(Summing)
    assert torch.equal(compiled(x), x.sum())
