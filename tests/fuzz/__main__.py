# SPDX-License-Identifier: BSD-3-Clause
"""Runs many random programs, each eagerly and compiled, and prints those that
differ, made small.

    python -m tests.fuzz [--count N] [--seed S] [--size STATEMENTS] [--jobs J]

Exits with 1 if there was a difference, a crash or a program without end.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.running import write

CHUNK = 200  # seeds for one process
SECONDS = 240  # for one process


def run_chunk(first: int, count: int, size: int) -> Iterator[dict]:
    """What was found among some seeds; a crash ends a process, not the chunk."""
    end = first + count
    while first < end:
        command = [sys.executable, "-m", "tests.fuzz.worker"]
        command += [str(first), str(end - first), str(size)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS
            )
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as expired:
            output = (expired.stdout or b"").decode()
            status = "no end"
        lines = [json.loads(line) for line in output.splitlines()]
        last = lines[-1]["seed"] if lines else first
        found = {line["seed"]: line for line in lines if "text" in line}
        if status != 0:
            text = f"crash: the process ended with {status}"
            found[last] = {
                "seed": last,
                "text": text,
                "source": write(last, size),
            }
        yield from found.values()
        first = last + 1 if status != 0 else end


def main() -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    start = time.monotonic()
    found = 0
    firsts = range(options.seed, options.seed + options.count, CHUNK)
    end = options.seed + options.count
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(
            lambda first: list(
                run_chunk(first, min(CHUNK, end - first), options.size)
            ),
            firsts,
        )
        for chunk in results:
            for each in chunk:
                found += 1
                print(f"seed {each['seed']}: {each['text']}")
                print(each["source"], flush=True)
    seconds = time.monotonic() - start
    print(
        f"{found} differences among {options.count} programs, {seconds:.0f} s"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
