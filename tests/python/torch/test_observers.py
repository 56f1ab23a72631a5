# SPDX-License-Identifier: BSD-3-Clause
"""Profilers, execution traces and modes, which observe operators from outside,
meet no fake tensor.
"""

from __future__ import annotations

import json

import pytest
import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

import magneto

LAYER = torch.nn.Linear(4, 4)
X = torch.ones(2, 4)


def program(x):
    y = torch.relu(LAYER(x))
    return y.sum() + torch.cat([x, x]).mean() + x.new_zeros(3).sum()


def broken(x):
    y = torch.relu(LAYER(x))
    y.data_ptr()
    return y.sum() + 1


SETTINGS = {
    "shapes": {"record_shapes": True},
    "stacks": {"record_shapes": True, "with_stack": True},
    "everything": {
        "record_shapes": True,
        "profile_memory": True,
        "with_flops": True,
        "with_modules": True,
    },
}


def operators(run, **settings):
    with profile(activities=[ProfilerActivity.CPU], **settings) as observer:
        run(X)
    return [
        (event.name, event.input_shapes)
        for event in observer.events()
        if event.name.startswith("aten::")
    ]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("fn", [program, broken])
def test_profiler_around_a_first_call(fn, settings, capfd):
    eager = operators(fn, **SETTINGS[settings])
    compiled = magneto.compile(fn, backend="eager")
    first = operators(compiled, **SETTINGS[settings])
    later = operators(compiled, **SETTINGS[settings])
    assert first == later == eager
    assert "Exception" not in capfd.readouterr().err


def test_profiler_is_on_behind_a_first_call():
    compiled = magneto.compile(program, backend="eager")

    def run(x):
        compiled(x)
        x.atan()

    assert ("aten::atan", [[2, 4]]) in operators(run, record_shapes=True)


def test_profiler_around_pytorchs_compilers():
    for backend in ("aot_eager", "inductor"):
        compiled = magneto.compile(program, backend=backend)
        with profile(
            activities=[ProfilerActivity.CPU], record_shapes=True
        ) as observer:
            result = compiled(X)
        torch.testing.assert_close(result, program(X))
        assert observer.events()


def test_execution_trace_of_a_first_call(tmp_path):
    def recorded(run, name):
        path = tmp_path / name
        observer = ExecutionTraceObserver().register_callback(str(path))
        observer.start()
        run(X)
        observer.stop()
        observer.unregister_callback()
        nodes = json.loads(path.read_text())["nodes"]
        return [n["name"] for n in nodes if n["name"].startswith("aten::")]

    compiled = magneto.compile(program, backend="eager")
    assert recorded(compiled, "first") == recorded(program, "eager")


class Listener(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.heard = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.heard.append(str(function))
        return function(*args, **(kwargs or {}))


def test_mode_around_a_first_call():
    compiled = magneto.compile(program, backend="eager")
    with Listener() as eager:
        program(X)
    with Listener() as first:
        compiled(X)
    assert first.heard == eager.heard
