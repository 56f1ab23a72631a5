# SPDX-License-Identifier: BSD-3-Clause
"""Hooks and gradients of intermediate results: PyTorch's compilers take a
tensor that a graph both returns and uses for two.
"""

from __future__ import annotations

import pytest
import torch
import torch.utils.checkpoint

import magneto


def triple(grad):
    return grad if grad is None else 3 * grad


def behind_a_use(x):
    y = x * x
    z = (y * x).sum()
    y.register_hook(triple)
    return z


def in_front_of_its_uses(x):
    y = x * x
    y.register_hook(triple)
    return (y * x).sum()


def between_two_uses(x):
    y = x * x
    z = y * x
    y.register_hook(triple)
    return (z + y.exp()).sum()


def of_a_view_behind_a_use(x):
    y = (x * x)[:1]
    z = (y * x).sum()
    y.register_hook(triple)
    return z


def of_an_input_behind_a_use(x):
    z = (x * x).sum()
    x.register_hook(triple)
    return z


def retained_behind_a_use(x):
    y = x * x
    z = (y * x).sum()
    y.retain_grad()
    return z, y


SEEN = []


def with_an_effect_behind_a_use(x):
    y = x * x
    z = (y * x).sum()
    y.register_hook(lambda grad: SEEN.append(1))
    return z


def behind_a_use_that_writes(x):
    y = x * x
    y.mul_(x)
    z = y.sum()
    y.register_hook(triple)
    return z


def in_a_callee(x):
    y = x * x
    z = (y * x).sum()
    hooked(y)
    return z


def hooked(y):
    y.register_hook(triple)


def from_a_callee(x):
    return behind_a_use(x + 1) * 2


def within_a_block(x):
    with torch.enable_grad():
        y = x * x
        z = (y * x).sum()
        y.register_hook(triple)
    return z


def in_a_loop(x):
    total = x.sum() * 0
    for k in range(1, 3):
        y = x * k
        total = total + (y * x).sum()
        y.register_hook(triple)
    return total


PROGRAMS = [
    behind_a_use,
    in_front_of_its_uses,
    between_two_uses,
    of_a_view_behind_a_use,
    of_an_input_behind_a_use,
    retained_behind_a_use,
    with_an_effect_behind_a_use,
    behind_a_use_that_writes,
    in_a_callee,
    from_a_callee,
    within_a_block,
    in_a_loop,
]


def gradients(run):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = run(x)
    kept = None
    if isinstance(result, tuple):
        result, kept = result
    result.backward()
    return x.grad, None if kept is None else kept.grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_eagers(program, backend):
    compiled = magneto.compile(program, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(gradients(compiled), gradients(program))


# What no graph has, and so none of the function.
LEFT_ALONE = [retained_behind_a_use, with_an_effect_behind_a_use]


@pytest.mark.parametrize("program", LEFT_ALONE, ids=lambda f: f.__name__)
def test_the_reason_is_told(program):
    found = magneto.explain(program)(torch.ones(2, requires_grad=True))
    assert [skip.reason for skip in found.skips] == ["tensor-method"]
    line = program.__code__.co_firstlineno + 3
    assert f"{__file__}:{line}" in str(found.skips[0])
    assert "first use" in str(found.skips[0])


@pytest.mark.parametrize("program", LEFT_ALONE, ids=lambda f: f.__name__)
def test_with_fullgraph_it_is_an_error(program):
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported, match="gradient wouldn't be"):
        compiled(torch.ones(2, requires_grad=True))


class Stop(Exception):
    pass


def test_a_hook_that_raises_is_not_called_again():
    packed = []

    def pack(tensor):
        packed.append(1)
        if len(packed) == 2:
            raise Stop
        return tensor

    compiled = magneto.compile(lambda x: x.sin().tanh(), backend="eager")
    x = torch.arange(4.0).clone().requires_grad_()
    for _ in range(2):
        packed.clear()
        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
            pytest.raises(Stop),
        ):
            compiled(x)
        assert len(packed) == 2


def test_checkpoints_of_pieces():
    def program(x):
        y = x.sin()
        magneto.graph_break()
        return y.tanh()

    def gradient(call):
        x = torch.arange(4.0).clone().requires_grad_()
        torch.utils.checkpoint.checkpoint(
            call, x, use_reentrant=False
        ).sum().backward()
        return x.grad

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert torch.equal(gradient(compiled), gradient(program))
