# SPDX-License-Identifier: BSD-3-Clause
"""Compiled functions among others: in each other, in threads, under a tracer,
beside torch.compile.
"""

import sys
import threading

import pytest
import torch

import magneto
from magneto.testing import check
from support.compiled_calls import compiled, moved

X = torch.arange(4.0)


# -- nesting, threads, tracing -------------------------------------------------


def test_compiled_functions_nest_and_recurse():
    inner = compiled(lambda x: x * 2)

    def f(x, n):
        return inner(x) if n == 0 else f(x, n - 1) + inner(x)

    check(f, X, 3, graphs=1)


def test_several_threads():
    def f(x, k):
        return torch.relu(x * k) + k

    call = compiled(f)
    failures = []

    def work(k):
        expected = f(X, k)
        for _ in range(200):
            if not torch.equal(call(X, k), expected):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_traced_threads_run_plain_python():
    def f(x):
        y = x + 1
        return y * 2

    call = compiled(f)
    call(X)
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is f.__code__:
            lines.append((event, frame.f_lineno - f.__code__.co_firstlineno))
        return tracer

    sys.settrace(tracer)
    try:
        result = call(X)
    finally:
        sys.settrace(None)
    assert torch.equal(result, (X + 1) * 2)
    assert lines[:3] == [("call", 0), ("line", 1), ("line", 2)]


def test_is_compiling_is_true_only_in_the_graph():
    def f(x):
        return x + (10 if magneto.is_compiling() else 1)

    assert torch.equal(f(X), X + 1)
    assert torch.equal(compiled(f)(X), X + 10)


def test_calls_of_a_backend_are_not_compiled():
    def helper(x):
        return x + 1

    def backend(gm, inputs):
        def run(*args):
            helper(args[0])
            return gm.forward(*args)

        return run

    def f(x):
        y = helper(x)
        magneto.graph_break()
        return y * 2

    call = magneto.compile(f, backend=backend)
    assert moved(lambda: call(X))["compilations"] == 2
    assert moved(lambda: call(X)) == {}


def test_generator_and_coroutine_functions_run_plain():
    @compiled
    def numbers(x):
        yield x + 1
        yield x + 2

    @compiled
    async def later(x):
        return x + 1

    assert [int(t.sum()) for t in numbers(X)] == [10, 14]
    coroutine = later(X)
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    assert torch.equal(stop.value.value, X + 1)


# -- torch.compile beside magneto ----------------------------------------------


def test_torch_compile_and_magneto_call_each_other():
    def helper(x):
        return x.sin() + 1

    theirs = torch.compile(helper, backend="eager")
    ours = compiled(helper)

    def calls_theirs(x):
        y = x * 2
        magneto.graph_break()
        return theirs(y) + helper(y)

    def calls_ours(x):
        y = x * 2
        torch._dynamo.graph_break()
        return ours(y) + helper(y)

    expected = helper(X * 2) * 2
    one = compiled(calls_theirs)
    two = torch.compile(calls_ours, backend="eager")
    for _ in range(3):
        assert torch.equal(one(X), expected)
        assert torch.equal(two(X), expected)
        assert torch.equal(theirs(X), helper(X))
        assert torch.equal(ours(X), helper(X))


def test_the_graph_break_of_torch_is_one():
    def program(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    (found,) = magneto.explain(program)(X).breaks
    assert found.reason == "asked-for"
    assert "torch._dynamo.graph_break()" in str(found)


def test_what_magneto_compiled_is_not_compiled_by_torch():
    theirs = []

    def their_backend(gm, inputs):
        theirs.append(gm)
        return gm.forward

    def backend(gm, inputs):
        def run(*args):
            return gm.forward(*args)

        return run

    ours = magneto.compile(lambda x: x + 1, backend=backend)

    def f(x):
        return ours(x.sin()).cos()

    call = torch.compile(f, backend=their_backend)
    for _ in range(2):
        assert torch.equal(call(X), (X.sin() + 1).cos())
    assert len(theirs) == 2
