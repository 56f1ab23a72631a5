# SPDX-License-Identifier: BSD-3-Clause
"""Calls of one program with other sizes and numbers each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch


def calls_of(*inputs: Any) -> list[tuple[Sequence[Any], dict[str, Any]]]:
    """One call for each item: a tuple of arguments, or the only one."""
    return [
        (each if isinstance(each, tuple) else (each,), {}) for each in inputs
    ]


def x(*sizes: int) -> torch.Tensor:
    """A tensor whose values tell its elements apart."""
    return torch.arange(float(math.prod(sizes))).reshape(sizes) / 7 - 1
