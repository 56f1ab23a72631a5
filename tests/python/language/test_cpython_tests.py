# SPDX-License-Identifier: BSD-3-Clause
"""Part of CPython's own tests with every test method compiled; `make
test-cpython` runs all of them.
"""

import pytest

from tests.cpython.catalogue import MODULES, QUICK, REASONS
from tests.cpython.outcome import ModuleRun, Outcome
from tests.cpython.supervisor import run_module
from tests.cpython.table import Row, details


@pytest.mark.feature("B1")
@pytest.mark.feature("B2")
@pytest.mark.parametrize("module", QUICK)
def test_passes_as_in_plain_python(module):
    row = Row(
        module, run_module(module, "plain"), run_module(module, "compiled")
    )
    assert row.plain.outcomes
    assert row.is_good(), "\n".join(details(row, verbose=True))


def test_each_reason_is_about_a_module_that_is_run():
    for name in REASONS:
        assert name.split(".")[0].removeprefix("test_") in MODULES, name


@pytest.mark.parametrize(
    ("kind", "has_reason", "is_good"),
    [
        ("pass", False, True),
        ("fail", False, False),
        ("fail", True, True),
        ("pass", True, False),
    ],
)
def test_a_reason_stands_for_a_test_that_differs(
    kind, has_reason, is_good, monkeypatch
):
    if has_reason:
        monkeypatch.setitem(REASONS, "test_x.X.test_y", "because")
    plain = ModuleRun([Outcome("test_x.X.test_y", "pass", 0.0)])
    compiled = ModuleRun([Outcome("test_x.X.test_y", kind, 0.0)])
    row = Row("x", plain, compiled)
    assert row.is_good() == is_good
    assert any("test_y" in line for line in details(row, False)) == (
        (kind, has_reason) != ("pass", False)
    )
