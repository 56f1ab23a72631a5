# SPDX-License-Identifier: BSD-3-Clause
"""Makes `torch.compile` and `nn.Module.compile` mean magneto's."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from magneto import api, heard_settings, logs

_originals: dict[tuple[Any, str], Any] = {}
_pytorchs_compile = torch.compile

# Modules of torch's that call torch.compile for the program.
_FOR_THE_PROGRAM = (
    "torch.nn.modules.module",
    "torch.compiler",
    "torch.testing.",
)


def install() -> None:
    """From now on `torch.compile`, `nn.Module.compile` (which calls it),
    `torch.compiler.disable` and `torch.compiler.reset` are magneto's, and it
    hears what `torch._dynamo.config` and TORCH_LOGS say.

    For programs and frameworks that call them. Functions that were compiled
    before stay what they are, and what PyTorch compiles for itself (an eager
    `torch.cond`, `flex_attention`) goes to its own compiler.
    """
    if heard_settings.is_installed:
        return
    heard_settings.is_installed = True
    _replace(torch, "compile", compile)
    _replace(torch.compiler, "compile", compile)
    _replace(torch.compiler, "disable", api.disable)
    _replace(torch.compiler, "reset", reset)
    for owner in (torch._logging, torch._logging._internal):
        _replace(owner, "set_logs", _set_logs)
    _hear_logs()


def uninstall() -> None:
    """Undoes `install()`."""
    for (owner, name), original in _originals.items():
        setattr(owner, name, original)
    _originals.clear()
    heard_settings.is_installed = False
    logs.hear(())


@functools.wraps(api.compile)
def compile(*args: Any, **kwargs: Any) -> Any:
    """`magneto.compile`, unless PyTorch itself calls it."""
    caller = sys._getframe(1).f_globals.get("__name__", "")
    if _is_for_pytorch(caller):
        return _pytorchs_compile(*args, **kwargs)
    return api.compile(*args, **kwargs)


@functools.wraps(api.reset)
def reset() -> None:
    """`magneto.reset`; PyTorch's compiler, if it is there, is reset as well."""
    dynamo: Any = sys.modules.get("torch._dynamo")
    if hasattr(dynamo, "reset"):
        dynamo.reset()  # which api.reset() hears of
    else:
        api.reset()


_pytorchs_set_logs = torch._logging.set_logs


@functools.wraps(_pytorchs_set_logs)
def _set_logs(*args: Any, **kwargs: Any) -> None:
    _pytorchs_set_logs(*args, **kwargs)
    _hear_logs()


def _hear_logs() -> None:
    """TORCH_LOGS, too: PyTorch reads it when it is imported."""
    logs.hear(torch._logging._internal.log_state.artifact_names)


def _is_for_pytorch(module: str) -> bool:
    """Whether code there compiles what only PyTorch's own compiler takes: its
    operators that hold functions, which are compiled even when they are called
    in plain Python.
    """
    return module.startswith("torch.") and not module.startswith(
        _FOR_THE_PROGRAM
    )


def _replace(owner: Any, name: str, new: Any) -> None:
    _originals[owner, name] = getattr(owner, name)
    setattr(owner, name, new)
