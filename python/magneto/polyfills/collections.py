# SPDX-License-Identifier: BSD-3-Clause
"""Of ``collections``."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any


def count_elements(
    mapping: MutableMapping[Any, int], iterable: Iterable[Any]
) -> None:
    """What ``Counter.update`` counts with."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1


def ordered_from_keys(
    cls: type, iterable: Iterable[Any], value: Any = None
) -> Any:
    """``OrderedDict.fromkeys``."""
    made = cls()
    for key in iterable:
        made[key] = value
    return made
