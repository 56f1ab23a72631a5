# SPDX-License-Identifier: BSD-3-Clause
"""The releases of PyTorch that magneto is for (torch_releases.txt)."""

from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")


def releases() -> list[str]:
    """All of them, as "2.13.0", oldest first."""
    lines = FILE.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def minors() -> list[int]:
    """Their minor versions, oldest first."""
    return [int(release.split(".")[1]) for release in releases()]
