# SPDX-License-Identifier: BSD-3-Clause
"""The default device of torch: what backends are given of it, and who sets and
restores it.
"""

import pytest
import torch

import magneto
from magneto.testing import check, check_calls, compare
from magneto.testing.graphs import calls_in

X = torch.arange(16.0).reshape(4, 4) / 7


def makes_tensors(x):
    with torch.device("meta"):
        a = torch.ones(2)
        b = torch.zeros((2,), device=None)
    return x + 1, a.device.type, b.device.type


def test_graphs_name_the_default_device():
    report = check(makes_tensors, X, graphs=1, graph_breaks=0)
    made = {
        node.target: node.kwargs.get("device")
        for node in report.graphs[0].graph.nodes
        if node.op == "call_function"
    }
    assert made[torch.ones] == made[torch.zeros] == torch.device("meta")


def test_default_device_of_the_caller_is_named_too():
    def program(x):
        return torch.ones(2).device.type, torch.tensor([x.shape[0]])

    with torch.device("meta"):
        report = check(program, X.cpu(), graphs=1)
    names = [name for _, name in calls_in(report.graphs[0])]
    assert names == ["torch.ones", "torch.tensor"]
    assert all(
        node.kwargs["device"] == torch.device("meta")
        for node in report.graphs[0].graph.nodes
        if node.op == "call_function"
    )


def test_default_device_of_tensors_of_sizes():
    def program(x):
        with torch.device("meta"):
            made = torch.tensor([x.shape[0], 2]), torch.arange(x.shape[0])
        return [t.device.type for t in made], [t.shape for t in made]

    check_calls(program, [((torch.ones(n),), {}) for n in (3, 4, 5)])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_tensors_of_numbers_on_the_meta_device(backend):
    """PyTorch's fakes can't be given such."""

    def program(x):
        with torch.device("meta"):
            made = torch.tensor([1])
            found = torch.nn.functional.one_hot(made, 3), made * 2
        return x + 1, found

    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    compare(compiled(X), program(X))


def test_default_device_that_is_left_by_the_caller():
    device = torch.device("meta")

    def program(x):
        device.__enter__()
        return x + 1

    def leave():
        device.__exit__(None, None, None)
        return torch.ones(1).device.type

    compiled = magneto.compile(program, backend="eager")
    for call in (program, compiled, compiled):
        call(X)
        assert torch.ones(1).device.type == "meta"
        assert leave() == "cpu"

    def leaves(x):
        y = x + 1
        device.__exit__(None, None, None)
        return y, torch.ones(1).device.type

    compiled = magneto.compile(leaves, backend="eager")
    for call in (leaves, compiled, compiled):
        device.__enter__()
        assert call(X)[1] == "cpu"
        assert torch.ones(1).device.type == "cpu"
