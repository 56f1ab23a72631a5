# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as text, for comparisons that take all of it."""

import re

from magneto.testing import oracle


def text_of(value):
    """Its `repr()`. Under PyTorch's compilers what computes a gradient is what
    they made, so that it is left out there.
    """
    text = repr(value)
    return re.sub(r"grad_fn=<\w+>", "grad_fn", text) if oracle.behind else text
