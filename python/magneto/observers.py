# SPDX-License-Identifier: BSD-3-Clause
"""Who hears of compilations: the logs and `explain`.

An observer is called as `observer(kind, frame_id, compile_id, details)`; kinds
are "recompile", "compiled", "graph_break", "skip" and "raised". While there is
none, C++ doesn't collect what it would say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magneto import _C

Observer = Callable[[str, int, int, dict[str, Any]], None]

_observers: list[Observer] = []


def add(observer: Observer) -> None:
    """Tells `observer` of every compilation from now on."""
    if observer not in _observers:
        _observers.append(observer)
    _C.set_observer(_tell_all)


def remove(observer: Observer) -> None:
    """Undoes `add()`."""
    if observer in _observers:
        _observers.remove(observer)
    if not _observers:
        _C.set_observer(None)


def _tell_all(
    kind: str, frame_id: int, compile_id: int, details: dict[str, Any]
) -> None:
    for observer in list(_observers):
        observer(kind, frame_id, compile_id, details)
