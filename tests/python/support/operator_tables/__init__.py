# SPDX-License-Identifier: BSD-3-Clause
"""Programs over sizes that vary, by kind of operator."""

from typing import Any

# A program and the sizes of its arguments: see rows.py.
Row = tuple[Any, ...]
