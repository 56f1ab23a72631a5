# SPDX-License-Identifier: BSD-3-Clause
"""Magneto: graph capture for PyTorch programs, in C++.

`magneto.compile` takes the place of `torch.compile`:

    >>> import torch, magneto
    >>> @magneto.compile(backend="eager")
    ... def f(x, y):
    ...     return torch.sin(x) + torch.cos(y)
    >>> f(torch.zeros(2), torch.zeros(2))
    tensor([1., 1.])
"""

from magneto import _load as _load  # isort: skip  (loads the extension)
from magneto import config, exc
from magneto import frames as frames  # gives the extension its table
from magneto.api import (
    compile,
    disable,
    graph_break,
    is_compiling,
    reset,
    stats,
)
from magneto.backends import list_backends, register_pass
from magneto.exc import SkipFrame
from magneto.heard_calls import listen as _listen
from magneto.logs import set_logs

__version__ = "0.1.0"

__all__ = [
    "SkipFrame",
    "compile",
    "config",
    "disable",
    "exc",
    "explain",
    "graph_break",
    "install",
    "is_compiling",
    "list_backends",
    "register_pass",
    "reset",
    "set_logs",
    "stats",
    "uninstall",
]

# Loaded when they are first used.
_LAZY = {
    "explain": ("magneto.explanation", "explain"),
    "install": ("magneto.installation", "install"),
    "uninstall": ("magneto.installation", "uninstall"),
    "backends": ("magneto.backends", None),
    "testing": ("magneto.testing", None),
}


_listen()


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'magneto' has no attribute {name!r}")
    import importlib

    module_name, attribute = _LAZY[name]
    module = importlib.import_module(module_name)
    value = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value
