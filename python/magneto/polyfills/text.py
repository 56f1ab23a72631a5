# SPDX-License-Identifier: BSD-3-Clause
"""Of ``str``: format strings over objects that the trace has made."""

from __future__ import annotations

import _string
from collections.abc import Mapping
from typing import Any

_CONVERSIONS = {"s": str, "r": repr, "a": ascii}


def parsed(text: str) -> list[tuple[Any, ...]]:
    """The literals and fields of a format string (called, not traced)."""
    return list(_string.formatter_parser(text))


def field_path(field: str) -> tuple[Any, list[tuple[bool, Any]]]:
    """What a field names first, and the steps from there (not traced)."""
    first, rest = _string.formatter_field_name_split(field)
    return first, list(rest)


def format_fields(self: str, /, *args: Any, **kwargs: Any) -> str:
    """``str.format``."""
    return _formatted(self, args, kwargs, [0], 2)


def format_map(self: str, mapping: Mapping[str, Any], /) -> str:
    """``str.format_map``."""
    return _formatted(self, None, mapping, [0], 2)


def _formatted(
    text: str, args: Any, kwargs: Any, counter: list[Any], depth: int
) -> str:
    # counter[0]: the next field that isn't numbered, or None if they all are.
    if depth < 0:
        raise ValueError("Max string recursion exceeded")
    parts = []
    for literal, field, spec, conversion in parsed(text):
        if literal:
            parts.append(literal)
        if field is None:
            continue
        value = _value(field, args, kwargs, counter)
        if conversion is not None:
            if conversion not in _CONVERSIONS:
                raise ValueError(f"Unknown conversion specifier {conversion}")
            value = _CONVERSIONS[conversion](value)
        if "{" in spec:
            spec = _formatted(spec, args, kwargs, counter, depth - 1)
        parts.append(format(value, spec))
    return "".join(parts)


def _value(field: str, args: Any, kwargs: Any, counter: list[Any]) -> Any:
    first, steps = field_path(field)
    if first == "":
        if counter[0] is None:
            raise ValueError(
                "cannot switch from manual field specification to automatic "
                "field numbering"
            )
        first = counter[0]
        counter[0] += 1
    elif isinstance(first, int):
        if counter[0]:
            raise ValueError(
                "cannot switch from automatic field numbering to manual field "
                "specification"
            )
        counter[0] = None
    if isinstance(first, int):
        if args is None:
            raise ValueError("Format string contains positional fields")
        if first >= len(args):
            raise IndexError(
                f"Replacement index {first} out of range for positional args "
                "tuple"
            )
        value = args[first]
    else:
        value = kwargs[first]
    for is_attribute, name in steps:
        value = getattr(value, name) if is_attribute else value[name]
    return value
