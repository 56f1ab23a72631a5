# SPDX-License-Identifier: BSD-3-Clause
"""Folders of the repository that tests read."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parents[1]
TOOLS = ROOT / "tools"
