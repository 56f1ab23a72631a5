# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin that compiles every test, to run the tests of any library:

    pytest -p tests.compiled_tests --compiled <tests>

Without --compiled it only counts. What passes without and fails with it is a
difference; `--outcomes FILE` writes a line of JSON for each test, which starts
with the same random numbers in both runs.
"""

from __future__ import annotations

import inspect
import json
import random
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import magneto
from tests.compiling import collect_defects, compile_test_methods, defects


def _is_plain(function: Any) -> bool:
    return not (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )


def _compiled(function: Any) -> Any:
    if not _is_plain(function):
        return function
    return magneto.compile(function, backend="eager")


class _CompilesTests:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        """Calls a test function in pytest's place."""
        function = pyfuncitem.obj
        if not _is_plain(function):
            return None
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        # Of hypothesis: the function that it calls with each example.
        inner = getattr(function, "hypothesis", None)
        if inner is not None:
            inner.inner_test = _compiled(inner.inner_test)
        else:
            function = _compiled(function)
        function(**arguments)
        return True


class _NotesOutcomes:
    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._path.write_text("")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        """Whatever fixtures and tests draw, they draw again."""
        random.seed(0)
        numpy.random.seed(0)
        torch.manual_seed(0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Writes the line of a test, or of a fixture that fails."""
        if report.when != "call" and report.outcome == "passed":
            return
        line = {
            "test": report.nodeid,
            "outcome": report.outcome,
            "text": report.longreprtext,
            "defects": list(defects),
        }
        defects.clear()
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def pytest_addoption(parser: Any) -> None:
    """The options that the module's text explains."""
    parser.addoption("--compiled", action="store_true")
    parser.addoption("--outcomes")


def pytest_configure(config: Any) -> None:
    """Registers what the options ask for."""
    if path := config.getoption("--outcomes"):
        config.pluginmanager.register(_NotesOutcomes(path))
    if not config.getoption("--compiled"):
        return
    config.pluginmanager.register(_CompilesTests())
    collect_defects()
    compile_test_methods()
