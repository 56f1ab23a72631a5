# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions thrown into generators, what the end of a generator gives to its
consumer, and what dies when an exception unwinds the stack.
"""

import itertools

import pytest
import torch

import magneto
from magneto.testing import check


def told(error):
    """An exception with its context and the lines of its traceback."""
    lines, traceback = [], error.__traceback__
    while traceback is not None:
        lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    context = error.__context__
    return type(error), error.args, lines, context and type(context)


def numbers():
    yield 1
    return "end"


def handles():
    try:
        raise OSError
    except OSError:
        yield 1


def fresh():
    return numbers()


def suspended():
    it = numbers()
    next(it)
    return it


def handling():
    it = handles()
    next(it)
    return it


def finished():
    it = numbers()
    list(it)
    return it


@pytest.mark.parametrize("make", [fresh, suspended, handling, finished])
@pytest.mark.parametrize("kind", [KeyError, StopIteration])
def test_context_and_lines_of_what_is_thrown(make, kind):
    def program(x):
        it = make()
        try:
            try:
                [].missing
            except AttributeError:
                it.throw(kind(1))
        except Exception as error:
            return x + 1, told(error)

    check(program, torch.ones(2))


def stops(value):
    raise StopIteration(value)


ENDS = {
    "map": lambda: map(str, numbers()),
    "zip": lambda: zip([1, 2], numbers()),
    "enumerate": lambda: enumerate(numbers()),
    "filter": lambda: filter(None, numbers()),
    "islice": lambda: itertools.islice(numbers(), 5),
    "chain": lambda: itertools.chain(numbers()),
    "takewhile": lambda: itertools.takewhile(bool, numbers()),
    "a function that stops": lambda: map(stops, [3]),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_an_end_brings(name):
    def program(x):
        it, again = ENDS[name](), ENDS[name]()
        try:
            while True:
                next(it)
        except StopIteration as error:
            return x + 1, error.value, list(again)

    check(program, torch.ones(2))


def test_max_looks_at_items_one_by_one():
    def items(notes):
        yield 1
        notes.append("second")
        yield "b"
        notes.append("third")

    def program(x, notes):
        try:
            max(items(notes))
        except TypeError as error:
            return x + 1, str(error)

    check(program, torch.ones(2), [])


def test_an_iterator_that_an_exception_drops_dies_before_the_handler():
    def items(notes):
        try:
            yield 1
        finally:
            notes.append("closed")

    def broken(notes):
        for item in items(notes):
            magneto.graph_break()
            try:
                [].missing
            finally:
                notes.append(item)

    def program(x, notes):
        try:
            for _ in items(notes):
                magneto.graph_break()
                notes.append(x.sum() > 0)
                {}[1]
        except KeyError:
            notes.append("handled")
        try:
            broken(notes)
        except AttributeError:
            notes.append("handled")
        return x + 1

    check(program, torch.ones(2), [])
