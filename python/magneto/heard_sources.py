# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that `torch.compiler.config` names as ones that vary, or
don't: `dynamic_sources`, `unbacked_sources`, `dynamic_values`, `static_sources`
(since PyTorch 2.15), or their environment variables.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from torch.compiler import config

# What the extension asks for: nothing is said, it varies, it varies and nothing
# may be decided by what it is, or it doesn't vary.
UNSAID, DYNAMIC, UNBACKED, STATIC = range(4)

# What both lists name is unbacked before PyTorch 2.15, and dynamic since.
_UNBACKED_FIRST = not hasattr(config, "static_sources")

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

    lists: tuple[tuple[int, tuple[Pattern, ...]], ...]  # the first one counts
    values: frozenset[int]

    def size(self, name: str, dimension: int, size: int) -> int:
        """What is said of a tensor's size."""
        return self._said(name, dimension, size)

    def number(self, name: str, number: float) -> int:
        """What is said of an int or float that isn't a tensor's size."""
        return self._said(name, None, number)

    def _said(self, name: str, dimension: int | None, value: float) -> int:
        for said, patterns in self.lists:
            if any(each.fits(name, dimension) for each in patterns):
                return said
        named = type(value) is int and value in self.values
        return DYNAMIC if named else UNSAID


def in_force() -> NamedSources | None:
    """What is said now; None if that is nothing."""
    texts = (
        config.dynamic_sources,
        config.unbacked_sources,
        config.dynamic_values,
        getattr(config, "static_sources", ""),
    )
    return _read(*texts) if any(texts) else None


@functools.cache
def _read(
    dynamic: str, unbacked: str, values: str, static: str
) -> NamedSources:
    lists = [(DYNAMIC, _patterns(dynamic)), (UNBACKED, _patterns(unbacked))]
    if _UNBACKED_FIRST:
        lists.reverse()
    return NamedSources(
        ((STATIC, _patterns(static)), *lists),
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
