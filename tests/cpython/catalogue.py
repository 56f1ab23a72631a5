# SPDX-License-Identifier: BSD-3-Clause
"""Which of CPython's test modules are run, and which of their tests may differ."""

MODULES = """
    list tuple dict set iter itertools generators exceptions with contextlib
    functools collections deque enum dataclasses descr super property patma
    scope unpack_ex extcall call string fstring format int float complex bool
    range slice sort operator heapq bisect copy weakref abc types typing
    coroutines raise traceback sys_settrace
""".split()
"""The names of the modules, without `test_`."""

QUICK = """
    tuple slice unpack_ex bisect
""".split()
"""Modules that take a moment and pass whole: part of the regular tests."""

REASONS: dict[str, str] = {}
"""Tests that pass in plain Python only, by `module.Class.method`, and why that
is as it should be."""
