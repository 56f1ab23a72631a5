# SPDX-License-Identifier: BSD-3-Clause
"""Of ``bisect``. What C has words of its own for is left to it."""

from __future__ import annotations

import bisect as bisect_module
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from magneto.polyfills import leave_to_c

Key = Callable[[Any], Any] | None


def _is_position(value: Any) -> bool:
    if not isinstance(value, int):
        return False
    return -sys.maxsize <= operator.index(value) <= sys.maxsize


def _is_left_to_c(a: Any, lo: Any, hi: Any) -> bool:
    cls = type(a)
    if (
        _is_position(lo)
        and (hi is None or _is_position(hi))
        and not isinstance(a, (dict, types.MappingProxyType))
        and hasattr(cls, "__getitem__") == hasattr(cls, "__len__")
        and (hi is None or hasattr(cls, "__getitem__"))
    ):
        return False
    leave_to_c("bisect on what is no sequence, or no position")
    return True


def _search(
    a: Sequence[Any],
    lo: int,
    hi: int | None,
    key: Key,
    is_before: Callable[[Any], bool],
) -> int:
    """The first position whose item, or its key, isn't before the place."""
    # Plain numbers, whatever their classes add.
    low = operator.index(lo)
    if low < 0:
        raise ValueError("lo must be non-negative")
    high = -1 if hi is None else operator.index(hi)
    if high == -1:  # to the end, be it given
        high = len(a)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if is_before(item):
            low = middle + 1
        else:
            high = middle
    return low


def bisect_left(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> int:
    """``bisect.bisect_left``."""
    if _is_left_to_c(a, lo, hi):
        return bisect_module.bisect_left(a, x, lo, hi, key=key)
    return _search(a, lo, hi, key, lambda item: item < x)


def bisect_right(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> int:
    """``bisect.bisect_right``."""
    if _is_left_to_c(a, lo, hi):
        return bisect_module.bisect_right(a, x, lo, hi, key=key)
    return _search(a, lo, hi, key, lambda item: not x < item)


def insort_left(
    a: Any,
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> None:
    """``bisect.insort_left``."""
    if _is_left_to_c(a, lo, hi):
        bisect_module.insort_left(a, x, lo, hi, key=key)
        return
    wanted = x if key is None else key(x)
    place = bisect_left(a, wanted, lo, hi, key=key)
    a.insert(place, x)


def insort_right(
    a: Any,
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Key = None,
) -> None:
    """``bisect.insort_right``."""
    if _is_left_to_c(a, lo, hi):
        bisect_module.insort_right(a, x, lo, hi, key=key)
        return
    wanted = x if key is None else key(x)
    place = bisect_right(a, wanted, lo, hi, key=key)
    a.insert(place, x)
