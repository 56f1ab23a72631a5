# SPDX-License-Identifier: BSD-3-Clause
"""Graphs as text: what logs show, and the handle's own form."""

import json
import logging

import pytest
import torch

from magneto import backends, graph_text, logs
from magneto.graph_module import capture_module
from support.graph_recorder import Recorder, linear_relu

WEIGHT = "l_self_modules_layer_parameters_weight_"


@pytest.fixture
def gm():
    handle, inputs = linear_relu(bias=False)
    return capture_module(handle, inputs)


def test_handle_text_is_stable():
    handle, _ = linear_relu(bias=False)
    assert handle.text() == (
        "l_x_ = input L['x'] : float32[2, 3]\n"
        f"{WEIGHT} = input L['self']._modules['layer']._parameters['weight'] "
        ": float32[4, 3]\n"
        f"y = linear(l_x_, {WEIGHT}) : float32[2, 4]\n"
        "relu = relu(y) : float32[2, 4]\n"
        "sum_1 = .sum(relu, -1, keepdim=True) : float32[2, 1]\n"
        "return (sum_1, y)\n"
    )


def test_handle_lists_counts_and_targets():
    handle, _ = linear_relu(bias=False)
    assert (handle.call_count, handle.input_count) == (3, 2)
    assert handle.targets() == [torch.nn.functional.linear, torch.relu]
    assert handle.attributes() == {}


def test_graph_table(gm):
    lines = graph_text.graph_table(gm).splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    rows = [line.split("  ") for line in lines[2:]]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert rows[2:] == [
        ["call_function", "y", "linear", f"(l_x_, {WEIGHT})", "{}"],
        ["call_function", "relu", "torch.relu", "(y,)", "{}"],
        ["call_method", "sum_1", "sum", "(relu, -1)", "{'keepdim': True}"],
        ["output", "output", "output", "((sum_1, y),)", "{}"],
    ]


def test_graph_sizes(gm):
    assert graph_text.graph_sizes(gm).splitlines() == [
        "l_x_: (2, 3)",
        f"{WEIGHT}: (4, 3)",
        "y: (2, 4)",
        "relu: (2, 4)",
        "sum_1: (2, 1)",
    ]
    _, data_of = graph_text.LOGS["graph_sizes"]
    assert data_of(gm)["sizes"]["y"] == [2, 4]


def test_graph_code_shows_types_and_strides(gm):
    code = graph_text.graph_code(gm)
    assert 'L_x_: "f32[2, 3][3, 1]' in code
    assert "torch.relu(y)" in code


def test_texts_have_no_addresses():
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3))
    y = recorder.call(torch.dropout, x, 0.5, True)
    z = recorder.call(lambda value, other: value, y, object())
    gm = capture_module(recorder.finish((z,)), recorder.inputs)
    for text in (graph_text.graph_table(gm), gm._captured.handle.text()):
        assert "0x" not in text


def test_logs_are_off_until_asked_for(caplog, capsys):
    handle, inputs = linear_relu()
    with caplog.at_level(logging.INFO, "magneto"):
        backends.compile_graph(lambda gm, _: gm, handle, inputs)
    assert caplog.text == ""


@pytest.mark.parametrize("name", sorted(graph_text.LOGS))
@pytest.mark.parametrize("backend", ["eager", "callable"])
def test_logs_begin_with_frame_and_recompile(caplog, name, backend):
    handle, inputs = linear_relu()
    chosen = (
        backends.lookup_backend("eager")
        if backend == "eager"
        else lambda gm, _: gm.forward
    )
    logs.set_logs(name)
    try:
        with caplog.at_level(logging.INFO, "magneto"):
            backends.compile_graph(
                chosen, handle, inputs, frame_id=3, compile_id=1
            )
    finally:
        logs.set_logs()
    (record,) = caplog.records
    lines = record.getMessage().splitlines()
    assert all(line.startswith(f"[3/1] {name}:") for line in lines)
    assert "sum_1" in record.getMessage()
    data = dict(record.magneto)
    assert (data.pop("artifact"), data.pop("id")) == (name, "3/1")
    assert "sum_1" in json.dumps(data)


def test_an_unknown_log_is_an_error():
    with pytest.raises(ValueError, match="there is no log 'grpah'"):
        logs.set_logs("grpah")
