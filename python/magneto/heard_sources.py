# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that `torch.compiler.config` names as ones that vary:
`dynamic_sources`, `unbacked_sources` and `dynamic_values`, or their environment
variables.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from torch.compiler import config

# What the extension asks for: nothing is said, it varies, or it varies and
# nothing may be decided by what it is.
UNSAID, DYNAMIC, UNBACKED = range(3)

_ENTRY = re.compile(r"(.*?)(?::(\d+))?")


@dataclass(frozen=True)
class Pattern:
    """An entry of a list: a source's name or a regular expression for the
    beginning of one, and the only dimension that is meant, if one is.
    """

    text: str
    dimension: int | None

    def fits(self, name: str, dimension: int | None) -> bool:
        """Whether `name`, and that dimension of it, are meant."""
        is_other = None not in (dimension, self.dimension) and (
            dimension != self.dimension
        )
        return not is_other and (
            self.text == name or re.match(self.text, name) is not None
        )


@dataclass(frozen=True)
class NamedSources:
    """What the settings say. The names are torch.compile's: `L['x']`,
    `L['self']._buffers['mean']`.
    """

    dynamic: tuple[Pattern, ...]
    unbacked: tuple[Pattern, ...]
    values: frozenset[int]

    def size(self, name: str, dimension: int, size: int) -> int:
        """What is said of a tensor's size: UNSAID, DYNAMIC or UNBACKED."""
        return self._said(name, dimension, size)

    def number(self, name: str, number: float) -> int:
        """What is said of an int or float that isn't a tensor's size."""
        return self._said(name, None, number)

    def _said(self, name: str, dimension: int | None, value: float) -> int:
        if any(each.fits(name, dimension) for each in self.unbacked):
            return UNBACKED
        if type(value) is int and value in self.values:
            return DYNAMIC
        if any(each.fits(name, dimension) for each in self.dynamic):
            return DYNAMIC
        return UNSAID


def in_force() -> NamedSources | None:
    """What is said now; None if that is nothing."""
    texts = (
        config.dynamic_sources,
        config.unbacked_sources,
        config.dynamic_values,
    )
    return _read(*texts) if any(texts) else None


@functools.cache
def _read(dynamic: str, unbacked: str, values: str) -> NamedSources:
    return NamedSources(
        _patterns(dynamic),
        _patterns(unbacked),
        frozenset(map(int, _items(values))),
    )


def _patterns(text: str) -> tuple[Pattern, ...]:
    found = [_ENTRY.fullmatch(item) for item in _items(text)]
    return tuple(
        Pattern(match[1], None if match[2] is None else int(match[2]))
        for match in found
        if match
    )


def _items(text: str) -> list[str]:
    return [item for item in text.replace(" ", "").split(",") if item]
