# SPDX-License-Identifier: BSD-3-Clause
"""What a program asserts of numbers that come out of tensors: the graph asserts
it, and where it fails, plain Python raises the program's own error.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support import asserting_programs

t = torch.tensor


# -- what is asserted -------------------------------------------------------------


def asserted(x):
    n = x.item()
    torch._check(n > 1, lambda: "more than one")
    torch._check(n < 9)
    return torch.ones(n)


def asserted_with_the_number(x):
    n = x.item()
    torch._check(n > 1, lambda: f"not {n}")
    return torch.ones(n)


def settled_by_a_check(x):
    n = x.item()
    torch._check(n >= 3)
    y = torch.ones(n)
    return (y * 2 if n > 2 else y - 1), n >= 1, max(n, 2)


def equal_to_a_size(x):
    n = x.sum().item()
    torch._check(n == x.shape[0])
    return torch.ones(n) + x


ASSERTIONS = {
    asserted: ([t(3), t(8)], [t(1), t(9), t(-3)], RuntimeError),
    settled_by_a_check: ([t(3), t(7)], [t(2)], RuntimeError),
    equal_to_a_size: ([t([1, 1]), t([0, 2])], [t([1, 2])], RuntimeError),
}


@pytest.mark.parametrize("program", ASSERTIONS, ids=lambda each: each.__name__)
def test_the_graph_asserts(program: Callable[..., Any]) -> None:
    right, wrong, error = ASSERTIONS[program]
    calls = [((each,), {}) for each in (*right, *wrong, *right)]
    report = check_calls(program, calls, fullgraph=True)
    assert len(report.graphs) == 1
    compiled = magneto.compile(program, fullgraph=True, backend="eager")
    for each in wrong:
        with pytest.raises(error):
            compiled(each)


def sign_of_a_size(x):
    return torch.ones(12).view(x.item(), -1)


# As Python compiles it: pytest rewrites the statements of this module.
_ASSERTS = """
def python_assert(x):
    n = x.item()
    assert n > 2, f"{n} is too small"
    return torch.ones(n)

def python_assert_of_a_tensor(x):
    assert (x > 0).all(), "not positive"
    return x * 2
"""
_asserts: dict[str, Any] = {"torch": torch}
exec(compile(_ASSERTS, "<asserts>", "exec"), _asserts)


@pytest.mark.parametrize(
    "program",
    [
        sign_of_a_size,
        _asserts["python_assert"],
        _asserts["python_assert_of_a_tensor"],
    ],
    ids=lambda each: each.__name__,
)
def test_where_an_assertion_fails_plain_python_says_what_happens(
    program: Callable[..., Any],
) -> None:
    report = check_calls(
        program,
        [((t(n),), {}) for n in (3, 6, 1, -1, 12, -2, 4)],
        fullgraph=True,
    )
    assert len(report.graphs) == 1


def test_a_message_with_the_number_in_it() -> None:
    compiled = magneto.compile(
        asserted_with_the_number, fullgraph=True, backend="eager"
    )
    assert compiled(t(4)).shape == (4,)
    with pytest.raises(RuntimeError, match="^not 1$"):
        compiled(t(1))


def test_what_is_implied_is_asserted_once() -> None:
    def program(x):
        n = x.item()
        torch._check(n >= 3)
        torch._check(n >= 2)
        torch._check(n > 2)
        return torch.ones(n)

    report = check_calls(program, [((t(5),), {})], fullgraph=True)
    asserts = [
        node
        for node in report.graphs[0].graph.nodes
        if node.target is torch.ops.aten._assert_scalar.default
    ]
    assert len(asserts) == 1


# -- errors behind writes to inputs ------------------------------------------------


def written_then_raised(x, y):
    y.mul_(2)
    if x.item() <= 3:
        raise ValueError(x.item())
    return y * 2


def written_then_checked(x, y):
    y.mul_(2)
    torch._check_value(x.item() > 3, lambda: "too small")
    return y * 2


@pytest.mark.parametrize(
    "program",
    [
        asserting_programs.behind_a_write,
        written_then_raised,
        written_then_checked,
    ],
)
def test_errors_behind_writes_to_inputs(program: Callable[..., Any]) -> None:
    magneto.reset()
    calls = [((t(n), torch.ones(2)), {}) for n in (5, 1, 7, -3)]
    assert check_calls(program, calls).graph_breaks > 0
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported, match="torch._check"):
        compiled(t(5), torch.ones(2))


def written_then_said(x, y):
    y.mul_(2)
    torch._check(x.item() > 3, lambda: "too small")
    return y * 2


def at_least(n, least, y):
    torch._check(n >= least, lambda: f"less than {least}")
    return y + 1


def written_then_said_in_a_call(x, y):
    y.mul_(2)
    return at_least(x.item(), 4, y)


@pytest.mark.parametrize(
    "program", [written_then_said, written_then_said_in_a_call]
)
def test_the_graph_itself_raises_what_torch_check_says(
    program: Callable[..., Any],
) -> None:
    def raised(program: Callable[..., Any], y: torch.Tensor) -> tuple[Any, ...]:
        with pytest.raises(RuntimeError) as error:
            program(t(1), y)
        own = [each for each in error.traceback if each.path == Path(__file__)]
        return str(error.value), [(e.name, e.lineno) for e in own]

    calls = [((t(n), torch.ones(2)), {}) for n in (5, 7, 4)]
    report = check_calls(program, calls, fullgraph=True)
    assert len(report.graphs) == 1
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    expected = raised(program, torch.ones(2))
    assert raised(compiled, y := torch.ones(2)) == expected
    assert torch.equal(y, torch.full((2,), 2.0))


# -- errors behind what is seen only later ----------------------------------------


def drawn_then_out_of_range(x):
    y = torch.rand(2).add_(torch.empty(2).uniform_())
    return y, torch.arange(6)[x.item()]


@pytest.mark.parametrize(
    "program",
    [
        asserting_programs.behind_random_numbers,
        asserting_programs.behind_attention,
        drawn_then_out_of_range,
    ],
)
def test_random_numbers_are_drawn_once(program: Callable[..., Any]) -> None:
    magneto.reset()
    calls = [((t(n),), {}) for n in (5, 1, 4, -9)]
    check_calls(program, calls, fullgraph=True)


def test_running_statistics_are_updated_once() -> None:
    magneto.reset()
    calls = [((t(n), torch.zeros(2), torch.ones(2)), {}) for n in (5, 1, 4)]
    program = asserting_programs.behind_running_statistics
    assert check_calls(program, calls).graph_breaks > 0


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n = self.n - 1
        return self.n


def counts_down(x):
    for i in Countdown(x.item()):
        x = x + i
    return x


def caught(x):
    try:
        if x.item() > 3:
            raise ValueError
    except ValueError:
        return x - 1
    return x + 1


@pytest.mark.parametrize("program", [counts_down, caught])
def test_exceptions_that_are_answers_are_not_asserted(
    program: Callable[..., Any],
) -> None:
    calls = [((t(n),), {}) for n in (2, 5, 0, 3)]
    assert check_calls(program, calls).graph_breaks > 0
