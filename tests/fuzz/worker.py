# SPDX-License-Identifier: BSD-3-Clause
"""Tries a range of seeds in this process and prints one JSON line for each.

    python -m tests.fuzz.worker GENERATOR FIRST COUNT

The line of a seed that differs has the text and, where the generator's programs
are nothing but their source, a small one that differs, too. Before a seed is
tried its number is printed, so that a crash has a name; a seed without an end
ends the process.
"""

import faulthandler
import functools
import gc
import json
import logging
import sys
import traceback

import torch

from tests.fuzz.generators import Generator, load
from tests.fuzz.support.running import NoEnd, limited, smaller

SECONDS = 120  # for one seed
OUTPUT = sys.stdout


def say(**what: object) -> None:
    """Print one line."""
    print(json.dumps(what), file=OUTPUT, flush=True)


def tried(generator: Generator, seed: int) -> str:
    """What differs for a seed, or how the generator itself fails with it."""
    try:
        return generator.try_seed(seed)
    except Exception:
        return f"seed {seed}\n{traceback.format_exc()}"


def reduced(generator: Generator, seed: int) -> str:
    """The program of a seed that differs, made small; empty if it can't be."""
    if generator.write is None or generator.differs is None:
        return ""

    @functools.cache
    def differs(source: str) -> str:
        try:
            with limited(20):
                return generator.differs(source, seed)
        except (Exception, NoEnd):
            return ""

    source = generator.write(seed)
    return smaller(source, differs, differs(source))


def main() -> None:
    """Try the seeds."""
    name, (first, count) = sys.argv[1], map(int, sys.argv[2:])
    faulthandler.enable()
    sys.stdout = sys.stderr  # programs may print
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    generator = load(name)
    gc.freeze()  # so that gc.collect() is quick
    for seed in range(first, first + count):
        say(seed=seed)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        if text := tried(generator, seed):
            # As it is first: making it small may crash.
            say(seed=seed, text=text)
            if small := reduced(generator, seed):
                say(seed=seed, text=f"{text}\nmade small:\n{small}")
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
