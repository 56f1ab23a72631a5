# SPDX-License-Identifier: BSD-3-Clause
"""What the generators share: running programs, writing them, showing values."""
