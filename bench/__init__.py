# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks: magneto beside torch.compile, row by row.

`python -m bench` measures every row of rows.py; the table in README.md is what
it gave last. Each number is the median over fresh processes, in which the two
compilers take turns.
"""
