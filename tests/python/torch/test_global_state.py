# SPDX-License-Identifier: BSD-3-Clause
"""Torch's global state, what ends a graph, and the table of torch's functions."""

import operator
import subprocess
import sys

import pytest
import torch
from torch import nn

import magneto
from magneto.testing import check
from support.paths import ROOT, TOOLS
from support.releases import MINOR

X = torch.arange(12.0).reshape(3, 4) / 7
Y = torch.linspace(-1, 1, 20).reshape(4, 5)
G = torch.linspace(0, 1, 12).reshape(3, 4).requires_grad_()


def program(fn, *inputs, id=None):
    return pytest.param(fn, inputs, id=id)


# -- state --------------------------------------------------------------------


def test_state_is_back_after_a_trace():
    import magneto

    def leave_it_off(x):
        torch._C._set_grad_enabled(False)
        return x * 2

    compiled = magneto.compile(leave_it_off, backend="eager", fullgraph=True)
    assert torch.is_grad_enabled()
    try:
        assert not compiled(G).requires_grad
        # The program's own effect, which the graph has.
        assert not torch.is_grad_enabled()
    finally:
        torch._C._set_grad_enabled(True)


def test_autocast_is_back_after_a_failed_trace():
    import magneto

    def fails(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            raise ValueError("inside")

    compiled = magneto.compile(fails, backend="eager")
    with pytest.raises(ValueError, match="inside"):
        compiled(X)
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    "change",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    ],
)
def test_ambient_state_is_guarded(change):
    import magneto

    def fn(x, y):
        return x @ y, torch.is_grad_enabled()

    compiled = magneto.compile(fn, backend="eager", fullgraph=True)
    x = X.clone().requires_grad_()
    for _ in range(2):
        expected, actual = fn(x, Y), compiled(x, Y)
        assert expected[1] == actual[1]
        assert expected[0].dtype == actual[0].dtype
        assert expected[0].requires_grad == actual[0].requires_grad
        with change():
            expected, actual = fn(x, Y), compiled(x, Y)
            assert expected[1] == actual[1]
            assert expected[0].dtype == actual[0].dtype
            assert expected[0].requires_grad == actual[0].requires_grad


def test_compiling_is_noticed():
    import magneto

    def fn(x):
        return torch.compiler.is_compiling(), x + 1

    assert magneto.compile(fn, backend="eager")(X)[0] is True
    assert fn(X)[0] is False


# -- what ends a graph --------------------------------------------------------


def backward_in_program(x):
    (x * x).sum().backward()
    return x.grad * 1


def numpy_in_program(x):
    return torch.from_numpy(x.numpy() + 1)


BREAKS = [
    program(lambda x: x.sum().item() + 1, X, id="item"),
    program(lambda x: x.tolist(), X, id="tolist"),
    program(lambda x: float(x.sum()), X, id="float"),
    program(lambda x: int(x.sum()), X, id="int"),
    program(lambda x: bool(x.sum() > 3), X, id="bool"),
    program(lambda x: x + 1 if x.sum() > 3 else x - 1, X, id="if"),
    program(lambda x: repr(x + 1), X, id="repr"),
    program(lambda x: f"{x.sum():.3f}", X, id="format"),
    program(lambda x: (x + 1).data_ptr() != 0, X, id="data_ptr"),
    program(numpy_in_program, X),
    program(lambda x: x.nonzero(), X, id="nonzero"),
    program(lambda x: x.unique(), X, id="unique"),
    program(lambda x: x[x > 1], X, id="mask"),
    program(
        lambda x: torch.ones(3, requires_grad=True) * x[:, 0], X, id="new-leaf"
    ),
    program(
        lambda x: torch.manual_seed(3) and torch.rand(2) + x[0, 0],
        X,
        id="manual_seed",
    ),
    program(lambda x: 1.0 in x, X, id="contains"),
    program(lambda x: nn.Parameter(x + 1).requires_grad, X, id="parameter"),
    program(
        lambda x: nn.Linear(4, 4, dtype=x.dtype)(x).shape, X, id="module-made"
    ),
]


@pytest.mark.parametrize(("fn", "inputs"), BREAKS)
def test_program_that_breaks_the_graph_is_eager(fn, inputs):
    check(fn, *inputs)


def test_backward_breaks_the_graph():
    import magneto

    for fn in (backward_in_program,):
        x = X.clone().requires_grad_()
        y = X.clone().requires_grad_()
        assert torch.equal(fn(x), magneto.compile(fn, backend="eager")(y))


# -- the table ----------------------------------------------------------------


def test_table_agrees_with_torch_compile(monkeypatch):
    """What we record, torch.compile records, with few exceptions."""
    import re

    from torch._dynamo import trace_rules
    from torch._dynamo.variables import TorchInGraphFunctionVariable

    monkeypatch.syspath_prepend(TOOLS)
    import release_rows

    text = (ROOT / "src/natives/torch/graph.def").read_text()
    rows = [release_rows.parse(line) for line in text.splitlines()]
    ours = {
        found.groups()
        for row in rows
        if row.covers(MINOR)
        and (
            found := re.match(r'MG_TORCH_FUNCTION\("(.*)", "(.*)"\)', row.text)
        )
    }
    assert len(ours) > 1000
    rules = trace_rules.get_torch_obj_rule_map()
    others = []
    for module, name in sorted(ours):
        found = operator.attrgetter(name)(__import__("sys").modules[module])
        if rules.get(found) is not TorchInGraphFunctionVariable:
            others.append(f"{module}.{name}")
    # Private or sparse ones that torch.compile's list has no row for, and the
    # C functions behind Python ones of the same name.
    public = [o for o in others if not o.rpartition(".")[2].startswith("_")]
    assert len(public) < 40, public


def test_switches_of_backends_that_change():
    def program(x):
        switches = torch.backends.mkldnn.enabled, torch.backends.cudnn.benchmark
        return x + 1, switches

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for enabled in (True, False, True):
        with torch.backends.mkldnn.flags(enabled=enabled):
            assert compiled(x)[1] == program(x)[1]
        with torch.backends.cudnn.flags(benchmark=enabled):
            assert compiled(x)[1] == program(x)[1]


def test_groups_of_processes_that_come_and_go():
    distributed = torch.distributed

    def program(x):
        return x + 1, distributed.is_initialized()

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    x = torch.zeros(2)
    assert compiled(x)[1] is False
    distributed.init_process_group(
        "gloo", store=distributed.HashStore(), rank=0, world_size=1
    )
    try:
        assert compiled(x)[1] is True
    finally:
        distributed.destroy_process_group()
    assert compiled(x)[1] is False


def test_cuda_that_is_initialized_meanwhile(monkeypatch):
    def program(x):
        return x + 1, torch.cuda.is_initialized()

    compiled = magneto.compile(program, backend="eager")
    x = torch.zeros(2)
    assert compiled(x)[1] is False
    monkeypatch.setattr(torch.cuda, "_initialized", True)
    assert compiled(x)[1] is True


def test_number_of_threads_between_operators():
    """It can be set once in a process."""
    source = """
import torch, magneto
program = lambda x: (x + 1, torch.get_num_interop_threads())
compiled = magneto.compile(program, backend="eager", fullgraph=True)
before = compiled(torch.ones(2))[1]
torch.set_num_interop_threads(before + 1)
assert compiled(torch.ones(2))[1] == before + 1
"""
    subprocess.run([sys.executable, "-c", source], check=True)
