# SPDX-License-Identifier: BSD-3-Clause
"""What artifacts call to make objects that no constructor makes directly."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def call(
    callable: Callable[..., Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """``callable(*args, **keywords)``."""
    return callable(*args, **keywords)


class _Empty:
    def __getitem__(self, position: int) -> Any:
        raise IndexError


def sequence_iterator(sequence: Any, position: int) -> Any:
    """An iterator by ``__getitem__`` that has come to `position`, without
    asking for any item; without a sequence, one at its end.
    """
    if sequence is None:
        iterator = iter(_Empty())
        next(iterator, None)
        return iterator
    iterator = iter(sequence)
    iterator.__setstate__(position)
    return iterator


def advanced(iterable: Any, count: int) -> Any:
    """``iter(iterable)``, moved on."""
    iterator = iter(iterable)
    for _ in range(count):
        next(iterator, None)
    return iterator


def union(*classes: Any) -> Any:
    """``int | str | ...``"""
    return functools.reduce(operator.or_, classes)
