# SPDX-License-Identifier: BSD-3-Clause
"""Tests that need an NVIDIA GPU: `make test-cuda` runs these alone."""

import pytest
import torch


@pytest.fixture(autouse=True)
def gpu():
    """Who asks for these tests is told that there is none."""
    assert torch.cuda.is_available(), "PyTorch sees no NVIDIA GPU"
    # So that eager and compiled runs add numbers in the same order.
    with torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True
    ):
        yield
