# SPDX-License-Identifier: BSD-3-Clause
"""Operators that are given functions, in each other."""

GENERATORS = {"nested": "nested"}
