# SPDX-License-Identifier: BSD-3-Clause
"""The README's program does what the README says."""

import magneto
from support.paths import TOOLS


def test_the_example_runs_as_one_graph(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    import try_wheel

    program = try_wheel.example()
    before = magneto.stats()["graphs"]
    names = {}
    exec(compile(program, "README.md", "exec"), names)
    assert magneto.stats()["graphs"] - before == 1
    assert names["history"] == [8]
    assert names["result"]["out"].shape == (8, 16)
