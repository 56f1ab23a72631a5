# SPDX-License-Identifier: BSD-3-Clause
"""Of ``types``."""

from __future__ import annotations

import types
from typing import Any


def namespace_eq(self: Any, other: Any) -> Any:
    """``SimpleNamespace.__eq__``."""
    if isinstance(other, types.SimpleNamespace):
        return self.__dict__ == other.__dict__
    return NotImplemented


def namespace_ne(self: Any, other: Any) -> Any:
    """``SimpleNamespace.__ne__``."""
    if isinstance(other, types.SimpleNamespace):
        return self.__dict__ != other.__dict__
    return NotImplemented


def namespace_repr(self: Any) -> str:
    """``SimpleNamespace.__repr__``, of one that isn't part of itself."""
    cls = type(self)
    name = "namespace" if cls is types.SimpleNamespace else cls.__name__
    items = [f"{key}={value!r}" for key, value in self.__dict__.items()]
    return f"{name}({', '.join(items)})"
