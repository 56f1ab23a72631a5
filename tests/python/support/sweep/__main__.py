# SPDX-License-Identifier: BSD-3-Clause
"""`make sweep`: a table of many programs, each in a process of its own.

What is found there is either mended or has a reason; the table is no test, it
finds work. `ARGS="bert llama --json out.json"` picks rows, `--modules` and
`--models` a half of them.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIMIT = 100  # seconds of processor time for a row
MEMORY = 6 << 30  # bytes for a row


def child(row: Any, training: bool, pipe: int) -> None:
    """Measure one row and write the outcomes to the pipe."""
    from support.sweep.measure import measure

    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with os.fdopen(pipe, "w") as out:
        try:
            for program in row.programs(training):
                print(json.dumps(measure(program, training).plain()), file=out)
                out.flush()
        except Exception as error:  # it can't be made
            outcome = dict(status="not made", detail=f"{error!r:.300}")
            print(json.dumps(outcome), file=out)


def measured(row: Any, training: bool) -> Iterator[dict[str, Any]]:
    """The outcomes of a row, from a process of its own."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        os.close(reader)
        child(row, training, writer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            yield dict(row=row.name) | json.loads(line)
    _, status = os.waitpid(process, 0)
    if status:
        number = os.waitstatus_to_exitcode(status)
        what = "TIMEOUT" if number == -signal.SIGXCPU else "CRASH"
        yield dict(row=row.name, status=what, detail=f"exit status {number}")


def show(outcome: dict[str, Any]) -> None:
    """One line of the table."""
    mine, theirs = outcome.get("magneto", {}), outcome.get("torch", {})
    mode = "train" if outcome.get("training") else "eval"
    fallbacks = " ".join(
        f"{name}x{n}" for name, n in outcome.get("fallbacks", {}).items()
    )
    print(
        f"{outcome['row']:24} {mode:5} {outcome['status']:12} "
        f"graphs {mine.get('graphs', 0)}/{theirs.get('graphs', 0)} "
        f"time {mine.get('seconds', 0):.2f}/{theirs.get('seconds', 0):.2f} "
        f"{outcome.get('name', '')} {fallbacks} "
        f"{outcome.get('detail', '')[:400]}",
        flush=True,
    )


def rows_named(arguments: argparse.Namespace) -> list[Any]:
    """The rows that the command line asks for."""
    found = []
    if arguments.models or not arguments.modules:
        from support.sweep import hugging_face

        found += hugging_face.rows()
    if arguments.modules or not arguments.models:
        from support.sweep import torch_modules

        found += torch_modules.rows()
    names = set(arguments.rows)
    return [row for row in found if not names or row.name in names]


def main() -> None:
    """Run the sweep."""
    parser = argparse.ArgumentParser(prog="make sweep")
    parser.add_argument("rows", nargs="*", help="names of rows; all if none")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--modules", action="store_true")
    parser.add_argument("--json", type=Path, help="write the outcomes there")
    arguments = parser.parse_args()

    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import torch._dynamo
    import transformers

    import magneto  # noqa: F401

    torch.set_num_threads(1)
    torch._dynamo.config.allow_rnn = True  # the peer leaves them out otherwise
    transformers.logging.set_verbosity_error()
    outcomes = []
    begin = time.time()
    for row in rows_named(arguments):
        for training in (False, True):
            outcomes_of_row = [
                outcome | dict(training=training)
                for outcome in measured(row, training)
            ]
            outcomes += outcomes_of_row
            for index, outcome in enumerate(outcomes_of_row):
                if index == 0 or outcome["status"] != "ok":
                    show(outcome)
    if arguments.json:
        arguments.json.write_text(json.dumps(outcomes, indent=1))
    totals = collections.Counter(outcome["status"] for outcome in outcomes)
    print(f"\n{len(outcomes)} programs in {time.time() - begin:.0f} s")
    for status, count in totals.most_common():
        print(f"{count:6} {status}")


if __name__ == "__main__":
    main()
