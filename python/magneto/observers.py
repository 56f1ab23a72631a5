# SPDX-License-Identifier: BSD-3-Clause
"""Who hears of compilations: the logs and `explain`.

An observer is called as `observer(kind, identity, details)`. The identity is
"frame/recompile", or "frame/recompile_restart" once analysis restarted; kinds
are "recompile", "compiled", "graph_break", "skip" and "raised", and for those
that want traces "call" (one went into the graph) and "met" (a function) as
well, while the trace runs. While there is no observer, C++ doesn't collect what
it would say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from magneto import _C

Observer = Callable[[str, str, dict[str, Any]], None]

# Whether it wants to hear of traces, by observer.
_observers: dict[Observer, bool] = {}


def add(observer: Observer, wants_traces: bool = False) -> None:
    """Tells `observer` of every compilation from now on."""
    _observers[observer] = wants_traces
    _connect()


def remove(observer: Observer) -> None:
    """Undoes `add()`."""
    _observers.pop(observer, None)
    _connect()


def _connect() -> None:
    if _observers:
        _C.set_observer(_tell_all, any(_observers.values()))
    else:
        _C.set_observer(None)


def _tell_all(kind: str, identity: str, details: dict[str, Any]) -> None:
    for observer, wants_traces in list(_observers.items()):
        if wants_traces or kind not in ("call", "met"):
            observer(kind, identity, details)
