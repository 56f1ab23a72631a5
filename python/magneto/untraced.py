# SPDX-License-Identifier: BSD-3-Clause
"""Work of magneto's own while a backend traces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """What is done inside is no part of a trace that PyTorch has under way: a
    backend may ask for the torch.fx graph, or for the fake mode, in the middle
    of one.
    """
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield
