# SPDX-License-Identifier: BSD-3-Clause
"""Operators over sizes that vary: one compilation more, for all sizes.

The rows are in support/operator_tables. The first call is compiled for its
sizes, the second makes those that differ symbols, and all others use that.
"""

from __future__ import annotations

from typing import Any

import pytest

import magneto
from magneto.testing import check_calls
from support.operator_tables import Row
from support.operator_tables.rows import ROWS, tensor

# Equal and unequal ones, primes, even and odd.
SIZES = [(5, 8), (6, 9), (7, 7), (11, 6), (8, 13), (4, 4), (16, 5), (12, 24)]


def calls(row: Row) -> list[Any]:
    return [
        (tuple(tensor(each, n, m) for each in row[1:]), {}) for n, m in SIZES
    ]


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
