# SPDX-License-Identifier: BSD-3-Clause
"""What one test did, and what a whole module did."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

COUNTS = ("graphs", "graph_breaks", "skips", "recompiles", "internal_errors")
"""Those of `magneto.stats()` that are shown."""


@dataclass
class Outcome:
    """One test in one mode; `kind` is pass, skip, expected, fail, error, crash
    or hang.
    """

    test: str
    kind: str
    seconds: float
    text: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the test did what it should, without a defect of ours."""
        return self.kind in ("pass", "skip", "expected") and not self.defects


@dataclass
class ModuleRun:
    """All tests of a module, and whose test cases were never freed."""

    outcomes: list[Outcome] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    failure: str = ""

    def by_test(self) -> dict[str, Outcome]:
        """The outcomes by the tests' names."""
        return {outcome.test: outcome for outcome in self.outcomes}

    def count(self, name: str) -> int:
        """One of COUNTS, over all tests."""
        return sum(outcome.counts.get(name, 0) for outcome in self.outcomes)

    def save(self, path: Path) -> None:
        """Writes everything as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def load(path: Path) -> ModuleRun:
        """Reads what `save` wrote."""
        data = json.loads(path.read_text())
        data["outcomes"] = [Outcome(**entry) for entry in data["outcomes"]]
        return ModuleRun(**data)
