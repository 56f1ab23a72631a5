# SPDX-License-Identifier: BSD-3-Clause
"""Subscripts of tensors by positions that vary, among all else that a key may
hold: results, their history, what is written, and what is refused.
"""

from typing import Any

import pytest
import torch

import magneto
from support.texts_of_tensors import text_of

KEYS = [
    "n", "..., n", ":, n", "n, :", "n, ...", "None, n", "n, None", ":, n, None",
    "n, :, :", "..., n, :", ":, n, :", "..., n, ...", "n, n", "n, :, n",
    ":, :, n", "n, 0:9", "n, ::1", "..., n, None", ":, None, n", ":, :, :, n",
    "n, :, :, :", "n, True", "..., n, n", "None, ..., n, None", "..., n, ..., n",
    "n, ..., ...", "..., ..., n", "..., ..., n, 0:2", "n, ..., n, ...",
    "n, [0, 1]", "[0, 1], n", "n:, n", "n, n:", "n::2", "torch.tensor(n)",
]  # fmt: skip
READ = """def program(x, n):
    try:
        return x[{key}]
    except Exception as error:
        return type(error), str(error)
"""
WRITE = """def program(x, n):
    x = x * 1
    try:
        x[{key}] = 5.0
    except Exception as error:
        return type(error), str(error)
    return x
"""


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize("source", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("key", KEYS)
def test_subscripts_by_positions_that_vary(key, source):
    namespace: dict[str, Any] = {"torch": torch}
    exec(source.format(key=key), namespace)
    program = namespace["program"]
    for shape in ((), (3,), (3, 3), (3, 3, 3)):
        compiled = magneto.compile(program, backend="eager", dynamic=True)
        for n in (0, 1, 2, -1, 5):
            size = torch.Size(shape).numel()
            x = torch.arange(1.0 * size, requires_grad=True).view(shape)
            # As text, with the names of what computes the gradients.
            assert text_of(compiled(x, n)) == text_of(program(x, n))
