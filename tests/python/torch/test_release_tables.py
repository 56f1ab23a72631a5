# SPDX-License-Identifier: BSD-3-Clause
"""Tables of PyTorch's names that have the rows of several releases."""

import subprocess
import sys

import pytest

from support.paths import TOOLS


@pytest.fixture
def release_rows(monkeypatch):
    """The tool's module, for releases 13 to 15."""
    monkeypatch.syspath_prepend(TOOLS)
    import release_rows

    monkeypatch.setattr(release_rows, "minors", lambda: [13, 14, 15])
    return release_rows


@pytest.mark.parametrize("tool", ["gen_torch_table", "gen_structured_ops"])
def test_table_is_what_the_tool_writes(tool):
    program = (
        f"import sys, warnings; sys.path.insert(0, {str(TOOLS)!r})\n"
        "warnings.simplefilter('ignore')\n"
        f"import {tool} as tool\n"
        "from release_rows import updated\n"
        "text = updated(tool.PATH, tool.HEADER, tool.rows())\n"
        "assert len(tool.rows()) > 200\n"
        "sys.exit(text != tool.PATH.read_text())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def merged(release_rows, *releases):
    rows = []
    for minor, lines in enumerate(releases, 13):
        rows = release_rows.merge(rows, lines, minor)
        again = [release_rows.parse(row.written()) for row in rows]
        assert again == rows
        assert release_rows.merge(again, lines, minor) == rows
    return [row.written() for row in rows]


def test_rows_of_all_releases_stand_alone(release_rows):
    assert merged(release_rows, ["A", "B"], ["A", "B"], ["A", "B"]) == [
        "A",
        "B",
    ]


def test_rows_of_some_releases_say_so(release_rows):
    releases = (["A", "OLD", "C"], ["A", "MID", "C", "NEW"], ["A", "C", "NEW"])
    assert merged(release_rows, *releases) == [
        "A",
        "MG_SINCE(14, MG_UNTIL(14, MID))",
        "MG_UNTIL(13, OLD)",
        "C",
        "MG_SINCE(14, NEW)",
    ]


def test_a_row_that_no_release_has_goes(release_rows):
    rows = release_rows.merge([], ["A", "B"], 15)
    assert [row.written() for row in rows] == [
        "MG_SINCE(15, A)",
        "MG_SINCE(15, B)",
    ]
    assert [row.text for row in release_rows.merge(rows, ["A"], 15)] == ["A"]
