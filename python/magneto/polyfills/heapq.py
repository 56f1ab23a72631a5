# SPDX-License-Identifier: BSD-3-Clause
"""Of ``heapq``: the same steps as in C, so the same list comes out.

A heap is ordered by `<`, the maximum heaps of ``nsmallest`` by its mirror. C
looks past what a class derived from list says of its items, and has words of
its own for what is no list: those are left to it.
"""

from __future__ import annotations

import heapq as heapq_module
from collections.abc import Callable
from typing import Any

from magneto.polyfills import leave_to_c

Before = Callable[[Any, Any], bool]


def _less(a: Any, b: Any) -> bool:
    return a < b


def _greater(a: Any, b: Any) -> bool:
    return b < a


_ASKED = (
    "__getitem__",
    "__setitem__",
    "__len__",
    "__bool__",
    "append",
    "pop",
)


def _is_left_to_c(heap: Any, name: str = "") -> bool:
    """`name`: of a function that takes nothing else."""
    cls = type(heap)
    if cls is list:
        return False
    if isinstance(heap, list):
        for name in _ASKED:
            if getattr(cls, name, None) is not getattr(list, name, None):
                break
        else:
            return False
    elif name and cls.__module__ == "builtins":
        given = "None" if heap is None else cls.__name__
        raise TypeError(f"{name}() argument must be list, not {given}")
    leave_to_c("heapq on what is no plain list")
    return True


def _rise(heap: list[Any], start: int, position: int, before: Before) -> None:
    item = heap[position]
    while position > start:
        parent = (position - 1) >> 1
        if not before(item, heap[parent]):
            break
        heap[position] = heap[parent]
        heap[parent] = item
        position = parent


def _sink(heap: list[Any], position: int, before: Before) -> None:
    # Down to a leaf along the smaller children, and up again from there.
    start, end = position, len(heap)
    while 2 * position + 1 < end:
        child = 2 * position + 1
        if child + 1 < end and not before(heap[child], heap[child + 1]):
            child += 1
        heap[position], heap[child] = heap[child], heap[position]
        position = child
    _rise(heap, start, position, before)


def _pop(heap: list[Any], before: Before) -> Any:
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    _sink(heap, 0, before)
    return first


def _replace(heap: list[Any], item: Any, before: Before) -> Any:
    if not heap:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _sink(heap, 0, before)
    return first


def _order(heap: list[Any], before: Before) -> None:
    for position in reversed(range(len(heap) // 2)):
        _sink(heap, position, before)


def heapify(heap: list[Any], /) -> None:
    """``heapq.heapify``."""
    if _is_left_to_c(heap, "heapify"):
        return heapq_module.heapify(heap)
    _order(heap, _less)


def heappush(heap: list[Any], item: Any, /) -> None:
    """``heapq.heappush``."""
    if _is_left_to_c(heap):
        return heapq_module.heappush(heap, item)
    heap.append(item)
    _rise(heap, 0, len(heap) - 1, _less)


def heappop(heap: list[Any], /) -> Any:
    """``heapq.heappop``."""
    if _is_left_to_c(heap, "heappop"):
        return heapq_module.heappop(heap)
    return _pop(heap, _less)


def heappushpop(heap: list[Any], item: Any, /) -> Any:
    """``heapq.heappushpop``."""
    if _is_left_to_c(heap):
        return heapq_module.heappushpop(heap, item)
    if not heap or not heap[0] < item:
        return item
    return _replace(heap, item, _less)


def heapreplace(heap: list[Any], item: Any, /) -> Any:
    """``heapq.heapreplace``."""
    if _is_left_to_c(heap):
        return heapq_module.heapreplace(heap, item)
    return _replace(heap, item, _less)


def heapify_max(heap: list[Any], /) -> None:
    """``heapq._heapify_max``."""
    if _is_left_to_c(heap, "_heapify_max"):
        return heapq_module._heapify_max(heap)
    _order(heap, _greater)


def heappop_max(heap: list[Any], /) -> Any:
    """``heapq._heappop_max``."""
    if _is_left_to_c(heap, "_heappop_max"):
        return heapq_module._heappop_max(heap)
    return _pop(heap, _greater)


def heapreplace_max(heap: list[Any], item: Any, /) -> Any:
    """``heapq._heapreplace_max``."""
    if _is_left_to_c(heap):
        return heapq_module._heapreplace_max(heap, item)
    return _replace(heap, item, _greater)
