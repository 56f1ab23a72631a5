# SPDX-License-Identifier: BSD-3-Clause
"""Logs: each kind alone and together, on programs that break, compile again,
are skipped and raise.
"""

import itertools
import json
import logging
import os
import re
import subprocess
import sys

import pytest
import torch

import magneto
from magneto import logs
from support.asserting_programs import behind_a_write

X = torch.arange(1.0, 5.0)
NAMES = sorted(logs.ARTIFACTS)
LINE = re.compile(r"\[\d+/\d+(_\d+)?\] (\w+):")


def helper(x, n):
    return x * n


def program(x, n, items):
    for item in items:
        x = helper(x, item)
        magneto.graph_break("in a loop")
    if n > 2:
        raise LookupError(n)
    return x.sum(-1) + n


def skipped(x):
    try:
        return x + x.sum().item()
    finally:
        magneto.graph_break()


def run_all():
    """Breaks in a loop, another dtype, another number, an exception, a skip."""
    call = magneto.compile(program, backend="eager")
    results = [call(X, 1, [1, 2]), call(X.double(), 1, [1, 2]), call(X, 2, [3])]
    with pytest.raises(LookupError):
        call(X, 3, [1])
    results.append(magneto.compile(skipped, backend="eager")(X))
    return results


COMBINATIONS = [
    (),
    *[(name,) for name in NAMES],
    *itertools.combinations(NAMES, 2),
    tuple(NAMES),
]


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_each_combination_on_a_program_with_everything(names, heard, capsys):
    expected = run_all()
    magneto.reset()
    logs.set_logs(*names)
    for one, other in zip(run_all(), expected, strict=True):
        assert torch.equal(one, other)
    assert {r.name for r in heard.records} == {f"magneto.{n}" for n in names}
    for record in heard.records:
        name = record.name.removeprefix("magneto.")
        data = record.magneto
        assert data["artifact"] == name
        json.dumps(data)
        lines = record.getMessage().splitlines()
        assert lines
        for line in lines:
            assert LINE.match(line)[2] == name
            assert line.startswith(f"[{data['id']}]")
    # An observer's exception would be printed.
    assert "Exception ignored" not in capsys.readouterr().err


def test_records_say_what_the_texts_say(heard):
    logs.set_logs(*NAMES)
    run_all()
    guards = heard.named("guards")[0]
    assert any("x" in line for line in guards["guards"])
    breaks = heard.named("graph_breaks")
    asked = [b for b in breaks if b["reason"] == "asked-for"]
    assert asked[0]["detail"] == "in a loop"
    assert asked[0]["graph_break"]
    assert asked[0]["function"] == "program"
    assert asked[0]["stack"][0][2] == "program"
    raised = next(b for b in breaks if b["reason"] == "raised")
    assert not raised["graph_break"]
    assert raised["detail"] == "LookupError"
    assert raised["meaning"]
    assert raised["hint"]
    again = heard.named("recompiles")
    assert any("float64" in why for r in again for why in r["why"])
    bytecode = heard.named("bytecode")[0]
    assert "LoadGlobal" in bytecode["before"]
    assert bytecode["after"]
    assert "Call" in bytecode["island"]
    calls = [
        (node["name"], node["target"])
        for node in heard.named("graph")[0]["nodes"]
        if node["op"] == "call_function"
    ]
    assert calls == [("x", "operator.mul")] or calls == [
        ("mul", "operator.mul")
    ]
    sizes = heard.named("graph_sizes")[0]["sizes"]
    assert [4] in sizes.values()
    assert "def forward" in heard.named("graph_code")[0]["code"]
    texts = [
        r.getMessage() for r in heard.records if r.name.endswith("bytecode")
    ]
    assert "0x" not in "".join(texts)


def test_calls_are_told_with_their_line_while_the_trace_runs(heard):
    order = []

    def backend(gm, inputs):
        order.append("backend")
        return gm.forward

    class Order(logging.Handler):
        def emit(self, record):
            order.append(record.magneto["target"])

    def outer(x):
        y = helper(x, 2).sin()
        return torch.add(y, 1)  # the line

    logger = logging.getLogger("magneto.trace_call")
    handler = Order()
    logger.addHandler(handler)
    logs.set_logs("trace_call")
    try:
        magneto.compile(outer, backend=backend)(X)
    finally:
        logger.removeHandler(handler)
    # The backend hears of the graph when the trace is done.
    assert order == ["operator.mul", "Tensor.sin", "torch.add", "backend"]
    mul, sin, add = heard.named("trace_call")
    assert (mul["function"], mul["source"]) == ("helper", "return x * n")
    assert mul["filename"] == sin["filename"] == __file__
    assert mul["line"] == helper.__code__.co_firstlineno + 1
    assert sin["source"] == "y = helper(x, 2).sin()"
    assert add["source"] == "return torch.add(y, 1)  # the line"
    lines = heard.records[-1].getMessage().splitlines()
    assert lines[0].endswith(
        f"torch.add at {__file__}:{add['line']} in {outer.__qualname__}"
    )
    assert lines[1].endswith("return torch.add(y, 1)  # the line")


def test_calls_before_a_failure_were_told_already(heard):
    def fails(x):
        x.sin()
        raise LookupError

    logs.set_logs("trace_call")
    with pytest.raises(LookupError):
        magneto.compile(fails, backend="eager")(X)
    assert [r["target"] for r in heard.named("trace_call")] == ["Tensor.sin"]


def test_handlers_may_use_tensors_while_a_trace_runs(heard):
    seen = []

    class Computes(logging.Handler):
        def emit(self, record):
            seen.append(torch.ones(2).sum().item())

    logger = logging.getLogger("magneto.trace_call")
    handler = Computes()
    logger.addHandler(handler)
    logs.set_logs("trace_call")
    try:
        result = magneto.compile(lambda x: x + 1, backend="eager")(X)
    finally:
        logger.removeHandler(handler)
    assert seen == [2.0]
    assert torch.equal(result, X + 1)


def test_frames_and_compilations_are_numbered(heard):
    logs.set_logs("guards")
    call = magneto.compile(lambda x: x + 1, backend="eager")
    call(X)
    call(X.double())
    magneto.compile(lambda x: x - 1, backend="eager")(X)
    one, two, three = (r["id"].split("/") for r in heard.named("guards"))
    assert one[0] == two[0] != three[0]
    assert [one[1], two[1], three[1]] == ["0", "1", "0"]


def test_a_restarted_analysis_is_told_by_its_number(heard):
    """The graph can't assert what it reads behind a write to an input, which is
    found when it is traced: the analysis begins again, and breaks there.
    """
    logs.set_logs("trace_call", "graph_code", "graph_breaks", "guards")
    call = magneto.compile(behind_a_write, backend="eager")
    x = torch.tensor(4.0)
    assert torch.equal(call(x, X.clone()), behind_a_write(x, X.clone()))
    ids = dict.fromkeys(r["id"] for r in heard.named("trace_call"))
    first, again = list(ids)[:2]
    assert again == f"{first}_1"
    for name in ("graph_code", "guards", "graph_breaks"):
        assert heard.named(name)[0]["id"] == again
    for record in heard.records:
        for line in record.getMessage().splitlines():
            assert line.startswith(f"[{record.magneto['id']}] ")


def test_off_means_that_nothing_is_collected(heard):
    from magneto import _C, observers

    logs.set_logs("guards", "trace_call")
    assert len(observers._observers) == 1
    logs.set_logs()
    assert observers._observers == {}
    magneto.compile(program, backend="eager")(X, 1, [1])
    assert heard.records == []
    _C.set_observer(None)


def test_hits_are_silent(heard):
    call = magneto.compile(program, backend="eager")
    call(X, 1, [1, 2])
    logs.set_logs(*NAMES)
    call(X, 1, [1, 2])
    assert heard.records == []


def run_with(value, code="pass"):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import torch, magneto\n"
            "f = magneto.compile(lambda x: x.sin() + 1, backend='eager')\n"
            f"{code}\n"
            "f(torch.ones(2)); f(torch.ones(2))",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MAGNETO_LOGS": value},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_the_environment_names_several():
    lines = run_with("guards, graph_code,,trace_call")
    names = [LINE.match(line)[2] for line in lines]
    assert set(names) == {"guards", "graph_code", "trace_call"}
    assert names[0] == "trace_call"
    assert run_with("") == []
    assert run_with(" , ") == []


def test_a_wrong_name_in_the_environment_is_told_in_a_line():
    lines = run_with("grpah,trace_call")
    assert lines[0] == (
        "MAGNETO_LOGS: there is no log 'grpah'; there are " + ", ".join(NAMES)
    )
    assert {LINE.match(line)[2] for line in lines[1:]} == {"trace_call"}


def test_a_program_that_sets_logging_up_sees_each_text_once():
    lines = run_with(
        "trace_call",
        "import logging; logging.basicConfig(format='%(name)s %(message)s')",
    )
    heads = [line for line in lines if "Tensor.sin" in line]
    assert len(heads) == 1
    assert heads[0].startswith("magneto.trace_call [0/0]")


def test_wrong_names_are_errors():
    with pytest.raises(ValueError, match="there is no log 'grpah'; there are"):
        magneto.set_logs("guards", "grpah")
    assert not logs.enabled("guards")


def test_piece_that_begins_where_a_handler_does_has_a_line(heard):
    def program(x, y, notes):
        try:
            x = x @ y
        except RuntimeError as error:
            notes.append(str(error))
        return x + 1

    logs.set_logs("recompiles")
    compiled = magneto.compile(program, backend="eager")
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            compiled(torch.ones(2, 3), torch.ones(2, 3), [])
    first = program.__code__.co_firstlineno
    told = heard.named("recompiles")
    assert told
    assert all(first <= each["line"] <= first + 6 for each in told), told
