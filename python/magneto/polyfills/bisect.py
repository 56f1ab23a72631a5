# SPDX-License-Identifier: BSD-3-Clause
"""Of ``bisect``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Key = Callable[[Any], Any] | None


def _bounds(a: Sequence[Any], lo: int, hi: int | None) -> tuple[int, int]:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    return lo, len(a) if hi is None else hi


def bisect_left(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> int:
    """``bisect.bisect_left``."""
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if item < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> int:
    """``bisect.bisect_right``."""
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item:
            high = middle
        else:
            low = middle + 1
    return low


def insort_left(
    a: Any,
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> None:
    """``bisect.insort_left``."""
    wanted = x if key is None else key(x)
    a.insert(bisect_left(a, wanted, lo, hi, key=key), x)


def insort_right(
    a: Any,
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> None:
    """``bisect.insort_right``."""
    wanted = x if key is None else key(x)
    a.insert(bisect_right(a, wanted, lo, hi, key=key), x)
