# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of one module in this process, plain or compiled, and writes a
line of JSON when a test starts and when it ends.

    python -m tests.cpython.worker test_list compiled out.jsonl [done.json]
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import sys
import tempfile
import time
import unittest
import weakref
from dataclasses import asdict
from pathlib import Path
from typing import Any

# In both modes, so that the two differ in nothing else.
import magneto
from tests.compiling import collect_defects, compile_test_methods, defects
from tests.cpython.outcome import COUNTS, Outcome


class Recorder(unittest.TestResult):
    """Writes what happens, as it happens."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = open(path, "a", buffering=1)
        self._name = ""
        self._kind = ""
        self._text = ""
        self._alive: list[tuple[str, Any]] = []

    def write(self, **entry: Any) -> None:
        """One line, at once: the process may die any time."""
        self._file.write(json.dumps(entry) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self._name, self._kind, self._text = test.unique_name, "pass", ""
        defects.clear()
        self._before = magneto.stats()
        self._began = time.process_time()
        self.write(start=self._name)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        seconds = time.process_time() - self._began
        after = magneto.stats()
        counts = {name: after[name] - self._before[name] for name in COUNTS}
        outcome = Outcome(
            self._name, self._kind, seconds, self._text, counts, list(defects)
        )
        self.write(**asdict(outcome))
        self._alive.append((self._name, weakref.ref(test)))

    def leaks(self) -> list[str]:
        """Tests that ended and live on."""
        return [name for name, test in self._alive if test() is not None]

    def _note(self, kind: str, test: unittest.TestCase, err: Any) -> None:
        self._kind = kind
        self._text += self._exc_info_to_string(err, test) if err else ""

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        if isinstance(test, unittest.TestCase):
            self._note("error", test, err)
        else:  # a fixture of a class or of the module
            self.write(failure=f"{test}: {err[1]!r}")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note("fail", test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._kind = "skip"

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._kind = "expected"

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._kind, self._text = "fail", "passes, which is not expected"

    def addSubTest(self, test: Any, sub: Any, err: Any) -> None:  # noqa: N802
        if err:
            self._note("fail", test, err)


def _flatten(suite: Any) -> list[Any]:
    if not isinstance(suite, unittest.TestSuite):
        return [suite]
    return [test for part in suite for test in _flatten(part)]


def _load(module_name: str, done: list[str]) -> unittest.TestSuite:
    """The module's tests without those that are done, each with a name that no
    other has.
    """
    module = importlib.import_module(f"test.{module_name}")
    seen: dict[str, int] = {}
    suite = unittest.TestSuite()
    for test in _flatten(
        unittest.defaultTestLoader.loadTestsFromModule(module)
    ):
        name = test.id().removeprefix("test.")
        seen[name] = seen.get(name, 0) + 1
        test.unique_name = name + (f"#{seen[name]}" if seen[name] > 1 else "")
        if test.unique_name not in done:
            suite.addTest(test)
    return suite


def main() -> None:
    """See the module's text."""
    module_name, mode, path, *rest = sys.argv[1:]
    done = json.loads(Path(rest[0]).read_text()) if rest else []
    faulthandler.enable()
    sys.argv = [module_name]
    from test import support

    support.use_resources = []
    if mode == "compiled":
        compile_test_methods()
        collect_defects()
    # Temporary files of the tests land in the working directory.
    os.chdir(tempfile.mkdtemp(dir=os.path.dirname(path)))
    recorder = Recorder(path)
    suite = _load(module_name, done)
    # Tests that collect garbage a hundred times needn't go over all of torch.
    gc.collect()
    gc.freeze()
    suite.run(recorder)
    # A test may be in a cycle of its own, as where threads share its subTest().
    gc.unfreeze()
    gc.collect()
    recorder.write(leaks=recorder.leaks())


if __name__ == "__main__":
    main()
