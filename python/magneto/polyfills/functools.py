# SPDX-License-Identifier: BSD-3-Clause
"""Of ``functools``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


def cached_property_get(self: Any, instance: Any, owner: Any = None) -> Any:
    """``cached_property.__get__`` without its lock."""
    if instance is None:
        return self
    if self.attrname is None:
        raise TypeError(
            "Cannot use cached_property instance without calling "
            "__set_name__ on it."
        )
    try:
        cache = instance.__dict__
    except AttributeError:
        raise TypeError(
            f"No '__dict__' attribute on {type(instance).__name__!r} "
            f"instance to cache {self.attrname!r} property."
        ) from None
    value = cache.get(self.attrname, _MISSING)
    if value is _MISSING:
        value = self.func(instance)
        cache[self.attrname] = value
    return value


class _Key:
    __slots__ = ("compare", "obj")

    def __init__(self, compare: Callable[[Any, Any], Any], obj: Any) -> None:
        self.compare = compare
        self.obj = obj

    def __lt__(self, other: _Key) -> bool:
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other: _Key) -> bool:
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other: object) -> bool:
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other: _Key) -> bool:
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other: _Key) -> bool:
        return self.compare(self.obj, other.obj) >= 0

    __hash__ = None


def cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Callable[[Any], _Key]:
    """A key function from a comparison."""
    return lambda obj: _Key(mycmp, obj)
