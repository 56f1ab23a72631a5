# SPDX-License-Identifier: BSD-3-Clause
"""Programs as people write them: many parts of Python at work in one function.

Each file of support/programs/ is one: `program`, and the `CALLS` it is called
with in turn, twice. The graph may break where it must.
"""

import importlib

import pytest

from magneto.testing import check_calls
from support.paths import TESTS

PROGRAMS = sorted(
    path.stem for path in (TESTS / "support/programs").glob("*.py")
)


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_compiled_is_eager(name):
    module = importlib.import_module(f"support.programs.{name}")
    # What an optimizer computes in another order when it is compiled.
    tolerance = getattr(module, "TOLERANCE", 0.0)
    check_calls(
        module.program,
        [(inputs, {}) for _ in range(2) for inputs in module.CALLS],
        rtol=tolerance,
        atol=tolerance,
    )
