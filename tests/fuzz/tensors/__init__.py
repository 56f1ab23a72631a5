# SPDX-License-Identifier: BSD-3-Clause
"""Views of tensors and writes through them: what shares memory with what, what is
known about each, and their gradients.
"""

GENERATORS = {
    "backends": "variants:try_behind",
    "variants": "variants",
    "views": "views",
}
