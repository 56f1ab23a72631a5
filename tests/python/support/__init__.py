# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: helpers, tables of programs and operators, models."""
