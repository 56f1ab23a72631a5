# SPDX-License-Identifier: BSD-3-Clause
"""What says for which releases of PyTorch magneto is says the same."""

import re
import tomllib

import pytest

import magneto
from support.paths import ROOT, TOOLS


@pytest.fixture
def minors(monkeypatch):
    """The minor versions of PyTorch that torch_releases.txt names."""
    monkeypatch.syspath_prepend(TOOLS)
    import torch_releases

    return torch_releases.minors()


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_releases_follow_each_other(minors):
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_the_wheel_asks_for_these_releases(minors):
    first, last = minors[0], minors[-1]
    assert project()["dependencies"] == [f"torch>=2.{first},<2.{last + 1}"]


def test_cmake_builds_for_these_releases(minors):
    text = (ROOT / "cmake" / "Torch.cmake").read_text()
    (found,) = re.findall(r'MATCHES "\^2\\\\\.\(([\d|]+)\)', text)
    assert [int(minor) for minor in found.split("|")] == minors


def test_ci_tests_one_of_them(minors):
    text = (ROOT / "Makefile").read_text()
    (found,) = re.findall(r"^CI_TORCH := 2\.(\d+)\.\d+$", text, re.M)
    assert int(found) in minors


def test_the_package_has_the_project_s_version():
    assert magneto.__version__ == project()["version"]
