# SPDX-License-Identifier: BSD-3-Clause
"""What `torch.compiler.set_stance` asks for, in terms of C++
(entry/callable/stance.h), and the stances that compile with another backend.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from magneto import _C, api
from magneto.backends import lookup_backend
from magneto.exc import MagnetoWarning

# By what programs call them. What isn't here is unknown.
_BY_NAME = {
    "default": "default",
    "force_eager": "force_eager",
    "eager_on_recompile": "eager_on_recompile",
    "fail_on_recompile": "fail_on_recompile",
    "eager_then_compile": "eager_then_compile",
    "aot_eager_then_compile": "in_place",
}

NAMES = frozenset(_BY_NAME)
"""What `set_stance()` takes."""

# The other backend, and whether only the first call of each function takes it.
_other_backend: Any = None
_is_for_first_calls = False

_called: weakref.WeakSet[Any] = weakref.WeakSet()
_with_other: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def take(name: str, force_backend: Any) -> None:
    """From now on it is everybody's.

    Args:
        name: the stance's.
        force_backend: what everything is compiled with; None: what `compile()`
            was given.

    """
    global _other_backend, _is_for_first_calls
    stance = _BY_NAME.get(name)
    if stance is None:
        warnings.warn(
            f"magneto doesn't know the stance {name!r} and compiles as ever; "
            f"its stances are {', '.join(sorted(NAMES))}",
            MagnetoWarning,
            stacklevel=4,
        )
        stance = "default"
    _is_for_first_calls = name == "aot_eager_then_compile"
    backend = "aot_eager" if _is_for_first_calls else force_backend
    _other_backend = None if backend is None else lookup_backend(backend)
    _C.set_stance("in_place" if force_backend is not None else stance)


def in_place_of(compiled: Any) -> Any:
    """The compiled function that is called in the place of another one, or that
    one itself. C++ asks for each call of a program's while a stance has another
    backend.
    """
    if compiled.settings.backend is _other_backend or _is_settled(compiled):
        return compiled
    other = _with_other.get(compiled)
    if other is None or other.settings.backend is not _other_backend:
        other = api.with_backend(compiled, _other_backend)
        _with_other[compiled] = other
    return other


def _is_settled(compiled: Any) -> bool:
    """Whether the stance has the function compiled as `compile()` was told."""
    if not _is_for_first_calls or compiled in _called:
        return _is_for_first_calls
    _called.add(compiled)
    return False
