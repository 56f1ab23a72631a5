# SPDX-License-Identifier: BSD-3-Clause
"""Tables whose rows come from the running PyTorch, for several releases.

The file has the rows of all releases. One that not all have says so, with the
macros of src/support/torch_release.h:

    MG_SINCE(14, X(linalg_polar, linalg_polar, "aten::linalg_polar"))

A tool that writes such a file is run with each release, oldest first.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch_releases import minors

ROOT = Path(__file__).resolve().parent.parent
SINCE = re.compile(r"MG_SINCE\((\d+), (.*)\)")
UNTIL = re.compile(r"MG_UNTIL\((\d+), (.*)\)")


def running_minor() -> int:
    """That of the PyTorch that runs this."""
    return int(torch.__version__.split(".")[1])


@dataclass
class Row:
    """A line of the file: a row of one kind or another, or an empty line."""

    text: str
    first: int
    last: int

    def covers(self, minor: int) -> bool:
        """Whether that release has the row."""
        return self.first <= minor <= self.last

    def written(self) -> str:
        """The line, with the releases if not all have it."""
        text = self.text
        if self.last < minors()[-1]:
            text = f"MG_UNTIL({self.last}, {text})"
        if self.first > minors()[0]:
            text = f"MG_SINCE({self.first}, {text})"
        return text


def parse(line: str) -> Row:
    """The row of a line of the file."""
    first, last = minors()[0], minors()[-1]
    if found := SINCE.fullmatch(line):
        first, line = int(found[1]), found[2]
    if found := UNTIL.fullmatch(line):
        last, line = int(found[1]), found[2]
    return Row(line, first, last)


def narrow(row: Row, minor: int) -> None:
    """The running release doesn't have it."""
    if row.first == minor:
        row.first = minor + 1
    else:
        row.last = minor - 1


def merge(rows: list[Row], now: list[str], minor: int) -> list[Row]:
    """`rows`, with the lines `now` as those of one release."""
    wanted = set(now)
    known = {row.text: row for row in rows if row.text}
    for row in known.values():
        if row.covers(minor) and row.text not in wanted:
            narrow(row, minor)
    before: Row | None = None
    for text in now:
        if not text:
            continue
        row = known.get(text)
        if row is None:
            row = Row(text, minor, minors()[-1])
            rows.insert(rows.index(before) + 1 if before else 0, row)
        elif row.last < minor:
            row.last = minors()[-1]
        row.first = min(row.first, minor)
        before = row
    return [row for row in rows if row.first <= row.last]


def update(path: Path, header: str, now: list[str]) -> None:
    """Writes the file with the rows of the running release brought in."""
    path.write_text(updated(path, header, now))


def updated(path: Path, header: str, now: list[str]) -> str:
    """The text of the file that `update` writes."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [parse(line) for line in lines if not line.startswith("//")]
    while rows and not rows[0].text:
        del rows[0]
    merged = merge(rows, now, running_minor())
    return header + "".join(row.written() + "\n" for row in merged)
