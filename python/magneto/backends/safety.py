# SPDX-License-Identifier: BSD-3-Clause
"""Operators that aren't known to be safe to compile.

PyTorch's own operators are. An operator that somebody registered is known to be
safe when it carries the tag `torch.Tag.pt2_compliant_tag`, which says that its
fake implementation, its autograd formula and its schema were checked.
"""

from __future__ import annotations

import logging
from typing import Any

import torch

from magneto import config
from magneto.exc import UnsafeOperator

log = logging.getLogger("magneto.backends")

# The namespaces of operators that come with PyTorch.
_OWN_NAMESPACES = frozenset(
    {
        "aten",
        "prim",
        "prims",
        "quantized",
        "profiler",
        "inductor",
        "higher_order",
    }
)
_MODES = ("allow", "log", "refuse")

_logged: set[str] = set()


def is_known_safe(target: Any) -> bool:
    """Whether a call of `target` may be compiled without a second thought.

    Args:
        target: what a call_function node of a graph calls.

    """
    if isinstance(target, torch._ops.OpOverload):
        if target.namespace in _OWN_NAMESPACES:
            return True
        return torch.Tag.pt2_compliant_tag in target.tags
    if isinstance(target, torch._ops.OpOverloadPacket):
        overloads = (getattr(target, name) for name in target.overloads())
        return all(map(is_known_safe, overloads))
    return True


def check_operators(handle: Any) -> None:
    """Logs or refuses unsafe operators of a graph, as
    `config.unsafe_operators` says.
    """
    mode = config.unsafe_operators
    if mode == "allow":
        return
    if mode not in _MODES:
        raise ValueError(
            f"config.unsafe_operators is {mode!r}; it must be one of "
            f"{', '.join(map(repr, _MODES))}"
        )
    for target in handle.targets():
        if is_known_safe(target):
            continue
        message = (
            f"operator {target} is not known to be safe to compile (it lacks "
            "torch.Tag.pt2_compliant_tag)"
        )
        if mode == "refuse":
            raise UnsafeOperator(
                f"{message}; set magneto.config.unsafe_operators = 'log' to "
                "compile it all the same"
            )
        if str(target) not in _logged:
            _logged.add(str(target))
            log.warning("%s", message)
