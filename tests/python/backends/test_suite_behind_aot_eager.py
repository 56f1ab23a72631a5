# SPDX-License-Identifier: BSD-3-Clause
"""A part of `make test-behind`: programs that are right as they were captured
may be wrong behind PyTorch's compilers.
"""

import os
import subprocess
import sys

from support.paths import ROOT, TESTS

FILES = [
    "language/test_generic_aliases.py",
    "torch/test_attention_kernels.py",
    "breaks/test_graph_breaks.py",
    "breaks/test_blocks.py",
    "effects/test_failures_after_writes.py",
]


def test_programs_behind_aot_eager():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + ["--behind", "aot_eager", *(str(TESTS / name) for name in FILES)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:]
