# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks inside of an inlined call that leaves what cannot be handed to
the rest of its frame (an iterator in the list that it goes over): the innermost
call breaks instead, and what was traced before it stays.
"""

import functools
import logging

import pytest
import torch

import magneto
from magneto import logs
from magneto.testing import check

X = torch.arange(4.0)
W = torch.ones(4, requires_grad=True)
total = 0


def breaks(x):
    """Can't be gone on with behind its break."""
    numbers = [x.exp(), x + 2]
    going = iter(numbers)
    numbers.append(going)
    first = next(going)
    magneto.graph_break()
    return first + next(going)


def at_the_outermost(x):
    return breaks(x.sin()) * 2


def in_the_middle(x):
    def middle(y):
        return breaks(y.cos()) + 1

    def outer(y):
        return middle(y.tan()) * 2

    return outer(x.sin())


def through_c_code(x):
    def middle(y, k):
        return functools.partial(breaks, y.cos())() * k

    return functools.partial(middle, k=3)(x.sin())


def in_a_loop(x):
    def step(y, i):
        return breaks(y.sigmoid()) * i

    for i in range(3):
        x = step(x, i)
    return x


def in_contexts(x):
    def middle(y):
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            z = breaks(W * y.cos())
            return z * W, torch.is_grad_enabled()

    return middle(x.sin()), torch.is_grad_enabled()


def in_a_handler(x):
    def middle(y):
        try:
            raise ValueError(y.shape)
        except ValueError as error:
            z = breaks(y.cos())
            return z, str(error)

    return middle(x.sin())


def with_effects(x):
    """What the undone call did happens once, in its place."""

    def fails(y, seen):
        global total
        total += 1
        seen.append(total)
        print("inside", total)
        z = breaks(y.cos() + torch.rand(4))
        seen.append(z)
        return z

    global total
    total = 10
    seen = [torch.rand(4)]
    made = (fails(x.sin() + i, seen) for i in range(2))
    first = next(made)
    print("between")
    return first, next(made), seen, total


def with_a_generator_that_goes_on(x):
    def middle(values):
        y = next(values)
        return breaks(y.cos()) + next(values)

    def counts():
        for i in range(5):
            yield x.sin() + i

    values = counts()
    next(values)
    return middle(values), next(values)


def raised_behind_it(x):
    def fails(y):
        breaks(y.cos())
        raise KeyError("behind")

    try:
        return fails(x.sin())
    except KeyError as error:
        return error.args, error.__traceback__.tb_next.tb_lineno


PROGRAMS = [
    at_the_outermost,
    in_the_middle,
    through_c_code,
    in_a_loop,
    in_contexts,
    in_a_handler,
    with_effects,
    with_a_generator_that_goes_on,
    raised_behind_it,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gives_what_plain_python_gives(program):
    check(program, X, calls=3)


class Leaf(torch.nn.Module):
    def forward(self, x):
        return breaks(x.cos())


class Block(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.sin()) * 2


def test_in_modules():
    check(Block(Block(Leaf())), X, calls=2, backward=True)


class Calls(logging.Handler):
    def __init__(self):
        super().__init__()
        self.seen = []

    def emit(self, record):
        self.seen.append(record.magneto)


@pytest.fixture
def traced():
    """Records of the calls that go into graphs."""
    handler = Calls()
    logger = logging.getLogger("magneto.trace_call")
    logger.addHandler(handler)
    logs.set_logs("trace_call")
    yield handler.seen
    logs.set_logs()
    logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("program", "once"),
    [
        (at_the_outermost, ["sin"]),
        (in_the_middle, ["sin", "tan", "cos"]),
        (through_c_code, ["sin", "cos"]),
        (Block(Block(Leaf())), ["cos"]),
    ],
    ids=["at_the_outermost", "in_the_middle", "through_c_code", "modules"],
)
def test_what_came_before_is_traced_once(program, once, traced):
    magneto.compile(program, backend="eager")(X)
    assert not [each["id"] for each in traced if "_" in each["id"]]
    names = [each["target"].rpartition(".")[2] for each in traced]
    for name in once:
        assert names.count(name) == 1, names
