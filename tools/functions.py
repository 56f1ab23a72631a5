# SPDX-License-Identifier: BSD-3-Clause
"""Where the C++ functions of src/ begin and how long they are.

This reads code as clang-format leaves it: a definition begins in a line of its
own, its first line that ends in `{` opens the body, and the next line that
begins with `}` at the same depth closes it. A function within a class counts as
one of its own, a lambda as a part of the function that it stands in; one that
fits a line is left out.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Function(NamedTuple):
    """A definition: its line, its name and how many lines it has."""

    line: int
    name: str
    length: int


_COMMENT = re.compile(r'\s*//[^"]*$')
_TEMPLATE = re.compile(r"template <.*?>\s+(?=[\w\[])")
_COMPARISON = re.compile(r"operator[=!<>]+\(")
_LABEL = re.compile(r"(public|private|protected):")
# A namespace, a class, a table: what functions stand in, or none at all.
_SCOPE = re.compile(r"(inline )?(namespace|class|struct|union|enum|extern)\b")
_PARAMETERS = re.compile(r"\)( const| noexcept| override)* \{$")
# The first name in front of a parenthesis, with no `=` before it.
_NAME = re.compile(r"[^=(]*?((?:[\w~]+::)*(?:~?\w+|operator[^\s(]*))\s*\(")


def functions(text: str) -> Iterator[Function]:
    """The functions of a source, in their order."""
    lines = text.splitlines()
    header, first, at = "", 0, 0
    while at < len(lines):
        line = lines[at]
        code = _COMMENT.sub("", line).strip()
        if code.startswith("#"):
            while lines[at].endswith("\\"):
                at += 1
            header = ""
        elif not line.strip():
            header = ""
        elif code:
            first = first if header else at
            header = f"{header} {code}".strip()
            if code.endswith("{"):
                if name := _name_of(header):
                    at = _end(lines, first, at)
                    yield Function(first + 1, name, at - first + 1)
                header = ""
            elif code.endswith((";", "}")) or _LABEL.fullmatch(code):
                header = ""
        at += 1


def _name_of(header: str) -> str | None:
    """The function that these lines begin; None if they begin none."""
    header = _TEMPLATE.sub("", header)
    if _SCOPE.match(header) and not _PARAMETERS.search(header):
        return None
    found = _NAME.match(_COMPARISON.sub("operator(", header))
    return found[1] if found else None


def _end(lines: list[str], first: int, opening: int) -> int:
    """The index of the line that closes the body."""
    indent = lines[first][: -len(lines[first].lstrip())]
    at = opening + 1
    while not lines[at].startswith(indent + "}"):
        at += 1
    return at
