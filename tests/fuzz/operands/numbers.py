# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of PyTorch's operators with a number that varies: first one that
the operator's own samples have, then ones that it may refuse, behind a write
and within a `try`.
"""

from __future__ import annotations

import functools
import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

import magneto
from magneto.testing import Difference, compare
from tests.fuzz.support.running import finding

# What a number becomes.
INTEGERS = [-1, 0, 5, 100, -100, 300, 2**40, -(2**40), 10**18, -(10**18)]
FLOATS = [-1.0, 0.0, math.inf, -math.inf, math.nan, 1e30, 1e308, -0.0]

# What such operators give is nobody's to say, or takes them too long.
LEFT_OUT = {
    "as_strided": "memory that isn't the tensor's",
    "as_strided_copy": "memory that isn't the tensor's",
    "combinations": "as many loops",
    "dsplit": "as many tensors",
    "grid_sampler_3d": "memory without numbers",
    "hsplit": "as many tensors",
    "linalg.lstsq": "numbers that LAPACK leaves to chance",
    "linalg.matrix_power": "as many products",
    "matrix_power": "as many products",
    "mvlgamma": "as many sums",
    "polygamma": "as many sums",
    "resize_": "memory without numbers",
    "special.polygamma": "as many sums",
    "split": "as many tensors",
    "split_with_sizes": "as many tensors",
    "tensor_split": "as many tensors",
    "unsafe_chunk": "as many tensors",
    "unsafe_split": "as many tensors",
    "vsplit": "as many tensors",
}


def is_told(op: OpInfo) -> bool:
    """Whether the operator's results are the same each time."""
    return op.name not in LEFT_OUT and "empty" not in op.name


OPERATORS = [op for op in op_db if is_told(op)]


@functools.cache
def samples(index: int) -> list[SampleInput]:
    """A few of PyTorch's own for an operator; none without any on the CPU."""
    op = OPERATORS[index]
    types = op.supported_dtypes("cpu")
    if not types:
        return []
    dtype = torch.float32 if torch.float32 in types else min(types, key=str)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(op.sample_inputs("cpu", dtype))
    return random.Random(op.name).sample(found, min(len(found), 12))


Path = tuple[Any, ...]


def numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where plain numbers stand in nested arguments."""
    if type(value) in (int, float):
        yield path
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from numbers(item, (*path, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))


def at(value: Any, path: Path) -> Any:
    """What stands there."""
    for step in path:
        value = value[step]
    return value


def copied(value: Any, path: Path | None, number: Any) -> Any:
    """The arguments with copies of all tensors, and a number in one place."""
    if path == ():
        return number
    if isinstance(value, torch.Tensor):
        return value.detach().clone()

    def inside(step: Any) -> Path | None:
        return path[1:] if path and path[0] == step else None

    if isinstance(value, dict):
        return {k: copied(v, inside(k), number) for k, v in value.items()}
    if type(value) in (list, tuple):
        items = [copied(v, inside(i), number) for i, v in enumerate(value)]
        return type(value)(items)
    return value


def seen(value: Any) -> Any:
    """What is compared of a result: not the items of what is expanded so far
    that it takes more than memory to look at.
    """
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return str(value.layout), value.shape, value.to_dense()
        if value.numel() > 1 << 16:
            return value.shape, value.stride(), value.dtype
        return value
    if isinstance(value, list | tuple):
        return [seen(item) for item in value]
    return value


def told(call: Callable[..., Any], arguments: Any) -> Any:
    """What a call gives, notes, and leaves of what it wrote to."""
    x, notes = torch.ones(2), []
    torch.manual_seed(0)
    try:
        result = seen(call(x, notes, arguments))
    except Exception as error:
        # Behind the first line, PyTorch shows where its code stands in memory.
        result = type(error), str(error).split("\n")[0]
    return [result, x, notes, seen(arguments[0])]


def program_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is compiled."""

    def program(x: Any, notes: Any, arguments: Any) -> Any:
        x.add_(1)
        notes.append("begun")
        try:
            result = function(*arguments[0], **arguments[1])
            notes.append("done")
        except Exception as error:
            notes.append(str(error).split("\n")[0])
            result = type(error)
        return result, x * len(notes)

    return program


def chosen(choose: random.Random) -> tuple[OpInfo, Any, list[Path]]:
    """An operator, arguments of a sample of its, and where numbers stand in
    them: nowhere, too, and for an operator without a sample."""
    index = choose.randrange(len(OPERATORS))
    op, found = OPERATORS[index], samples(index)
    if not found:
        return op, [[], {}], []
    sample = choose.choice(found)
    arguments = [[sample.input, *sample.args], dict(sample.kwargs)]
    return op, arguments, list(numbers(arguments))


def try_seed(seed: int) -> str:
    """What differs for a seed; empty if nothing."""
    choose = random.Random(seed)
    op, arguments, places = chosen(choose)
    if not places:
        return ""
    place = choose.choice(places)
    first = at(arguments, place)
    step, others = (1, INTEGERS) if type(first) is int else (0.5, FLOATS)
    program = program_of(op.op)
    compiled = magneto.compile(program, backend="eager")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in [first, first + step, *choose.sample(others, 5)]:
                eager, again, result = (
                    told(call, copied(arguments, place, number))
                    for call in (program, program, compiled)
                )
                try:
                    compare(eager, again)
                except Difference:
                    continue  # left to chance
                try:
                    compare(eager, result)
                except Difference as error:
                    what = f"{op.name}, {place} of {arguments}: {number!r}"
                    return finding(seed, what, f"{error}\n{eager}\n{result}")
    finally:
        magneto.reset()
    return ""
