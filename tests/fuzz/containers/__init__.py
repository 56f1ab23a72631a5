# SPDX-License-Identifier: BSD-3-Clause
"""Containers that change: while somebody goes over them, with keys that hash and
compare in Python, and in an order that tells what happened to them.
"""

GENERATORS = {"iteration": "iteration", "keys": "keys", "sets": "sets"}
