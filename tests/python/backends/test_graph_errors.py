# SPDX-License-Identifier: BSD-3-Clause
"""A compiled graph that raises when it runs: the exception is the one that
plain Python raises, where it raises it, and what would be caught is caught.
"""

import logging
import warnings

import pytest
import torch

import magneto
from magneto.testing import check, check_calls

X = torch.arange(4.0)


def pick(x):
    z = x * 2
    return z[x.long() + 1]


def raised_in_a_callee(x):
    y = x + 1
    return pick(y) + y


def raised_behind_a_break(x):
    y = x + 1
    magneto.graph_break()
    return pick(y) + y


def raised_with_cells(x):
    y = x + 1

    def inner():
        nonlocal y
        y = y * 2
        return pick(y)

    return inner() + y


def raised_with_star_arguments(x, *args, k=2, **kwargs):
    return pick(x) * k + args[0] + kwargs["z"]


def raised_before_effects(x):
    notes = []
    try:
        notes.append("begun")
        y = pick(x)
        notes.append("done")
    except IndexError as error:
        notes.append(str(error))
        y = x
    return y, notes


def raised_behind_a_break_in_a_block(x):
    notes = []
    try:
        y = x + 1
        magneto.graph_break()
        notes.append("behind")
        y = pick(y)
    except IndexError:
        notes.append("caught")
    finally:
        notes.append("finally")
    return y, notes


@pytest.mark.parametrize(
    "program",
    [
        raised_in_a_callee,
        raised_behind_a_break,
        raised_with_cells,
        raised_before_effects,
        raised_behind_a_break_in_a_block,
    ],
    ids=lambda p: p.__name__,
)
@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
def test_failure_is_what_it_is_in_plain_python(program):
    check(program, X, calls=3)


def test_failure_with_star_arguments_is_what_it_is_in_plain_python():
    check(raised_with_star_arguments, X, X, kwargs={"k": 3, "z": X})


def test_entry_that_failed_once_serves_the_next_call():
    good = torch.zeros(4)
    check_calls(
        raised_in_a_callee,
        [((good,), {}), ((X,), {}), ((good - 1,), {})],
        graphs=1,
    )


def test_user_is_told_once_that_a_function_runs_twice():
    call = magneto.compile(raised_before_effects, backend="eager")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            call(X)
    kinds = [w.category for w in caught]
    assert kinds == [magneto.exc.GraphFailedWarning]
    assert "raised_before_effects" in str(caught[0].message)


def test_error_of_the_backends_own_is_raised():
    def backend(gm, inputs):
        def run(*args):
            raise RuntimeError("out of luck")

        return run

    with pytest.raises(RuntimeError, match="out of luck"):
        magneto.compile(lambda x: x + 1, backend=backend)(X)


def test_what_a_graph_wrote_to_an_input_is_undone_and_plain_python_runs():
    def program(x):
        x.add_(1)
        return pick(x)

    x = torch.arange(4.0)
    with pytest.raises(IndexError):
        magneto.compile(program, backend="eager")(x)
    assert torch.equal(x, torch.arange(4.0) + 1)


def caught_while_tracing(x):
    try:
        return torch.cdist(x, x)
    except RuntimeError as error:
        return x + 1, str(error)


def test_an_error_that_the_program_catches_is_not_logged(caplog):
    with caplog.at_level(logging.DEBUG, "torch"):
        check_calls(caught_while_tracing, [((torch.ones(2, 2).int(),), {})])
    assert not [each for each in caplog.records if each.exc_info]
