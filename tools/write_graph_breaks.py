# SPDX-License-Identifier: BSD-3-Clause
"""Writes the table of docs/graph_breaks.md from src/values/model/reasons.def,
as the built extension knows it. `--check` only says whether it is up to date.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "graph_breaks.md"
MARK = (
    "<!-- made by tools/write_graph_breaks.py from "
    "src/values/model/reasons.def -->\n"
)


def table(reasons: list[tuple[str, str, str]]) -> str:
    """A section for each reason, so that it can be linked to by its id."""
    return "\n".join(
        f"### {name}\n\n{meaning}\n\n*What to do:* {hint}.\n"
        for name, meaning, hint in reasons
    )


def page(reasons: list[tuple[str, str, str]]) -> str:
    """The whole page, with the part before the mark as it is."""
    head = PAGE.read_text().partition(MARK)[0]
    return f"{head}{MARK}\n{table(reasons)}"


def main() -> int:
    sys.path.insert(0, str(ROOT / "python"))
    from magneto._C import break_reasons

    text = page(break_reasons())
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() == text:
            return 0
        print(f"{PAGE} isn't up to date; run {Path(__file__).name}")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
