# SPDX-License-Identifier: BSD-3-Clause
"""Writes src/tensor/structured_ops.inc: torch's structured operators.

A structured operator has its shape logic in C++, callable as `at::meta::name`.

    python tools/gen_structured_ops.py    with each release, oldest first
"""

import re

import torch
from release_rows import ROOT, update

PATH = ROOT / "src" / "tensor" / "structured_ops.inc"
HEADER = """\
// SPDX-License-Identifier: BSD-3-Clause
// Written by tools/gen_structured_ops.py from torch's releases; don't edit.
// X(function of at::meta, operator of at::_ops, name)
"""


def is_structured(dump: str) -> bool:
    """Whether an operator's dispatch dump shows a C++ meta function."""
    default = r"^CompositeExplicitAutogradNonFunctional.*Register"
    meta = r"^Meta.*RegisterMeta"
    return bool(
        re.search(default, dump, re.MULTILINE)
        and re.search(meta, dump, re.MULTILINE)
    )


def row(name: str) -> str | None:
    """The table row of one operator, or None if it isn't structured."""
    if not is_structured(torch._C._dispatch_dump(name)):
        return None
    base, _, overload = name.removeprefix("aten::").partition(".")
    schema = torch._C._get_schema(f"aten::{base}", overload)
    if any(argument.alias_info for argument in schema.arguments):
        return None
    function = base + ("_symint" if "SymInt" in str(schema) else "")
    operator = f"{base}_{overload}" if overload else base
    return f'X({function}, {operator}, "{name}")'


def rows() -> list[str]:
    """The rows of the running release."""
    names = sorted(torch._C._dispatch_get_all_op_names())
    found = (row(name) for name in names if name.startswith("aten::"))
    return [line for line in found if line]


if __name__ == "__main__":
    update(PATH, HEADER, rows())
