# SPDX-License-Identifier: BSD-3-Clause
"""The command line that generators of random programs share."""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable


def of_sources(
    write: Callable[[random.Random], str], try_program: Callable[[str], str]
) -> Callable[[int], str]:
    """What to try with each seed: to write a program, and whether it differs."""

    def try_seed(seed: int) -> str:
        source = write(random.Random(seed))
        differs = try_program(source)
        return f"seed {seed}\n{source}\n{differs}" if differs else ""

    return try_seed


def run_many(description: str | None, try_seed: Callable[[int], str]) -> int:
    """Try as many seeds as the command line asks for; print what each says
    that differs. 1 if one did, else 0.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    found = 0
    gc.freeze()  # so that gc.collect() is quick
    for seed in range(options.seed, options.seed + options.count):
        if text := try_seed(seed):
            found += 1
            print(text, flush=True)
    seconds = time.monotonic() - start
    print(f"{found} differences among {options.count} seeds, {seconds:.0f} s")
    return 1 if found else 0
