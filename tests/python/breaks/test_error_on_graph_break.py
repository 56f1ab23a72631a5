# SPDX-License-Identifier: BSD-3-Clause
"""torch._dynamo.error_on_graph_break: regions where a graph break is an error."""

import pytest
import torch
import torch._dynamo

import magneto
from magneto.testing import compare

X = torch.arange(1.0, 4.0)
BACKENDS = ["eager", "aot_eager"]
region = torch._dynamo.error_on_graph_break
graph_break = torch._dynamo.graph_break


@pytest.fixture(autouse=True)
def installed():
    magneto.install()
    yield
    magneto.uninstall()
    assert not torch._dynamo.utils._get_error_on_graph_break()


def around_a_break(x):
    with region(True):
        y = x + 1
        graph_break()
    return y.sin()


def before_a_break(x):
    with region(True):
        y = x + 1
    graph_break()
    return y.sin()


def behind_a_break(x):
    graph_break()
    with region(True):
        y = x + 1
    graph_break()
    return y.sin()


@region(True)
def breaks(x):
    graph_break()
    return x + 1


@region(False)
def may_break(x):
    graph_break()
    return x + 2


def calls(x):
    return breaks(x.sin()) + 1


def breaks_and_calls(x):
    graph_break()
    return breaks(x.sin()) + 1


def calls_what_may_break(x):
    with region(True):
        return may_break(x) + 1


def nested(x):
    with region(True):
        with region(False):
            graph_break()
            y = x + 1
        return y * 2


def nested_and_behind(x):
    with region(True):
        with region(False):
            graph_break()
            y = x + 1
        z = y * 2
        graph_break()
    return z


def asks_data(x):
    with region(True):
        return x + (1 if x.sum() > 0 else 2)


def in_a_loop(x):
    for i in range(3):
        x = x * 2
        with region(i == 1):
            x = x + i
        graph_break()
    return x


def in_the_second_step(x):
    for i in range(3):
        with region(i == 1):
            graph_break()
            x = x + i
    return x


def in_a_try_block(x):
    try:
        with region(True):
            x = x + 1
            raise ValueError
    except ValueError:
        graph_break()
    return x.sin()


def in_a_callee(x):
    def callee(x):
        graph_break()
        return x + 1

    with region(True):
        y = callee(x)
    return y


FINE = [
    before_a_break,
    behind_a_break,
    may_break,
    calls_what_may_break,
    nested,
    in_a_loop,
    in_a_try_block,
]
ERRORS = [
    around_a_break,
    breaks,
    calls,
    breaks_and_calls,
    nested_and_behind,
    asks_data,
    in_the_second_step,
    in_a_callee,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", FINE)
def test_breaks_outside_of_a_region_are_breaks(program, backend):
    call = magneto.compile(program, backend=backend)
    for _ in range(2):
        compare(program(X), call(X))
    with pytest.raises(magneto.exc.Unsupported, match="^fullgraph=True"):
        magneto.compile(program, backend=backend, fullgraph=True)(X)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", ERRORS)
def test_breaks_in_a_region_are_errors(program, backend):
    call = magneto.compile(program, backend=backend)
    for _ in range(2):
        with pytest.raises(
            magneto.exc.Unsupported, match=r"^torch._dynamo.error_on_graph"
        ):
            call(X)
    with torch.compiler.set_stance("force_eager"):
        compare(program(X), call(X))


@pytest.mark.parametrize("program", [before_a_break, nested])
def test_they_run_with_inductor(program):
    compare(program(X), torch.compile(program)(X))


def test_without_install_they_are_breaks():
    magneto.uninstall()
    call = magneto.compile(around_a_break, backend="eager")
    compare(around_a_break(X), call(X))
