# SPDX-License-Identifier: BSD-3-Clause
"""Writes to views: which tensors torch lets a program write to depends on how
they were made, and what is compiled for one is not run for another.
"""

import pytest
import torch

import magneto


def leaf(size=8):
    return torch.ones(size, requires_grad=True)


def undifferentiated(make, tensor):
    with torch.no_grad():
        return make(tensor)


def part(tensor):
    return tensor[:4]


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.view(8)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


KINDS = {
    "no view": lambda: torch.ones(4),
    "a view": lambda: part(torch.ones(8)),
    "a view made in no_grad": lambda: undifferentiated(part, torch.ones(8)),
    "a leaf": lambda: leaf(4),
    "a leaf's": lambda: part(leaf()),
    "a leaf's made in no_grad": lambda: undifferentiated(part, leaf()),
    "computed": lambda: leaf(4) * 1,
    "of what was computed": lambda: part(leaf() * 1),
    "of it, made in no_grad": lambda: undifferentiated(part, leaf() * 1),
    "one of several": lambda: (leaf() * 1).chunk(2)[0],
    "one of several without a history": lambda: torch.ones(8).chunk(2)[0],
    "a function's": lambda: part(Same.apply(leaf() * 1)),
}


def multiplied(x, weight, notes):
    try:
        x.mul_(weight)
    except RuntimeError as error:
        notes.append(str(error))
    return x


def assigned(x, weight, notes):
    notes.append("begun")
    try:
        x[1] = weight[0]
    except RuntimeError as error:
        notes.append(str(error))
    return x + 1


def squeezed(x, weight, notes):
    try:
        x.unsqueeze_(0)
    except RuntimeError as error:
        notes.append(str(error))
    return x


def history(tensor):
    try:
        return tensor.requires_grad, tensor.is_leaf
    except RuntimeError as error:
        return str(error)


def outcome(call, kind, weight_requires_grad):
    notes = []
    x = KINDS[kind]()
    weight = torch.full((4,), 2.0, requires_grad=weight_requires_grad)
    result = call(x, weight, notes)
    facts = [(t.tolist(), t.shape, history(t)) for t in (result, x)]
    return facts, notes


@pytest.mark.parametrize("program", [multiplied, assigned, squeezed])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("records", [True, False])
def test_views_of_another_kind_are_compiled_anew(program, first, records):
    for second in KINDS:
        compiled = magneto.compile(program, backend="eager", dynamic=False)
        for requires_grad in (True, False):
            for kind in (first, second, first):
                with torch.set_grad_enabled(records):
                    assert outcome(compiled, kind, requires_grad) == outcome(
                        program, kind, requires_grad
                    ), (first, second)
        magneto.reset()


def test_views_that_may_be_written_to_share_what_was_compiled():
    compiled = magneto.compile(
        lambda x, y: x.add_(y), backend="eager", dynamic=False
    )
    before = magneto.stats()["compilations"]
    y = torch.ones(4)
    for kind in ("no view", "a view", "a view made in no_grad"):
        compiled(KINDS[kind](), y)
    for kind in ("of what was computed", "computed"):
        compiled(KINDS[kind](), y)
    assert magneto.stats()["compilations"] == before + 2
