# SPDX-License-Identifier: BSD-3-Clause
"""Runs many random programs, each in plain Python and compiled, and prints those
that differ.

    python -m tests.fuzz [--what NAME[,NAME]] [--seeds N] [--first SEED]
                         [--jobs J] [--list]

A name is a package's (operands: each of its generators tries so many seeds) or a
generator's (operands.methods). Exits with 1 if there was a difference, a crash
or a program without an end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.generators import listing, load, names_of

CHUNK = 1000  # seeds for one process, at most


def run_chunk(name: str, first: int, count: int) -> list[str]:
    """What was found among some seeds; a crash ends a process, not the chunk."""
    found: dict[int, str] = {}
    end = first + count
    while first < end:
        command = [sys.executable, "-m", "tests.fuzz.worker", name]
        command += [str(first), str(end - first)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found |= {
            line["seed"]: line["text"] for line in lines if "text" in line
        }
        if done.returncode == 0:
            break
        if not lines:
            raise RuntimeError(done.stderr)
        last = lines[-1]["seed"]
        # Not where it was being made small.
        found.setdefault(last, crash(name, last, done))
        first = last + 1
    return list(found.values())


def crash(name: str, seed: int, done: subprocess.CompletedProcess[str]) -> str:
    """What to say of a seed that has ended its process."""
    write = load(name).write
    source = write(seed) if write else ""
    where = "\n".join(done.stderr.splitlines()[-20:])
    return (
        f"seed {seed}\n{source}\ncrash: ended with {done.returncode}\n{where}"
    )


def run_generator(name: str, options: argparse.Namespace) -> Iterator[str]:
    """What one generator finds."""
    chunk = max(1, min(CHUNK, -(-options.seeds // options.jobs)))
    end = options.first + options.seeds
    firsts = range(options.first, end, chunk)
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(
            lambda first: run_chunk(name, first, min(chunk, end - first)),
            firsts,
        ):
            yield from found


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--what", default="general")
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(listing())
        return 0
    try:
        names = [n for what in options.what.split(",") for n in names_of(what)]
    except LookupError as error:
        parser.error(str(error))
    status = 0
    for name in names:
        start, found = time.monotonic(), 0
        for text in run_generator(name, options):
            found, status = found + 1, 1
            print(text, flush=True)
        seconds = time.monotonic() - start
        print(
            f"{name}: {found} differences among {options.seeds} seeds, "
            f"{seconds:.0f} s",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
