# SPDX-License-Identifier: BSD-3-Clause
"""Of the builtins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def iter_until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    """``iter(function, sentinel)``."""
    if not callable(function):
        raise TypeError("iter(v, w): v must be callable")

    def items() -> Iterator[Any]:
        while True:
            item = function()
            if item is sentinel or item == sentinel:
                return
            yield item

    return items()
