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
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="eager", dynamic=dynamic)
    accepted = set()
    for i, args in enumerate(calls):
        if i < (1 if dynamic else 2):
            seeded(compiled, args)
            continue
        with torch.compiler.set_stance("fail_on_recompile"):
            try:
                seeded(compiled, args)
            except RuntimeError as error:
                if "recompile" not in str(error):
                    raise
            else:
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
