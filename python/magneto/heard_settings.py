# SPDX-License-Identifier: BSD-3-Clause
"""Settings as they are in force: those of `magneto.config` and, where nothing
is said there, those of `torch._dynamo.config` that mean the same.

They are read when something is compiled, so it doesn't matter when they were
written. `torch._dynamo`, whose import takes a second, isn't imported for it:
before somebody has, nothing is said there but by the environment.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from magneto import config

# What torch._dynamo.config has where nobody has said anything.
_THEIR_DEFAULTS: dict[str, Any] = {
    "accumulated_recompile_limit": 256,
    "allow_ignore_mark_dynamic": False,
    "assume_static_by_default": True,
    "automatic_dynamic_shapes": True,
    "disable": False,
    "error_on_recompile": False,
    "fail_on_recompile_limit_hit": False,
    "only_allow_pt2_compliant_ops": False,
    "recompile_limit": 8,
    "reorderable_logging_functions": frozenset(),
    "specialize_float": False,
    "specialize_int": False,
    "suppress_errors": False,
    "verify_correctness": False,
}

# What magneto.config has where nobody has said anything.
_OUR_DEFAULTS = {
    name: getattr(config, name)
    for name in _THEIR_DEFAULTS
    if hasattr(config, name)
}

# What torch._dynamo.config reads from the environment when it is imported: the
# variable, its text, and the value that it stands for.
_ENVIRONMENT = {
    "automatic_dynamic_shapes": (
        "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES",
        lambda text: text == "1",
    ),
    "disable": ("TORCH_COMPILE_DISABLE", lambda text: text == "1"),
    "suppress_errors": ("TORCHDYNAMO_SUPPRESS_ERRORS", bool),
}

is_installed = False
"""Whether all of them are; else those that torch.compiler.config has, too."""

# Heard in any case: what torch.compiler.config has, too, and what somebody who
# starts a program says so that nothing is compiled.
_ALWAYS = frozenset({"disable", *torch.compiler.config.__all__})


def value(name: str) -> Any:
    """What a setting is for what is compiled now.

    Args:
        name: as in `magneto.config` or, of what isn't there, in
            `torch._dynamo.config`.

    """
    if name in RESTRICTIONS:
        return name not in switched_off
    if name == "error_on_graph_break":  # of which the program keeps the state
        return is_installed
    own = getattr(config, name, None)
    if name not in _THEIR_DEFAULTS:
        return own
    said = _said(name)
    if name == "reorderable_logging_functions":
        return {*own, *said}
    if own != _OUR_DEFAULTS.get(name):
        return own
    default = _OUR_DEFAULTS.get(name, _THEIR_DEFAULTS[name])
    return default if said == _THEIR_DEFAULTS[name] else said


def _said(name: str) -> Any:
    """What torch._dynamo.config says, if it is heard; else its default."""
    default = _THEIR_DEFAULTS[name]
    if not is_installed and name not in _ALWAYS:
        return default
    module: Any = sys.modules.get("torch._dynamo.config")
    if hasattr(module, "_config"):  # it is loaded, and not being loaded
        return getattr(module, name)
    if name in _ENVIRONMENT:
        variable, read = _ENVIRONMENT[name]
        if variable in os.environ:
            return read(os.environ[variable])
    return default


# Switched on in magneto, unless somebody has switched them off: in
# torch._dynamo.config they are off by default.
RESTRICTIONS = frozenset(
    {"capture_dynamic_output_shape_ops", "capture_scalar_outputs"}
)

switched_off: set[str] = set()
"""Those that were written as False when they were False."""


def note_restriction(name: str, before: Any, after: Any) -> None:
    """One of `RESTRICTIONS` was written in torch._dynamo.config. From True to
    False it goes back to its default, which PyTorch itself does often.
    """
    if after is False and before is False:
        switched_off.add(name)
    else:
        switched_off.discard(name)


HEARD = frozenset({*_THEIR_DEFAULTS, *RESTRICTIONS})
"""The names in torch._dynamo.config that are heard."""


def default_backend() -> Any:
    """What `compile()` takes without the argument."""
    registry = sys.modules.get("torch._dynamo.backends.registry")
    chosen = getattr(registry, "get_default_backend", None)
    return "inductor" if chosen is None else chosen()


def is_switched_off() -> bool:
    """Whether `compile()` gives back what it is given."""
    return os.environ.get("TORCHDYNAMO_DISABLE", "") == "1"
