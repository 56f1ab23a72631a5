# SPDX-License-Identifier: BSD-3-Clause
"""A rollback takes back all that an instruction has done.

With MAGNETO_REHEARSE=1 each instruction is run, taken back and run again; what
the trace knows must be the same before both runs, and so must be what comes of
it.
"""

import os
import subprocess
import sys

import pytest

from support.paths import ROOT, TESTS

FILES = [
    "surface/test_golden_texts.py",
    "library/test_lru_cache.py",
    "lifetimes/test_abandoned_generators.py",
    "effects/test_side_effects.py",
    "effects/test_views.py",
]


@pytest.mark.parametrize("file", FILES)
def test_each_instruction_can_be_taken_back(file):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-W", "error::magneto.exc.InternalErrorWarning"),
            str(TESTS / file),
        ],
        cwd=ROOT,
        env=os.environ | {"MAGNETO_REHEARSE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
