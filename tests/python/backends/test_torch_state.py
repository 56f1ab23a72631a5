# SPDX-License-Identifier: BSD-3-Clause
"""Torch's state that a program changes, where PyTorch's compilers compile its
graphs: they carry none out of a graph, nor into an inference mode.
"""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import magneto
from magneto.testing import compare
from support.inference_modes import inference_mode_with_others

X = torch.arange(4.0)
W = torch.ones(4, requires_grad=True)


def kernels():
    return (
        torch.backends.cuda.flash_sdp_enabled(),
        torch.backends.cuda.math_sdp_enabled(),
        list(torch._C._get_sdp_priority_order()),
    )


def kernels_across_a_break(x):
    with sdpa_kernel(SDPBackend.MATH):
        y = x + 1
        inside = kernels()
        magneto.graph_break()
        y = y * 2
        inside_behind = kernels()
    return y, inside, inside_behind, kernels()


def order_of_kernels_across_a_break(x):
    order = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(order, set_priority=True):
        y = x + 1
        magneto.graph_break()
        inside = kernels()
    return y * 2, inside, kernels()


def kernels_of_a_callee(x):
    with sdpa_kernel(SDPBackend.MATH):
        return breaking(x), kernels()


def breaking(x):
    x = x + 1
    magneto.graph_break()
    return x * 2, kernels()


def casts(x):
    return (
        torch.mm(x[None], x[:, None]).dtype,
        torch.is_autocast_enabled("cpu"),
    )


def autocast_that_a_callee_enters(x):
    held = []

    def enter():
        magneto.graph_break()
        held.append(torch.autocast("cpu", dtype=torch.bfloat16))
        held[0].__enter__()

    enter()
    inside = casts(x)
    held[0].__exit__(None, None, None)
    return inside, casts(x)


def gradients_in_an_inference_mode_that_is_off(x):
    with torch.inference_mode():
        first = x + 1
        magneto.graph_break()
        with torch.inference_mode(False), torch.enable_grad():
            second = W * x
            magneto.graph_break()
            third = second * W
    return first + 0.0, second.is_inference(), third.requires_grad, third


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program",
    [
        kernels_across_a_break,
        order_of_kernels_across_a_break,
        kernels_of_a_callee,
        autocast_that_a_callee_enters,
        inference_mode_with_others,
        gradients_in_an_inference_mode_that_is_off,
    ],
)
def test_as_in_plain_python(program, backend):
    before = kernels()
    compiled = magneto.compile(program, backend=backend)
    try:
        expected = program(X), kernels()
        torch._C._set_sdp_priority_order(before[-1])
        for _ in range(3):
            compare((compiled(X), kernels()), expected)
            torch._C._set_sdp_priority_order(before[-1])
    finally:
        torch._C._set_sdp_priority_order(before[-1])
    assert kernels() == before
