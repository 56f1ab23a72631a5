# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks: magneto beside torch.compile, row by row.

`python -m bench` measures every row of the table in DESIGN.md ("The peer,
measured"). Each number is the median over fresh processes, in which the two
compilers take turns.
"""
