# SPDX-License-Identifier: BSD-3-Clause
"""torch.nn.attention.sdpa_kernel: the choice of attention kernels."""

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import magneto
from magneto.testing import RecordingBackend, check

X = torch.linspace(-1, 1, 24).reshape(1, 2, 4, 3)
MATH, FLASH = SDPBackend.MATH, SDPBackend.FLASH_ATTENTION


def flags():
    """What torch may use now."""
    cuda = torch.backends.cuda
    return (
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
        cuda.cudnn_sdp_enabled(),
        torch._C._get_sdp_priority_order(),
    )


@magneto.disable
def flags_now():
    return flags()


def attention(x):
    return F.scaled_dot_product_attention(x, x, x)


def one_kernel(x):
    with sdpa_kernel(MATH):
        return attention(x)


def a_list(x):
    with sdpa_kernel([MATH, FLASH]):
        y = attention(x)
    return y + attention(x)


def by_priority(x):
    with sdpa_kernel([MATH, FLASH], set_priority=True):
        return attention(x)


def nested(x):
    with sdpa_kernel([MATH, FLASH]):
        with sdpa_kernel(MATH):
            y = attention(x)
        return attention(y)


def told_inside(x):
    with sdpa_kernel(MATH):
        inside = torch.backends.cuda.flash_sdp_enabled()
    return x + 1, inside, torch.backends.cuda.flash_sdp_enabled()


def seen_at_a_break(x):
    with sdpa_kernel(MATH):
        y = attention(x)
        inside = flags_now()
        y = attention(y)
    return y, inside, flags_now()


def left_by_an_exception(x):
    try:
        with sdpa_kernel(MATH):
            raise ValueError("inside")
    except ValueError as error:
        return attention(x), str(error)


def leaves(x):
    with sdpa_kernel(MATH):
        raise ValueError(f"{x.shape}")


def as_keys(x):
    names = {MATH: 1, FLASH: 2}
    return (
        x * names[FLASH],
        MATH in names,
        MATH == FLASH,
        MATH is MATH,
        MATH.name,
    )


def given(x, kernel=FLASH):
    with sdpa_kernel(kernel):
        return attention(x)


def left_by_a_graph_that_fails(x):
    with sdpa_kernel(MATH):
        return attention(x).view(5, 5)


PROGRAMS = [
    (one_kernel, {"graphs": 1, "graph_breaks": 0}),
    (a_list, {"graphs": 1, "graph_breaks": 0}),
    (by_priority, {"graphs": 1, "graph_breaks": 0}),
    (nested, {"graphs": 1, "graph_breaks": 0}),
    (told_inside, {"graphs": 1, "graph_breaks": 0}),
    (seen_at_a_break, {}),
    (left_by_an_exception, {}),
    (leaves, {}),
    (as_keys, {"graphs": 1, "graph_breaks": 0}),
    (given, {"graphs": 1, "graph_breaks": 0}),
    (left_by_a_graph_that_fails, {}),
]


@pytest.mark.parametrize(
    ("program", "counts"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
def test_choice_of_kernels(program, counts):
    before = flags()
    check(program, X, **counts)
    assert flags() == before


def test_the_choice_outside_is_guarded():
    """What is put back is what was in force."""
    call = magneto.compile(one_kernel, backend="eager")
    for outside in (contextlib.nullcontext(), sdpa_kernel(FLASH)):
        with outside:
            before = flags()
            assert torch.equal(call(X), one_kernel(X))
            assert flags() == before


def test_the_graph_makes_the_choice():
    recorder = RecordingBackend(None)
    magneto.compile(one_kernel, backend=recorder, fullgraph=True)(X)
    (graph,) = recorder.graphs
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    chosen = targets.index(F.scaled_dot_product_attention)
    assert torch.nn.attention._sdpa_kernel in targets[:chosen]
    assert torch.nn.attention._sdpa_kernel in targets[chosen:]
