# SPDX-License-Identifier: BSD-3-Clause
"""`magneto.explain`: graphs, breaks, decisions, guards, operations."""

import math

import pytest
import torch
from torch.overrides import BaseTorchFunctionMode

import magneto
from magneto.explanation import Decision

X = torch.arange(1.0, 5.0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return scaled(y, 2)


def scaled(y, n):
    factor = math.sqrt(n)
    if disabled(y):
        return y.relu() * factor
    return y


@magneto.disable
def disabled(y):
    return y.shape[0] == 4


@torch.compiler.disable
def disabled_by_torch(y):
    return y + 1


@torch.compiler.assume_constant_result
def three():
    return 3


def recorded(x):
    return x.sin() * 2


torch.compiler.allow_in_graph(recorded)


def line_of(fn, text):
    import inspect

    lines, first = inspect.getsourcelines(fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def decisions(found):
    return {d.function.rpartition(".")[2]: d for d in found.decisions}


def two_graphs(x):
    y = x.cos() + 1
    magneto.graph_break("between")
    return y.relu() * 2


def calls_disabled(x):
    return scaled(x.sin(), 2)


def test_graphs_breaks_guards_and_operations():
    found = magneto.explain(two_graphs)(X)
    assert torch.equal(found.result, two_graphs(X))
    assert (found.graph_count, found.graph_break_count) == (2, 1)
    assert found.op_count == 4
    assert found.ops == [
        ["Tensor.cos", "operator.add"],
        ["Tensor.relu", "operator.mul"],
    ]
    assert len(found.graphs) == 2
    assert len(found.guards) == 2
    assert any("x" in line for line in found.guards[0])


def test_breaks_have_reason_place_hint_and_the_users_stack():
    found = magneto.explain(calls_disabled)(X)
    broken = found.breaks[0]
    assert broken.reason == "disabled-function"
    assert broken.meaning
    assert broken.hint
    stack = broken.user_stack
    assert [frame.name for frame in stack] == ["calls_disabled", "scaled"]
    assert stack[0].lineno == broken.place.line
    assert stack[1].lineno == line_of(scaled, "if disabled")
    assert stack[1].line == "if disabled(y):"
    # The same can be read from the graph that ends there.
    first, *_, last = (g.compile_subgraph_reason for g in found.graphs)
    assert (first.reason, first.graph_break) == ("disabled-function", True)
    assert first.user_stack == stack
    assert (last.reason, last.graph_break) == ("", False)
    assert last.user_stack[0].filename == __file__


def test_breaks_at_the_top_are_placed_too():
    def f(x):
        y = x + 1
        magneto.graph_break("here")
        return y

    found = magneto.explain(f)(X)
    (broken,) = found.breaks
    (frame,) = broken.user_stack
    assert (frame.lineno, frame.name) == (broken.place.line, f.__qualname__)
    assert broken.place.line == line_of(f, "graph_break")
    assert "here [asked-for]" in str(broken)


def test_decisions_say_what_became_of_each_function_and_why():
    found = decisions(magneto.explain(Net())(X))
    assert found["forward"].decision == "inline"
    assert found["scaled"] == Decision(
        f"{__name__}.scaled", "inline", "written in Python"
    )
    assert found["sqrt"] == Decision(
        "math.sqrt", "inline", "computed while tracing"
    )
    assert found["relu"] == Decision(
        "Tensor.relu", "allow in graph", "an operation on tensors"
    )
    assert found["linear"].decision == "allow in graph"
    assert found["disabled"].decision == "skip"
    assert found["disabled"].why == "disabled is disabled"


MARKED = [
    (lambda x: recorded(x) + 1, "recorded", "allow in graph", "allow_in_graph"),
    (lambda x: disabled_by_torch(x) + 1, "disabled_by_torch", "skip", "not to"),
    (
        lambda x: [*map(lambda n: x + n, sorted([3, 1]))],
        "sorted",
        "inline",
        "computed",
    ),
    (
        lambda x: (x + 1, id(object())),
        "id",
        "skip",
        "id() of",
    ),
    (lambda x: (x + 1, __import__("os").getpid()), "getpid", "skip", "getpid"),
]


@pytest.mark.parametrize(("fn", "name", "decision", "why"), MARKED)
def test_marks_and_tables_decide(fn, name, decision, why):
    found = decisions(magneto.explain(fn)(X))
    assert found[name].decision == decision
    assert why in found[name].why


def test_each_decision_is_told_once_and_printed():
    def f(x):
        for _ in range(5):
            x = scaled_only(x)
        return x

    def scaled_only(x):
        return x * 2

    found = magneto.explain(f)(X)
    names = [d.function for d in found.decisions]
    assert len(names) == len(set(names))
    text = str(found)
    for d in found.decisions:
        assert str(d) in text
    assert "Graphs: 1" in text
    assert "Guards of piece 1:" in text


def test_functions_in_plain_python_are_told_with_their_reason():
    def f(x):
        return x + 1

    with BaseTorchFunctionMode():
        found = magneto.explain(f)(X)
    (skipped,) = found.skips
    assert skipped.reason == "torch-mode"
    assert torch.equal(found.result, X + 1)


def test_each_call_is_explained_from_scratch():
    def f(x):
        return x + 1

    explained = magneto.explain(f)
    assert [explained(X).graph_count for _ in range(2)] == [1, 1]


def test_what_the_program_raises_is_raised():
    def f(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        magneto.explain(f)(X)
    # Nobody listens any more.
    assert magneto.explain(lambda x: x + 1)(X).skips == []


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="explain\\(\\) takes a callable"):
        magneto.explain(3)


def test_assumed_constants_and_recorded_functions_in_the_graph():
    def f(x):
        return recorded(x) + three()

    found = magneto.explain(f)(X)
    assert torch.equal(found.result, X.sin() * 2 + 3)
    (graph,) = found.graphs
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert targets[0] is recorded
    assert graph.graph.find_nodes(op="output")
    assert found.op_count == 2


def asks_for_kernels(x):
    return x + torch.backends.cuda.flash_sdp_enabled()


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (torch.sin, "torch.get_default_device() is none that is set"),
        (torch.sin, "deterministic algorithms is off"),
        (torch.sin, "__torch_function__ is on"),
        (
            asks_for_kernels,
            "kernels of scaled_dot_product_attention is flash, efficient, "
            "math, cudnn, overrideable, in the order 1 2 0 3 4",
        ),
    ],
)
def test_state_of_torchs_is_told_in_words(program, line):
    found = magneto.explain(lambda x: program(x) + 1)(X)
    assert line in found.guards[0]


def test_a_recompilation_tells_the_state_in_words():
    def program(x):
        return x + torch.ones(4)

    compiled = magneto.compile(program, backend="eager", recompile_limit=1)
    compiled(X)
    torch.set_default_device("meta")
    try:
        with pytest.warns(
            magneto.exc.RecompileLimitWarning,
            match=r"device\(\) is none that is set, but it is meta",
        ):
            result = compiled(torch.ones(4, device="meta"))
    finally:
        torch.set_default_device(None)
    assert result.device.type == "meta"
