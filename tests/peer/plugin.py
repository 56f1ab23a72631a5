# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest's: `torch.compile` and `torch._dynamo` mean magneto's.

The modules that it is used for know nothing of magneto. It replaces what they
call before they are imported.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo

import magneto
from magneto import observers


def _optimize(backend: Any = "inductor", **options: Any) -> Any:
    """`torch._dynamo.optimize`, which gives a decorator."""
    taken = {
        "fullgraph": options.pop("nopython", False),
        "dynamic": options.pop("dynamic", None),
    }
    return magneto.compile(backend=backend, **taken)


def _also(names: tuple[str, ...], own: type[Exception]) -> None:
    """Who expects one of torch.compile's exceptions gets one of ours, too.

    Plain Python's torch.cond and its like still raise PyTorch's.
    """
    for name in names:
        theirs = getattr(torch._dynamo.exc, name)
        setattr(torch._dynamo.exc, name, (theirs, own))


def _count(kind: str, identity: str, details: dict[str, Any]) -> None:
    """What `torch._dynamo.utils.counters` says of breaks and calls."""
    counters = torch._dynamo.utils.counters
    if kind in ("graph_break", "skip"):
        counters["graph_break"][str(details.get("reason", kind))] += 1
    elif kind == "call":
        counters["stats"]["calls_captured"] += 1


def pytest_configure(config: Any) -> None:
    """Called before any test module is imported."""
    magneto.install()
    observers.add(_count, wants_traces=True)
    torch._dynamo.optimize = _optimize
    torch._dynamo.graph_break = magneto.graph_break
    _also(
        ("Unsupported", "UncapturedHigherOrderOpError", "UserError"),
        magneto.exc.Unsupported,
    )
    _also(("BackendCompilerFailed",), magneto.exc.BackendCompilerFailed)
