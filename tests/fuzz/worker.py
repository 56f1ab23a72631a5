# SPDX-License-Identifier: BSD-3-Clause
"""Runs a range of seeds in this process and prints one JSON line for each.

    python -m tests.fuzz.worker FIRST COUNT SIZE

The line of a seed that differs has the text and the program; before a seed runs
its number is printed, so that a crash has a name.
"""

import json
import sys

import torch

from tests.fuzz.running import difference, smaller, write


def main() -> None:
    """Run the seeds."""
    first, count, size = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), flush=True)
        source = write(seed, size)
        text = difference(source)
        if text:
            found = {"seed": seed, "text": text, "source": source}
            # As it is first: making it small may crash.
            print(json.dumps(found), flush=True)
            found["source"] = smaller(source, text)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
