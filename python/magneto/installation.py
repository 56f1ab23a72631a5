# SPDX-License-Identifier: BSD-3-Clause
"""Makes `torch.compile` and `nn.Module.compile` mean magneto's."""

from __future__ import annotations

from typing import Any

import torch

from magneto import api

_originals: dict[tuple[Any, str], Any] = {}


def install() -> None:
    """From now on `torch.compile`, `nn.Module.compile` (which calls it),
    `torch.compiler.disable` and `torch.compiler.reset` are magneto's.

    For programs and frameworks that call them. Functions that were compiled
    before stay what they are.
    """
    if _originals:
        return
    _replace(torch, "compile", api.compile)
    _replace(torch.compiler, "compile", api.compile)
    _replace(torch.compiler, "disable", api.disable)
    _replace(torch.compiler, "reset", api.reset)


def uninstall() -> None:
    """Undoes `install()`."""
    for (owner, name), original in _originals.items():
        setattr(owner, name, original)
    _originals.clear()


def _replace(owner: Any, name: str, new: Any) -> None:
    _originals[owner, name] = getattr(owner, name)
    setattr(owner, name, new)
