# SPDX-License-Identifier: BSD-3-Clause
"""Operators over sizes that vary: one compilation more, for all sizes.

A row is a program and the sizes of its arguments, in which `n` and `m` vary:
"n 4" is a matrix of floats, "n:int" a vector of indices below 3, "n m:bool" a
matrix of truth values. The first call is compiled for its sizes, the second
makes those that differ symbols, and all others use that.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from operator_tables import Row
from operator_tables.layouts import (
    FACTORIES,
    IMAGES,
    JOINS,
    LAYERS,
    LOSSES,
    VIEWS,
)
from operator_tables.numbers import (
    NORMS,
    POINTWISE,
    PRODUCTS,
    REDUCTIONS,
    SCANS,
    SCATTERS,
)

import magneto
from magneto.testing import check_calls

# Equal and unequal ones, primes, even and odd.
SIZES = [(5, 8), (6, 9), (7, 7), (11, 6), (8, 13), (4, 4), (16, 5), (12, 24)]


def tensor(description: str, n: int, m: int) -> torch.Tensor:
    sizes_text, _, kind = description.partition(":")
    sizes = [eval(size, {"n": n, "m": m}) for size in sizes_text.split()]
    numbers = torch.arange(math.prod(sizes))
    if kind == "int":
        return (numbers % 3).reshape(sizes)
    if kind == "bool":
        return (numbers * 5 % 7 % 2 == 0).reshape(sizes)
    # Values between 0 and 1 that tell the elements apart, in no order.
    values = ((numbers * 7 % 101) + 1.0) / 103 + numbers * 1e-5
    if kind == "complex":
        return torch.complex(values, 1 - values).reshape(sizes)
    if kind == "last":
        return values.reshape(sizes).contiguous(
            memory_format=torch.channels_last
        )
    return values.reshape(sizes)


def calls(row: Row) -> list[Any]:
    return [
        (tuple(tensor(each, n, m) for each in row[1:]), {}) for n, m in SIZES
    ]


TABLES = {
    "reductions": REDUCTIONS,
    "scans": SCANS,
    "scatters": SCATTERS,
    "pointwise": POINTWISE,
    "norms": NORMS,
    "products": PRODUCTS,
    "views": VIEWS,
    "joins": JOINS,
    "factories": FACTORIES,
    "images": IMAGES,
    "losses": LOSSES,
    "layers": LAYERS,
}

ROWS = {
    f"{table}-{name}": row
    for table, rows in TABLES.items()
    for name, row in rows.items()
}

# Compiled anew for some sizes, and why.
MORE: dict[str, str] = {
    "products-chain": "the best order of the products depends on the sizes",
}


@pytest.mark.parametrize("name", ROWS)
def test_one_compilation_serves_all_sizes(name: str) -> None:
    magneto.reset()
    row = ROWS[name]
    check_calls(
        row[0],
        calls(row),
        recompiles=None if name in MORE else 1,
        fullgraph=True,
    )


@pytest.mark.parametrize("name", MORE)
def test_the_reason_still_holds(name: str) -> None:
    magneto.reset()
    row = ROWS[name]
    report = check_calls(row[0], calls(row), fullgraph=True)
    assert report.recompiles > 1, "it isn't compiled anew: drop its row"
