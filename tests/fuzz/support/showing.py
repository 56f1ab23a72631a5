# SPDX-License-Identifier: BSD-3-Clause
"""Values in words that two runs share."""

from __future__ import annotations

import re
from typing import Any


def named(*objects: Any) -> dict[str, Any]:
    """Modules, classes and functions by their names, for a namespace."""
    return {each.__name__: each for each in objects}


def cleaned(text: str) -> str:
    """Without addresses, and without the frames of C++ that an error of
    PyTorch's may name.
    """
    text = text.partition("Exception raised from")[0]
    return re.sub("0x[0-9a-f]*", "0x", text)


def told(error: BaseException) -> tuple[str, str]:
    """An exception by its class and its words."""
    return type(error).__name__, cleaned(str(error))
