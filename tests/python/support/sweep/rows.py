# SPDX-License-Identifier: BSD-3-Clause
"""What a row of the sweep is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """One thing to compile: how to make it, and the arguments of a call.

    Both make the same again each time.
    """

    name: str
    build: Callable[[], Any]
    arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]


@dataclass(frozen=True)
class Row:
    """One line of the table; `programs(training)` are tried one by one."""

    name: str
    programs: Callable[[bool], Iterable[Program]]
