# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that vary: of what is passed, out of tensors' data, marked as
unbacked, and drawn.
"""

GENERATORS = {
    "data": "shapes:try_data",
    "draws": "draws",
    "shapes": "shapes",
    "unbacked": "shapes:try_unbacked",
}
