# SPDX-License-Identifier: BSD-3-Clause
"""torch.autocast that is entered before a graph break and left behind it."""

import pytest
import torch

import magneto
from magneto.testing import check

LINEAR = torch.nn.Linear(4, 4)
OUTER = torch.autocast("cpu")


def state():
    return (
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
    )


def left_behind(x):
    with torch.autocast("cpu"):
        y = LINEAR(x)
        magneto.graph_break()
        z = LINEAR(y)
    return LINEAR(z.float()) + 1, z, state()


def left_at_the_end(x):
    with torch.autocast("cpu"):
        y = LINEAR(x)
        magneto.graph_break()
        return LINEAR(y), state()


def two_of_them(x):
    with torch.autocast("cpu"):  # noqa: SIM117 - two states
        with torch.autocast("cpu", enabled=False):
            y = LINEAR(x)
            magneto.graph_break()
            z = LINEAR(y)
        a, inner = LINEAR(z), state()
    return LINEAR(x), a, z, inner, state()


def another_one(x):
    with torch.autocast("cpu", cache_enabled=False):
        magneto.graph_break()
        y = LINEAR(x)
    with torch.autocast("cpu"):
        z = LINEAR(x)
    return LINEAR(y.float()), z, state()


def left_between_breaks(x):
    with torch.autocast("cpu"):
        magneto.graph_break()
        y = LINEAR(x)
    a = LINEAR(x)
    magneto.graph_break()
    return LINEAR(y.float()), a, state()


def weights_change(x):
    with torch.autocast("cpu"):
        magneto.graph_break()
        y = LINEAR(x)
    with torch.no_grad():
        LINEAR.weight.mul_(2)
    with torch.autocast("cpu"):
        z = LINEAR(x)
    with torch.no_grad():
        LINEAR.weight.mul_(0.5)
    return y, z


def raised(x):
    try:
        with torch.autocast("cpu"):
            magneto.graph_break()
            y = LINEAR(x)
            raise ValueError
    except ValueError:
        return LINEAR(y.float()), y, state()


def of_the_caller(x):
    with OUTER:
        y = LINEAR(x)
        magneto.graph_break()
    return LINEAR(y.float()), y, state()


def in_inference_mode(x):
    with torch.inference_mode(), torch.autocast("cpu"):
        y = LINEAR(x)
        magneto.graph_break()
        z = LINEAR(x)
    return y.dtype, z.dtype, LINEAR(x), state()


def off_in_inference_mode(x):
    with torch.autocast("cpu"):
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            magneto.graph_break()
            y = LINEAR(x)
        z = LINEAR(x)
        inside = state()
    return y.dtype, z, inside, LINEAR(x), state()


def between_modes(x):
    grads = [torch.is_grad_enabled()]
    with torch.no_grad(), torch.inference_mode(False), torch.autocast("cpu"):
        with torch.enable_grad(), torch.inference_mode():
            with torch.autocast("cpu", dtype=torch.float16):
                magneto.graph_break()
                y = LINEAR(x)
                grads.append(torch.is_grad_enabled())
            inner = state()
        z = LINEAR(x)
        grads.append(torch.is_grad_enabled())
        middle = state()
    return y.dtype, inner, z, middle, LINEAR(x), grads, state()


def in_a_generator(x):
    def inside():
        with torch.inference_mode(), torch.autocast("cpu"):
            yield LINEAR(x).dtype

    for dtype in inside():
        magneto.graph_break()
        seen = dtype, LINEAR(x).dtype, torch.is_inference_mode_enabled()
    return seen, LINEAR(x), state()


def nesting():
    level = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    return level


@pytest.mark.parametrize(
    ("program", "graphs"),
    [
        (left_behind, 2),
        (left_at_the_end, 2),
        (two_of_them, 2),
        (another_one, 2),
        (left_between_breaks, 3),
        (weights_change, 2),
        (raised, 2),
        (of_the_caller, 2),
        (in_inference_mode, 3),
        (off_in_inference_mode, 3),
        (between_modes, 4),
        (in_a_generator, 3),
    ],
)
def test_left_behind_a_break(program, graphs):
    before = state(), nesting()
    check(program, torch.randn(2, 4), graphs=graphs, atol=1e-2, rtol=1e-2)
    assert (state(), nesting()) == before


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_with_compilers(backend):
    x = torch.randn(2, 4)
    compiled = magneto.compile(left_behind, backend=backend)
    for _ in range(2):
        for got, expected in zip(compiled(x), left_behind(x), strict=True):
            if isinstance(got, torch.Tensor):
                assert got.dtype == expected.dtype
                torch.testing.assert_close(got, expected, atol=0.05, rtol=0.05)
            else:
                assert got == expected
        assert state() == (False, torch.bfloat16, True)
