# SPDX-License-Identifier: BSD-3-Clause
"""The pytest plugin that runs a library's tests compiled."""

import json
import subprocess
import sys

TESTS = """
import random
import unittest

import numpy
import pytest
import torch

import magneto


@pytest.fixture
def x():
    return torch.ones(2)


def test_passes(x):
    assert (x + 1).sum() == 4


def test_fails(x):
    assert (x + 1).sum() == 5


async def test_coroutine():
    pass


class TestOfUnittest(unittest.TestCase):
    def test_method(self):
        self.assertEqual((torch.ones(2) + 1).shape, (2,))


def test_draws():
    assert 0 == (torch.rand(()).item(), random.random(), numpy.random.rand())


def test_graphs():
    print("graphs", magneto.stats()["graphs"])
"""


def outcomes(folder, *options):
    (folder / "test_it.py").write_text(TESTS)
    result = folder / "outcomes"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p"]
        + ["tests.compiled_tests", "-p", "no:cacheprovider", *options]
        + ["--rootdir", str(folder), "--outcomes", str(result), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = map(json.loads, result.read_text().splitlines())
    found = {line["test"].split("::")[-1]: line for line in lines}
    graphs = int(run.stdout.split("graphs ")[1].split()[0])
    return found, graphs


def test_outcomes_are_those_of_plain_python(tmp_path):
    plain, none = outcomes(tmp_path)
    compiled, graphs = outcomes(tmp_path, "--compiled")
    assert none == 0
    assert graphs >= 3
    assert not any(each["defects"] for each in compiled.values())
    assert {name: each["outcome"] for name, each in plain.items()} == {
        name: each["outcome"] for name, each in compiled.items()
    }
    assert plain["test_fails"]["outcome"] == "failed"
    # The numbers are in the message.
    drawn = [
        [
            line
            for line in each["test_draws"]["text"].splitlines()
            if "E " in line
        ]
        for each in (plain, compiled)
    ]
    assert drawn[0]
    assert drawn[0] == drawn[1]
    assert plain["test_method"]["outcome"] == "passed"
