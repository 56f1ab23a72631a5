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

from magneto import config, heard_settings
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
_WHY = (
    "is not known to be safe to compile (it lacks torch.Tag.pt2_compliant_tag)"
)

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


def judge_of(operator: Any) -> Any:
    """A `Judge` of the operator where the program has said that only operators
    which are known to be safe are compiled, and this one may not be; else None.
    """
    if is_known_safe(operator):
        return None
    wanted = heard_settings.value("only_allow_pt2_compliant_ops")
    return Judge(operator) if wanted else None


class Judge:
    """Calls an operator, and notes in `refusal` why the overload that the
    arguments choose isn't known to be safe.
    """

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.refusal: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the operator gives, run on a trace's fake tensors."""
        chosen = self._overload(args, kwargs)
        if not is_known_safe(chosen):
            self.refusal = f"operator {chosen} {_WHY}"
        return self.operator(*args, **kwargs)

    def _overload(self, args: Any, kwargs: Any) -> Any:
        packet = self.operator
        if not isinstance(packet, torch._ops.OpOverloadPacket):
            return packet
        names = packet.overloads()
        if len(names) == 1:
            return getattr(packet, names[0])
        name = torch._C._jit_resolve_packet(
            packet._qualified_op_name, *args, **kwargs
        )
        return getattr(packet, name)


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
        message = f"operator {target} {_WHY}"
        if mode == "refuse":
            raise UnsafeOperator(
                f"{message}; set magneto.config.unsafe_operators = 'log' to "
                "compile it all the same"
            )
        if str(target) not in _logged:
            _logged.add(str(target))
            log.warning("%s", message)
