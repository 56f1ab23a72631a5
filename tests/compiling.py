# SPDX-License-Identifier: BSD-3-Clause
"""What it takes to run tests that know nothing of Magneto compiled."""

from __future__ import annotations

import unittest
from typing import Any

import magneto
import magneto.reports

# What went wrong in Magneto itself since the list was last cleared: where in
# the user's code, and what.
defects: list[str] = []


def collect_defects() -> None:
    """Internal errors are told to us and not to the test's own filters.

    That a function is compiled too often is told to nobody: tests look at what
    is written to stderr.
    """

    def internal_failure(details: dict[str, Any]) -> None:
        place = magneto.reports.place(details)
        defects.append(f"{place}: {details['what']}")

    magneto.reports.internal_failure = internal_failure
    magneto.reports.limit_reached = lambda details: None


def compile_test_methods() -> None:
    """From here on every test method of a unittest.TestCase is compiled, except
    those that run in an event loop.
    """
    call_plainly = unittest.TestCase._callTestMethod

    def call_compiled(test: unittest.TestCase, method: Any) -> None:
        if method.__name__.startswith("test"):
            method = magneto.compile(method, backend="eager")
        call_plainly(test, method)

    unittest.TestCase._callTestMethod = call_compiled
