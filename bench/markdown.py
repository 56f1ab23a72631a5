# SPDX-License-Identifier: BSD-3-Clause
"""Turns the JSON of a run into the README's table.

    python -m bench.markdown [FILE] [--readme README.md]

prints the table; with --readme it replaces what stands between the two
`bench:` comments there. A row that was not measured with both compilers is left
out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.__main__ import RESULTS, quotients
from bench.rows import ROWS, formatted

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def table(document: dict[str, Any]) -> str:
    """The Markdown table of one run."""
    lines = [
        "| work | torch.compile | magneto | ratio | aim |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in ROWS:
        result = document["rows"].get(row.key)
        if result is None or result["ratio"] is None:
            continue
        median = result["median"]
        lines.append(
            f"| {row.work} | {formatted(median['torch'], row.unit)} "
            f"| {formatted(median['magneto'], row.unit)} "
            f"| {result['ratio']:.1f} | {row.target:.1f} ({row.aim}) |"
        )
    for quotient, (torch_value, value) in quotients(document["rows"]):
        lines.append(
            f"| {quotient.work} | {torch_value:.2f}x | {value:.2f}x | "
            f"| at most {quotient.most} |"
        )
    lines.append("")
    lines.append(
        f"Medians of {document['rounds']} fresh processes each "
        f"({document['clock']} time), one thread, "
        f"{document['cpus']} CPUs, CPython {document['python']}, "
        f"PyTorch {document['torch']}."
    )
    return "\n".join(lines)


def replace_between_marks(text: str, content: str) -> str:
    """`text` with what stands between the marks replaced."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{content}\n{END}{tail}"


def main() -> None:
    """Print the table or put it into a README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--readme", type=Path)
    options = parser.parse_args()
    content = table(json.loads(options.file.read_text()))
    if options.readme is None:
        print(content)
        return
    text = options.readme.read_text()
    options.readme.write_text(replace_between_marks(text, content))


if __name__ == "__main__":
    main()
