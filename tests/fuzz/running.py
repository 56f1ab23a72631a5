# SPDX-License-Identifier: BSD-3-Clause
"""Runs one random program eagerly and compiled, and makes a failing one small."""

import contextlib
import functools
import io
import itertools
import random
import signal
import warnings

import torch

import magneto
from magneto.testing import Difference, check_calls
from tests.fuzz import world
from tests.fuzz.writer import Writer

# What the program sees as its globals.
NAMES = {
    "torch": torch,
    "magneto": magneto,
    "functools": functools,
    "itertools": itertools,
    "contextlib": contextlib,
    "random": random,
    "world": world,
    **{n: v for n, v in vars(world).items() if not n.startswith("_")},
}


def write(seed: int, size: int = 12) -> str:
    """The program of a seed."""
    return Writer(random.Random(seed), size).program()


def inputs() -> tuple:
    """What every program is called with."""
    return (
        torch.arange(4.0) - 1,
        torch.linspace(0.5, 2.0, 4).requires_grad_(),
        2,
        [3, "b", torch.ones(4)],
        {"a": 1, "b": torch.arange(4.0)},
        world.Thing(2, torch.full((4,), 0.5)),
        [],
    )


class NoEnd(BaseException):
    """A run took longer than any such program needs."""


@contextlib.contextmanager
def limited(seconds: float):
    """Raises NoEnd in what runs longer."""

    def expire(signum, frame):
        raise NoEnd

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ends(program) -> bool:
    """Whether plain Python gets to the end of it soon."""
    try:
        with limited(0.5):
            program(*inputs())
    except NoEnd:
        return False
    except Exception:
        return True
    return True


def difference(source: str) -> str:
    """What differs between the eager and the compiled runs; empty if nothing."""
    namespace = dict(NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<program>", "exec"), namespace)
        except SyntaxError as error:
            return f"SyntaxError: {error}"
        magneto.reset()
        with contextlib.redirect_stdout(io.StringIO()):
            if not ends(namespace["program"]):
                return ""
            try:
                with limited(20):
                    check_calls(namespace["program"], [(inputs(), {})] * 2)
            except Difference as caught:
                return f"Difference: {caught}"
            except NoEnd:
                return "NoEnd: the compiled program goes on and on"
    return ""


def smaller(source: str, kind: str) -> str:
    """A shorter program that still differs, by leaving out lines and blocks."""
    lines = source.split("\n")
    improved = True
    while improved:
        improved = False
        for start in range(len(lines) - 1, 0, -1):
            for end in (block_end(lines, start), start + 1):
                for replacement in ([], ["pass"]):
                    body = [indent(lines[start]) + r for r in replacement]
                    shorter = lines[:start] + body + lines[end:]
                    if len("\n".join(shorter)) >= len("\n".join(lines)):
                        continue
                    if same_kind(difference("\n".join(shorter)), kind):
                        lines, improved = shorter, True
                        break
                else:
                    continue
                break
    return "\n".join(lines)


def same_kind(text: str, kind: str) -> bool:
    """Whether two differences are of one sort."""
    return bool(text) and text.split(":")[0] == kind.split(":")[0]


def indent(line: str) -> str:
    """The white space in front."""
    return line[: len(line) - len(line.lstrip())]


def block_end(lines: list[str], start: int) -> int:
    """One past the last line of the block that begins at `start`."""
    depth = len(indent(lines[start]))
    end = start + 1
    while end < len(lines) and len(indent(lines[end])) > depth:
        end += 1
    return end
