# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest's: names that PyTorch's own test helpers had when the test
files were written, and that it has renamed since.
"""

from __future__ import annotations

import importlib
import unittest
from typing import Any

import torch

_HAS_CUDA = torch.cuda.is_available()
_NAMES = {
    "HAS_CUDA": _HAS_CUDA,
    "requires_cuda": unittest.skipUnless(_HAS_CUDA, "requires cuda"),
}
_MODULES = (
    "torch.testing._internal.triton_utils",
    "torch.testing._internal.inductor_utils",
)


def pytest_configure(config: Any) -> None:
    """Called before any test module is imported."""
    for path in _MODULES:
        module = importlib.import_module(path)
        for name, value in _NAMES.items():
            if not hasattr(module, name):
                setattr(module, name, value)
