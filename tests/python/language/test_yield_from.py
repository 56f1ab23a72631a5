# SPDX-License-Identifier: BSD-3-Clause
"""`yield from`: what is sent to a generator, thrown into it or returned by what
it delegates to goes where it goes in plain Python.
"""

import pytest
import torch

from magneto.testing import check_calls

X = torch.arange(4.0)


class Countdown:
    """An iterator that is no generator, whose end brings a value."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if not self.n:
            raise StopIteration("end")
        self.n -= 1
        return self.n


class Channel(Countdown):
    """The same, as much of a generator as a class can be."""

    def send(self, value):
        if value == "stop":
            raise StopIteration(7)
        return "sent", value

    def throw(self, error):
        return "thrown", repr(error)

    def close(self):
        print("closed")


class Broken(Countdown):
    """Any other attribute is an error of its own."""

    def __getattr__(self, name):
        return 1 // 0


def inner(notes):
    try:
        notes.append((yield 1))
        yield 2
    except ValueError as error:
        yield "caught", str(error)
    finally:
        notes.append("left")
    return "result"


def stubborn(notes):
    try:
        yield 1
    except GeneratorExit:
        yield 2


def delegate(iterator, notes):
    try:
        returned = yield from iterator
        notes.append(("returned", returned))
        yield "behind"
    except (KeyError, ZeroDivisionError, ValueError) as error:
        notes.append(("outer", repr(error)))
        yield "handled"
    finally:
        notes.append("outer left")


def drive(generator, notes, steps):
    """Send what is sent, throw what is thrown; None closes."""
    next(generator)
    for act, value in steps:
        try:
            notes.append(getattr(generator, act)(*value))
        except Exception as error:
            notes.append((act, repr(error)))
    return notes


MAKERS = {
    "generator": inner,
    "twice": lambda notes: delegate(inner(notes), notes),
    "stubborn": stubborn,
    "countdown": lambda notes: Countdown(2),
    "channel": lambda notes: Channel(2),
    "list": lambda notes: [1, 2],
}
STEPS = {
    "next": [("__next__", ())] * 4,
    "send": [("send", (5,)), ("send", ("stop",)), ("send", (None,))],
    "throw": [("throw", (ValueError("a"),)), ("send", (None,))],
    "throw another": [("throw", (KeyError("a"),)), ("send", (None,))],
    "close": [("close", ()), ("send", (None,))],
    "throw and close": [("throw", (ValueError("a"),)), ("close", ())],
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("maker", MAKERS)
def test_delegation(maker, step):
    def program(x):
        notes = []
        generator = delegate(MAKERS[maker](notes), notes)
        return drive(generator, notes, STEPS[step]), x + 1

    check_calls(program, [((X,), {})] * 2)


@pytest.mark.parametrize("act", ["send", "throw"])
def test_attributes_of_what_is_delegated_to_may_fail(act):
    def program(x):
        notes = []
        generator = delegate(Broken(2), notes)
        next(generator)
        try:
            getattr(generator, act)(ValueError("a"))
        except ZeroDivisionError as error:
            notes.append(("raised", str(error)))
        # It ends before it would be closed: what CPython says of an attribute
        # that can't be read then is written to stderr, with an address.
        list(generator)
        return notes, x + 1

    check_calls(program, [((X,), {})] * 2)
