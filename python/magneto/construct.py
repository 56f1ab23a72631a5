# SPDX-License-Identifier: BSD-3-Clause
"""What artifacts call to make objects that no constructor makes directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def call(
    callable: Callable[..., Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """``callable(*args, **keywords)``."""
    return callable(*args, **keywords)
