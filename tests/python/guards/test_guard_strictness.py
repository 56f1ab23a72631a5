# SPDX-License-Identifier: BSD-3-Clause
"""Guards are never stricter than torch.compile's.

For each program, the calls that what magneto has compiled for the first ones
accepts contain those that torch.compile accepts. torch.compile is asked only
where magneto compiles again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter

import magneto
from magneto.testing.compare import compare
from support.operator_tables.programs import NUMBERS, PROGRAMS
from support.operator_tables.rows import ROWS, tensor

# The first two are compiled (the first with dynamic=True); sizes of 0 and 1 are
# left to shapes/test_dynamic_shapes.py.
SIZES = [(5, 8), (6, 9), (7, 7), (11, 6), (8, 13), (4, 4), (16, 5), (12, 24)]

Calls = list[tuple[Any, ...]]


def argument(description: str, n: int, m: int) -> Any:
    if description.startswith("="):
        return eval(description[1:], {"n": n, "m": m})
    return tensor(description, n, m)


def seeded(call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    torch.manual_seed(0)
    return call(*args)


def refused_by_magneto(
    program: Callable[..., Any], calls: Calls, dynamic: bool | None
) -> set[int]:
    """Calls that what was compiled for the first ones doesn't serve."""
    compiled_first = 1 if dynamic else 2
    refused: set[int] = set()
    expected = [seeded(program, args) for args in calls]
    left = list(range(compiled_first, len(calls)))
    while left:
        magneto.reset()
        compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
        for i in [*range(compiled_first), *left]:
            before = magneto.stats()["recompiles"]
            difference = compare(expected[i], seeded(compiled, calls[i]))
            assert not difference, f"call {i}: {difference}"
            if i < compiled_first:
                continue
            left.remove(i)
            if magneto.stats()["recompiles"] != before:
                # What was compiled for it is not to serve the next ones.
                refused.add(i)
                break
    return refused


def accepted_by_torch(
    program: Callable[..., Any], calls: Calls, dynamic: bool | None
) -> set[int]:
    # (An exception that leaves the stance "fail_on_recompile" would leave
    # torch's frame hook on for all tests to come.)
    compiled_first = 1 if dynamic else 2
    accepted = set()
    for i in range(compiled_first, len(calls)):
        torch._dynamo.reset()
        counter = CompileCounter()
        compiled = torch.compile(program, backend=counter, dynamic=dynamic)
        for args in calls[:compiled_first]:
            seeded(compiled, args)
        before = counter.frame_count
        seeded(compiled, calls[i])
        if counter.frame_count == before:
            accepted.add(i)
    torch._dynamo.reset()
    return accepted


ALL = {
    **ROWS,
    **{f"numbers-{name}": row for name, row in NUMBERS.items()},
    **{f"programs-{name}": row for name, row in PROGRAMS.items()},
}


@pytest.mark.parametrize("dynamic", [None, True], ids=["automatic", "dynamic"])
@pytest.mark.parametrize("name", ALL)
def test_what_torch_compile_accepts_is_accepted(
    name: str, dynamic: bool | None
) -> None:
    program, *descriptions = ALL[name]
    calls = [
        tuple(argument(each, n, m) for each in descriptions) for n, m in SIZES
    ]
    refused = refused_by_magneto(program, calls, dynamic)
    if not refused:
        return
    stricter = refused & accepted_by_torch(program, calls, dynamic)
    assert not stricter, [SIZES[i] for i in sorted(stricter)]
