# SPDX-License-Identifier: BSD-3-Clause
"""The command line that generators of random programs share."""

from __future__ import annotations

import argparse
import gc
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import magneto


class Writer(Protocol):
    """Writes one program."""

    def program(self) -> str:
        """Its source, which defines `program`."""


def of_sources(
    writer: Callable[[random.Random], Writer], try_program: Callable[[str], str]
) -> Callable[[int], str]:
    """What to try with each seed: to write a program, and whether it differs."""

    def try_seed(seed: int) -> str:
        source = writer(random.Random(seed)).program()
        differs = try_program(source)
        return finding(seed, source, differs)

    return try_seed


def finding(seed: int, source: str, differs: str) -> str:
    """What to say of a seed's program; empty if nothing differs."""
    return f"seed {seed}\n{source}\n{differs}" if differs else ""


def attempt(statement: list[str]) -> list[str]:
    """The lines of a statement in a function, noting what they raise."""
    return [
        "    try:",
        *(f"        {line}" for line in statement),
        "    except Exception as error:",
        "        notes.append((type(error).__name__, str(error)))",
    ]


def is_python(source: str) -> bool:
    """Whether the compiler takes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<program>", "exec")
        except SyntaxError:
            return False
    return True


def difference_of(
    source: str,
    namespace: dict[str, Any],
    result_of: Callable[[Callable[..., Any]], str],
    *,
    backend: str = "eager",
    **options: Any,
) -> str:
    """What a program of that source gives in plain Python and in two compiled
    runs, if they aren't the same; else empty. A run that had no end says
    nothing: compiled, it gets to another place. `options` are of `compile`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "<program>", "exec"), namespace)
        program = namespace["program"]
        compiled = magneto.compile(program, backend=backend, **options)
        results = [result_of(call) for call in (program, compiled, compiled)]
        magneto.reset()
    if results[0] == results[1] == results[2] or "no end" in results[0]:
        return ""
    return "\n".join(results)


def by_calls(
    results: Callable[[str, bool], list[str]],
) -> Callable[[str], str]:
    """What says of a program which of its calls differs; empty if none.
    `results` gives what each of them gave, in plain Python or compiled.
    """

    def try_program(source: str) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eager = results(source, False)
            compiled = results(source, True)
            magneto.reset()
        for a, b in zip(eager, compiled, strict=True):
            if a != b:
                return f"{a}\n{b}"
        return ""

    return try_program


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
