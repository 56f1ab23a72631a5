# SPDX-License-Identifier: BSD-3-Clause
"""Runs one random program eagerly and compiled, and makes a failing one small."""

import collections
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import math
import operator
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
    "collections": collections,
    "contextlib": contextlib,
    "copy": copy,
    "dataclasses": dataclasses,
    "functools": functools,
    "itertools": itertools,
    "math": math,
    "operator": operator,
    "random": random,
    "warnings": warnings,
    "world": world,
    **{n: v for n, v in vars(world).items() if not n.startswith("_")},
}


def write(seed: int, size: int = 12) -> str:
    """The program of a seed."""
    return Writer(random.Random(seed), size).program()


def inputs(variant: str = "") -> tuple:
    """What every program is called with, and what it is called with later."""
    x = torch.arange(4.0) - 1
    y = torch.linspace(0.5, 2.0, 4).requires_grad_()
    n = 2
    items = [3, "b", torch.ones(4)]
    table = {"a": 1, "b": torch.arange(4.0)}
    thing = world.Child(2, torch.full((4,), 0.5))
    other = world.Thing(1, torch.ones(4))
    known = {thing: 1, x: 2}
    notes: list = []
    thing.tags = {1, 8, 16}
    if variant == "one object":
        y, other = x, thing
    elif variant == "one list":
        thing.items = notes = items
        known = {other: 1, y: 3}
    elif variant == "held twice":
        table["b"] = thing.weight = x
        items[2] = thing
        known[other] = 0
    elif variant == "other values":
        n, items[0], table["a"], thing.count = 3, 4, 2, 5
        thing.tags = {16, 8, 1}
    elif variant == "other contents":
        items.pop()
        del table["b"]
        known.clear()
        thing.tags.discard(8)
    elif variant == "other types":
        x, items[1], table["a"] = x.double(), 1.5, "c"
        thing.count = True
    return x, y, n, items, table, thing, notes, other, known


CALLS = [
    "",
    "",
    "one object",
    "other values",
    "one list",
    "other contents",
    "held twice",
    "other types",
    "",
]  # fmt: skip


class NoEnd(BaseException):
    """A run took longer than any such program needs."""


@contextlib.contextmanager
def limited(seconds: float):
    """Raises NoEnd in what runs longer, and out of it, whatever a program's
    own `finally` makes of that.
    """
    has_expired = False

    def expire(signum, frame):
        nonlocal has_expired
        has_expired = True
        raise NoEnd

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    except BaseException:
        if has_expired:
            raise NoEnd from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if has_expired:
        raise NoEnd


def ends(program) -> bool:
    """Whether plain Python gets to the end of it soon, and not by recursion
    without end, whose depth nobody promises."""
    for number, variant in enumerate(CALLS):
        # What is drawn is what the compared calls draw.
        random.seed(number)
        torch.manual_seed(number)
        try:
            with limited(0.5):
                # A copy, as it is compared: sets may have another order.
                program(*copy.deepcopy(inputs(variant)))
        except (NoEnd, RecursionError):
            return False
        except Exception:
            continue
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
                    check_calls(
                        namespace["program"],
                        [(inputs(variant), {}) for variant in CALLS],
                    )
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
