# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of PyTorch's operators under a compiler of PyTorch's, with a
number that varies a little, or what is computed of it: by itself, with a tensor
whose number is known, or out of such a tensor. Where torch.compile doesn't give
what plain Python gives either, that compiler is at fault, and nothing is said.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import torch

import magneto
from magneto.testing import Difference, compare
from tests.fuzz.operands.numbers import at, chosen, copied, seen
from tests.fuzz.support.running import finding

BACKEND = "aot_eager"
# Beside those that `numbers` leaves out: what they give is nobody's to say, or
# is one object for two calls with the same numbers.
LEFT_OUT = ["grid_sampler_2d", "broadcast_shapes"]

Form = Callable[[Any], Any]
# What becomes of the number, and stays the number.
FORMS: dict[str, Form] = {
    "itself": lambda n: n,
    "computed": lambda n: -(-n),
    "a tensor": lambda n: torch.tensor(1) * n,
    "added to a tensor": lambda n: torch.tensor(0).add(n, alpha=1),
    "out of a tensor": lambda n: (torch.tensor(2) * n - n).item(),
}


def told(call: Callable[..., Any], arguments: Any, number: Any) -> Any:
    """What a call gives, and whether it raises."""
    torch.manual_seed(0)
    try:
        return seen(call(number, copied(arguments, None, None)))
    except Exception as error:
        # Compilers say in words of their own what they refuse.
        return type(error)


def program_of(function: Any, place: Any, form: Form) -> Callable[..., Any]:
    """What is compiled."""

    def program(number: Any, arguments: Any) -> Any:
        given = copied(arguments, place, form(number))
        return function(*given[0], **given[1]), number

    return program


def difference(expected: list[Any], results: list[Any]) -> str:
    """What differs; compilers round otherwise."""
    try:
        compare(expected, results, rtol=1e-3, atol=1e-3)
    except Difference as error:
        return str(error)
    return ""


def try_seed(seed: int) -> str:
    """What differs for a seed; empty if nothing."""
    choose = random.Random(seed)
    op, arguments, places = chosen(choose)
    if not places or op.name in LEFT_OUT:
        return ""
    floats = [each for each in places if type(at(arguments, each)) is float]
    place = choose.choice(floats or places)
    first = at(arguments, place)
    step = 1 if type(first) is int else 0.25
    form = choose.choice(list(FORMS))
    program = program_of(op.op, place, FORMS[form])
    steps = (0, 1, 0, 2, 3)

    def results(call: Callable[..., Any]) -> list[Any]:
        return [told(call, arguments, first + k * step) for k in steps]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = results(program)
            if difference(expected, results(program)):
                return ""  # left to chance
            compiled = magneto.compile(program, backend=BACKEND)
            differs = difference(expected, results(compiled))
            if not differs:
                return ""
            theirs = torch.compile(program, backend=BACKEND)
            if difference(expected, results(theirs)):
                return ""
    finally:
        magneto.reset()
        torch._dynamo.reset()
    what = f"{op.name}, {place} of {arguments}: {form} of {first!r}"
    return finding(seed, what, f"{differs}\n{expected}")
