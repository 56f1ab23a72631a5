# SPDX-License-Identifier: BSD-3-Clause
# A part of CPython's own tests, with every test method compiled; all of them:
# `make test-cpython`.
import pytest

from tests.cpython.catalogue import QUICK
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
