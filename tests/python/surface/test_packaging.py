# SPDX-License-Identifier: BSD-3-Clause
"""What says for which releases of PyTorch magneto is says the same."""

import re
import tomllib
from pathlib import Path

import magneto

ROOT = Path(__file__).resolve().parents[3]


def minors():
    lines = (ROOT / "tools" / "torch_releases.txt").read_text().splitlines()
    releases = [line for line in lines if not line.startswith("#")]
    return [int(release.split(".")[1]) for release in releases]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_releases_follow_each_other():
    assert minors() == list(range(minors()[0], minors()[-1] + 1))


def test_the_wheel_asks_for_these_releases():
    first, last = minors()[0], minors()[-1]
    assert project()["dependencies"] == [f"torch>=2.{first},<2.{last + 1}"]


def test_cmake_builds_for_these_releases():
    text = (ROOT / "cmake" / "Torch.cmake").read_text()
    (found,) = re.findall(r'MATCHES "\^2\\\\\.\(([\d|]+)\)', text)
    assert [int(minor) for minor in found.split("|")] == minors()


def test_ci_tests_one_of_them():
    text = (ROOT / "Makefile").read_text()
    (found,) = re.findall(r"^CI_TORCH := 2\.(\d+)\.\d+$", text, re.M)
    assert int(found) in minors()


def test_the_package_has_the_project_s_version():
    assert magneto.__version__ == project()["version"]
