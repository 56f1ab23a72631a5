# SPDX-License-Identifier: BSD-3-Clause
"""Programs under PyTorch's own backends, against eager."""

import copy

import torch

import magneto
from magneto.testing import compare


def check_under(backend, program, *inputs, calls=2, rtol=1e-5, atol=1e-6):
    """Each call's result and inputs are those of plain Python.

    Args:
        backend: "aot_eager" or "inductor", whose results may be rounded
            otherwise.
        program: what is compiled.
        inputs: of each call; each side gets copies of its own.
        calls: how often both are called.
        rtol: how far numbers may be apart, relatively.
        atol: ... and absolutely.

    """
    magneto.reset()
    compiled = magneto.compile(program, backend=backend)
    for _ in range(calls):
        results = []
        for function in (program, compiled):
            given = copy.deepcopy(inputs)
            torch.manual_seed(0)
            results.append((function(*given), given))
        compare(*results, rtol=rtol, atol=atol)
