# SPDX-License-Identifier: BSD-3-Clause
"""Of ``logging``."""

from __future__ import annotations

import logging


def is_enabled_for(self: logging.Logger, level: int) -> bool:
    """``Logger.isEnabledFor`` without writing to the logger's cache."""
    if self.disabled:
        return False
    if self.manager.disable >= level:
        return False
    return level >= self.getEffectiveLevel()
