# SPDX-License-Identifier: BSD-3-Clause
"""Of ``str`` and ``re``: text that the traced program has a part in."""

from __future__ import annotations

import _string
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from magneto.polyfills import leave_to_c

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


def matches(pattern: re.Pattern[Any], *args: Any) -> list[re.Match[Any]]:
    """All matches (called, not traced)."""
    return list(pattern.finditer(*args))


def finditer(self: re.Pattern[Any], /, *args: Any) -> Iterator[re.Match[Any]]:
    """``Pattern.finditer``."""
    return iter(iter(matches(self, *args)).__next__, None)


def pattern_subn(
    self: re.Pattern[Any],
    repl: Callable[[re.Match[Any]], Any],
    string: Any,
    count: int = 0,
) -> tuple[Any, int]:
    """``Pattern.subn`` with a function."""
    if type(string) not in (str, bytes):
        leave_to_c("re.sub() in what is no plain text")
        return self.subn(repl, string, count)
    parts, position, made = [], 0, 0
    for match in matches(self, string):
        if count and made >= count:
            break
        if position < match.start():
            parts.append(string[position : match.start()])
        text = repl(match)
        if text is not None:
            parts.append(text)
        position = match.end()
        made += 1
    if position < len(string):
        parts.append(string[position:])
    return string[:0].join(parts), made


def pattern_sub(
    self: re.Pattern[Any],
    repl: Callable[[re.Match[Any]], Any],
    string: Any,
    count: int = 0,
) -> Any:
    """``Pattern.sub`` with a function."""
    return pattern_subn(self, repl, string, count)[0]


def subn(
    pattern: Any, repl: Any, string: Any, count: int = 0, flags: Any = 0
) -> tuple[Any, int]:
    """``re.subn`` with a function."""
    return pattern_subn(re.compile(pattern, flags), repl, string, count)


def sub(
    pattern: Any, repl: Any, string: Any, count: int = 0, flags: Any = 0
) -> Any:
    """``re.sub`` with a function."""
    return subn(pattern, repl, string, count, flags)[0]
