# SPDX-License-Identifier: BSD-3-Clause
"""The README's program does what the README says."""

import re

import magneto
from support.paths import ROOT


def test_the_example_runs_as_one_graph():
    text = (ROOT / "README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    before = magneto.stats()["graphs"]
    names = {}
    exec(compile(program, "README.md", "exec"), names)
    assert magneto.stats()["graphs"] - before == 1
    assert names["history"] == [8]
    assert names["result"]["out"].shape == (8, 16)
