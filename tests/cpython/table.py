# SPDX-License-Identifier: BSD-3-Clause
"""What differs between the two runs of a module, and the printed table."""

from __future__ import annotations

from dataclasses import dataclass

from tests.cpython.catalogue import REASONS
from tests.cpython.outcome import COUNTS, ModuleRun, Outcome

SLOWER = 10
"""A compiled test may take that many times the processor time of a plain
one ..."""
SECONDS = 2.0
"""... and that many seconds more, before it counts as slow."""


@dataclass
class Row:
    """One module in both modes."""

    module: str
    plain: ModuleRun
    compiled: ModuleRun

    def differences(self) -> list[Outcome]:
        """Tests that pass in plain Python only, and those with defects."""
        plain = self.plain.by_test()
        return [
            outcome
            for outcome in self.compiled.outcomes
            if not outcome.passed
            and (
                outcome.defects
                or (outcome.test in plain and plain[outcome.test].passed)
            )
        ]

    def unexplained(self) -> list[Outcome]:
        """Differences without a reason."""
        return [o for o in self.differences() if o.test not in REASONS]

    def outdated(self) -> list[str]:
        """Tests with a reason that pass."""
        return [
            outcome.test
            for outcome in self.compiled.outcomes
            if outcome.passed and outcome.test in REASONS
        ]

    def missing(self) -> list[str]:
        """Tests that were not run at all when compiled."""
        ran = self.compiled.by_test()
        return [o.test for o in self.plain.outcomes if o.test not in ran]

    def leaks(self) -> list[str]:
        """Test cases that live on when compiled only."""
        return sorted(set(self.compiled.leaks) - set(self.plain.leaks))

    def slow(self) -> list[tuple[str, float, float]]:
        """Name, plain and compiled seconds of the tests that got slow."""
        plain = self.plain.by_test()
        return [
            (o.test, plain[o.test].seconds, o.seconds)
            for o in self.compiled.outcomes
            if o.test in plain
            and o.seconds > SLOWER * plain[o.test].seconds
            and o.seconds > plain[o.test].seconds + SECONDS
        ]

    def is_good(self) -> bool:
        """Whether there is nothing to explain or to mend."""
        return not (
            self.unexplained()
            or self.outdated()
            or self.missing()
            or self.leaks()
            or self.compiled.failure
            or not self.compiled.outcomes
        )


def _passed(run: ModuleRun) -> int:
    return sum(outcome.passed for outcome in run.outcomes)


HEADER = (
    f"{'module':<16}{'tests':>7}{'plain':>7}{'comp.':>7}{'diff.':>7}"
    f"{'graphs':>8}{'breaks':>8}{'skips':>7}{'recomp.':>8}{'defects':>8}"
    f"{'seconds':>9}"
)


def line(row: Row) -> str:
    """The module's line of the table."""
    counts = [row.compiled.count(name) for name in COUNTS]
    seconds = sum(outcome.seconds for outcome in row.compiled.outcomes)
    return (
        f"{row.module:<16}{len(row.plain.outcomes):>7}{_passed(row.plain):>7}"
        f"{_passed(row.compiled):>7}{len(row.differences()):>7}"
        f"{counts[0]:>8}{counts[1]:>8}{counts[2]:>7}{counts[3]:>8}"
        f"{counts[4]:>8}{seconds:>9.1f}"
    )


def details(row: Row, verbose: bool) -> list[str]:
    """Everything that the line only counts."""
    lines = []
    for outcome in row.differences():
        why = REASONS.get(outcome.test)
        said = outcome.text.strip().splitlines()
        last = said[-1] if said else ""
        lines.append(f"    {outcome.kind} {outcome.test}: {why or last}")
        lines += [f"        defect in {text}" for text in outcome.defects]
        if verbose and not why:
            lines += ["        " + text for text in said]
    lines += [f"    passes, but has a reason {test}" for test in row.outdated()]
    if missing := row.missing():
        lines.append(f"    {len(missing)} missing, {missing[0]} first")
    lines += [f"    leaked {test}" for test in row.leaks()]
    lines += [
        f"    slow {test}: {before:.2f} s plain, {after:.2f} s compiled"
        for test, before, after in row.slow()
    ]
    if row.compiled.failure:
        lines.append(f"    {row.compiled.failure.strip()}")
    return lines


def total(rows: list[Row]) -> Row:
    """All modules as one."""
    plain, compiled = ModuleRun(), ModuleRun()
    for row in rows:
        plain.outcomes += row.plain.outcomes
        compiled.outcomes += row.compiled.outcomes
    return Row("all", plain, compiled)
