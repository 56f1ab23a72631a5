# SPDX-License-Identifier: BSD-3-Clause
"""Programs of everything, of one size or twice it."""

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
import warnings

import torch

import magneto
from magneto.testing import Difference, check_calls
from tests.fuzz.general import world
from tests.fuzz.general.writer import Writer
from tests.fuzz.support.running import NoEnd, finding, limited
from tests.fuzz.support.showing import named

# What the program sees as its globals.
NAMES = {
    **named(
        torch, magneto, collections, contextlib, copy, dataclasses, functools,
        itertools, math, operator, random, warnings,
    ),
    "world": world,
    **{n: v for n, v in vars(world).items() if not n.startswith("_")},
}  # fmt: skip

SIZE = 12  # statements


def write(seed: int, size: int = 0) -> str:
    """The program of a seed."""
    size = size or (SIZE if seed % 4 else 2 * SIZE)
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


def differs(source: str, seed: int = 0) -> str:
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


def try_seed(seed: int) -> str:
    """What differs for the program of a seed; empty if nothing."""
    source = write(seed)
    return finding(seed, source, differs(source))
