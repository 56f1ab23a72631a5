# SPDX-License-Identifier: BSD-3-Clause
"""All rows over sizes that vary, and the tensors that they name.

In the description of a tensor `n` and `m` vary: "n 4" is a matrix of floats,
"n:int" a vector of indices below 3, "n m:bool" a matrix of truth values.
"""

from __future__ import annotations

import math

import torch

from support.operator_tables.layouts import (
    FACTORIES,
    IMAGES,
    JOINS,
    LAYERS,
    LOSSES,
    VIEWS,
)
from support.operator_tables.numbers import (
    NORMS,
    POINTWISE,
    PRODUCTS,
    REDUCTIONS,
    SCANS,
    SCATTERS,
)


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
