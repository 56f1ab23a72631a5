# SPDX-License-Identifier: BSD-3-Clause
"""Of ``enum``."""

from __future__ import annotations

import enum
from typing import Any


def flag_invert(self: Any) -> Any:
    """``Flag.__invert__``, which doesn't keep its answer in the member."""
    if self._boundary_ in (enum.EJECT, enum.KEEP):
        return self.__class__(~self._value_)
    return self.__class__(self._singles_mask_ & ~self._value_)
