# SPDX-License-Identifier: BSD-3-Clause
"""`magneto.config.reorderable_logging_functions`: a function that only prints
or logs is called behind the graph instead of breaking it.
"""

import io
import logging
import sys
import warnings
from contextlib import redirect_stdout

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, compare

LOGGER = logging.getLogger("magneto.tests.reorderable")
NOTES = []


def note(*args, **named):
    NOTES.append((args, named))


def refuse(word):
    raise ValueError(word)


def breaks(program, *arguments):
    """Where a program breaks the graph."""
    return magneto.explain(program)(*arguments).breaks


@pytest.fixture(autouse=True)
def reorderable(monkeypatch):
    functions = {print, warnings.warn, logging.Logger.info, note, refuse}
    monkeypatch.setattr(
        magneto.config, "reorderable_logging_functions", functions
    )
    NOTES.clear()


def of_shapes(x, n):
    print("begins", x.shape, n)
    y = x * n
    print(f"{n} of {y.shape[0]}", y.dtype, sep=" | ", end="!\n")
    return y + 1


def of_tensors(x, n):
    y = x.sum()
    print(y, x, n * 2)
    return y * n


def in_a_loop(x, n):
    for i in range(3):
        x = x + i
        print(i, x[0], (i, n))
    return x


def helper(x):
    print("inside", x.shape)
    return x.exp()


def in_a_callee(x, n):
    print("before")
    x = helper(x)
    print("behind")
    return x * n


def of_other_functions(x, n):
    note("one", x.shape, number=n)
    y = x + n
    note(y, number=n)
    return y


def logged(x, n):
    LOGGER.info("%s by %d", x.shape, n)
    return x * n


def warned(x, n):
    warnings.warn(f"of {n}", stacklevel=1)
    return x * n


def in_an_order_with_writes(x, n):
    seen = []
    print("first", n)
    seen.append(n)
    print("second", len(seen))
    return x + n, seen


def within_a_block(x, n):
    try:
        print("tried", n)
        return x * n
    finally:
        print("done", x.shape)


PROGRAMS = [
    of_shapes,
    of_tensors,
    in_a_loop,
    in_a_callee,
    of_other_functions,
    logged,
    warned,
    in_an_order_with_writes,
    within_a_block,
]


def outcome(call, *arguments):
    """What a call gives and tells."""
    NOTES.clear()
    records = io.StringIO()
    handler = logging.StreamHandler(records)
    LOGGER.addHandler(handler)
    level = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    try:
        with (
            redirect_stdout(io.StringIO()) as out,
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            result = call(*arguments)
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
    texts = [str(each.message) for each in warned]
    return result, out.getvalue(), records.getvalue(), texts, list(NOTES)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_one_graph_tells_all_in_order(program, dynamic):
    backend = RecordingBackend()
    compiled = magneto.compile(
        program, backend=backend, fullgraph=True, dynamic=dynamic
    )
    for n in (2, 3, 2, 4):
        x = torch.arange(float(n + 1))
        expected = outcome(program, x, n)
        assert any(expected[1:])
        compare(expected, outcome(compiled, x, n))
    assert len(backend.graphs) <= 2


def test_breaks_keep_their_place():
    def program(x):
        print("one", x.shape)
        x = x + 1
        magneto.graph_break()
        print("two", x)
        print([1, 2])  # may change until the end
        print("three")
        return x * 2

    x = torch.ones(2)
    compiled = magneto.compile(program, backend="eager")
    compare(outcome(program, x), outcome(compiled, x))
    assert len(breaks(program, x)) == 2


def test_what_is_taken_back_is_told_once():
    def callee(x):
        print("in the callee")
        magneto.graph_break()
        return x + 1

    def program(x):
        print("one")
        x = callee(x * 2)
        print("two")
        return x

    x = torch.ones(2)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        compare(outcome(program, x), outcome(compiled, x))


def test_an_exception_of_the_program_comes_behind_it():
    def program(x):
        print("one")
        raise ValueError(x.shape)

    compiled = magneto.compile(program, backend="eager")
    out = io.StringIO()
    for _ in range(2):
        with redirect_stdout(out), pytest.raises(ValueError, match="2"):
            compiled(torch.ones(2))
    assert out.getvalue() == "one\none\n"


def test_its_own_exception_leaves_the_function():
    def program(x):
        refuse("now")
        return x + 1

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="now"):
            compiled(torch.ones(2))


def test_a_tensor_that_is_written_to_shows_what_is_written():
    def program(x):
        note(x)
        x.add_(1)
        return x

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    compiled(torch.ones(2))
    (((told,), _),) = NOTES
    assert told.tolist() == [2, 2]


def test_others_break_the_graph():
    def program(x):
        sys.stdout.write("one\n")
        return x + 1

    x = torch.ones(2)
    assert breaks(program, x)
    magneto.config.reorderable_logging_functions = set()
    assert breaks(of_shapes, x, 2)
