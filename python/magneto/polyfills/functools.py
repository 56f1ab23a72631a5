# SPDX-License-Identifier: BSD-3-Clause
"""Of ``functools``."""

from __future__ import annotations

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
        try:
            cache[self.attrname] = value
        except TypeError:
            raise TypeError(
                f"The '__dict__' attribute on {type(instance).__name__!r} "
                "instance does not support item assignment for caching "
                f"{self.attrname!r} property."
            ) from None
    return value
