# SPDX-License-Identifier: BSD-3-Clause
"""Which PyTorch runs the tests, for those that only some releases pass."""

import pytest
import torch

# The minor version of PyTorch 2.
MINOR = int(torch.__version__.split(".")[1])


def since(minor, reason):
    """A mark: the test is for PyTorch 2.`minor` and later."""
    return pytest.mark.skipif(MINOR < minor, reason=reason)


def until(minor, reason):
    """A mark: the test is for PyTorch 2.`minor` and earlier."""
    return pytest.mark.skipif(MINOR > minor, reason=reason)
