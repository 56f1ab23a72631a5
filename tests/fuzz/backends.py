# SPDX-License-Identifier: BSD-3-Clause
"""The programs of `variants`, with their calls, under a compiler of PyTorch's
that makes functional code of what they write. Where torch.compile doesn't give
what plain Python gives either, that compiler is at fault, and nothing is said;
nor where it fails and says so.

    python -m tests.fuzz.backends [--count N] [--seed S]

Exits with 1 if a program differed; it is printed with what it gave.
"""

from __future__ import annotations

import logging
import random
import sys
from typing import Any

import torch

from tests.fuzz.command import difference_of, finding, run_many
from tests.fuzz.tensors import GLOBALS, Writer, items, told
from tests.fuzz.variants import dynamic_of, text_of_calls

BACKEND = "aot_eager"
# Of these, compiled graphs give something else by design: histories and
# versions, whose memory something is, and memory that is exchanged. A view that
# is made in one grad mode and given back in another has the history of this.
# `as_strided` of a view that the graph writes reads other memory there.
NOT_KEPT = (
    "_version", "grad_fn", "_base", "is_leaf", "retain", ".data", "set_(",
    "from_numpy", "out=", "is_view", "storage", "data_ptr", "no_grad()",
    "enable_grad()", "set_grad_enabled(", "as_strided(",
)  # fmt: skip


def rounded(value: Any) -> Any:
    """Numbers of which the last digits don't count."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def facts(value: Any) -> Any:
    """What has to be the same."""
    if not isinstance(value, torch.Tensor):
        # Compilers say in words of their own what they refuse.
        return value[0] if isinstance(value, tuple) and value else repr(value)
    try:
        grad = facts(value.grad) if value.is_leaf else None
        about = (value.shape, value.dtype, value.requires_grad)
        return rounded(items(value.detach())), *about, grad
    except RuntimeError as error:
        return told(error)


def try_seed(seed: int) -> str:
    """What differs for the program of a seed; empty if nothing."""
    source = Writer(random.Random(seed)).program()
    if any(word in source for word in NOT_KEPT):
        return ""

    def result_of(call: Any) -> str:
        return text_of_calls(call, seed, facts)

    options = {"backend": BACKEND, "dynamic": dynamic_of(seed)}
    namespace = dict(GLOBALS)
    differs = difference_of(source, namespace, result_of, **options)
    if not differs or "BackendCompilerFailed" in differs:
        return ""
    program = namespace["program"]
    torch._dynamo.reset()
    if result_of(torch.compile(program, **options)) != result_of(program):
        return ""
    return finding(seed, source, differs)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(run_many(__doc__, try_seed))
