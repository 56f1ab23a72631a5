# SPDX-License-Identifier: BSD-3-Clause
"""A slice of `make test-behind`: what is right as it was captured may be wrong
behind PyTorch's compilers."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

FILES = [
    "test_aliases.py",
    "test_attention_kernels.py",
    "test_breaks.py",
    "test_breaks_in_blocks.py",
    "test_failures_after_writes.py",
]


def test_programs_behind_aot_eager():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + ["--behind", "aot_eager", *(str(HERE / name) for name in FILES)],
        cwd=HERE.parent.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:]
