# SPDX-License-Identifier: BSD-3-Clause
"""Generators that the traced code has made and not used up: behind the graph
they go on in plain Python where they were.
"""

import contextlib
import itertools
import sys

import pytest
import torch

import magneto
from magneto.testing import check
from magneto.testing.compare import compare

X = torch.arange(4.0)


def squares(x, count):
    try:
        for i in range(count):
            got = yield x * i
            if got is not None:
                x = x + got
    finally:
        count = -1
    return count


def returned_before_its_start(x):
    return squares(x + 1, 3)


def returned_when_half_done(x):
    generator = squares(x + 1, 4)
    return next(generator), generator.send(x), generator


def returned_at_its_end(x):
    generator = squares(x + 1, 2)
    return list(generator), generator


def returned_when_closed(x):
    generator = squares(x + 1, 2)
    first = next(generator)
    generator.close()
    return first, generator


def expression(x):
    y = x + 1
    generator = (y * i for i in range(4) if i != 2)
    return next(generator), generator


def infinite(x):
    def multiples():
        nonlocal x
        for i in itertools.count():
            x = x + 1
            yield x * i

    generator = multiples()
    return next(generator), next(generator), generator, x


def nested(x):
    def outer():
        yield x
        total = yield from squares(x, 3)
        yield total

    generator = outer()
    return next(generator), next(generator), generator


def twice_the_same(x):
    generator = squares(x, 3)
    next(generator)
    return [generator, generator]


def in_a_container_that_it_holds(x):
    box = []

    def fill():
        box.append(x + 1)
        yield box
        yield x

    generator = fill()
    box.append(generator)
    next(generator)
    return box[1], len(box), generator


def handled():
    return type(sys.exc_info()[1]).__name__


def while_it_handles(x):
    def handling():
        try:
            raise LookupError(1)
        except LookupError as error:
            yield x + 1
            yield handled(), error.args
        yield handled()

    generator = handling()
    return next(generator), handled(), generator


def while_it_handles_another_within(x):
    def handling():
        try:
            raise LookupError(1)
        except LookupError:
            try:
                raise KeyError(2)
            except KeyError as error:
                yield x + 1
                yield handled(), type(error.__context__).__name__
            yield handled()
        yield handled()

    generator = handling()
    return next(generator), generator


def that_raises_again(x):
    def handling():
        try:
            raise LookupError(x.shape)
        except LookupError:
            yield x + 1
            raise

    generator = handling()
    first = next(generator)

    def rest():
        try:
            next(generator)
        except LookupError as error:
            yield repr(error), handled()

    return first, rest()


def that_raises_while_it_handles(x):
    def handling():
        try:
            raise LookupError(1)
        except LookupError:
            yield x + 1
            raise KeyError(2)

    generator = handling()
    first = next(generator)

    def rest():
        try:
            next(generator)
        except KeyError as error:
            yield repr(error), repr(error.__context__)

    return first, rest()


class Suppressing:
    def __init__(self, notes):
        self.notes = notes

    def __enter__(self):
        self.notes.append("enter")

    def __exit__(self, kind, *args):
        self.notes.append(kind)
        return True


def in_a_with_block_that_handles(x):
    notes = []

    def handling():
        with Suppressing(notes):
            try:
                raise LookupError(1)
            finally:
                yield x + 1
                yield list(notes)
        yield list(notes), handled()

    generator = handling()
    return next(generator), generator


def that_began_in_a_handler(x):
    """It handles nothing itself: behind it, what its caller does."""

    def handling():
        yield handled()
        try:
            raise KeyError(1)
        except KeyError:
            yield handled()
        yield handled()
        yield handled()

    generator = handling()
    seen = []
    try:
        raise LookupError
    except LookupError:
        seen += [next(generator), next(generator), handled()]
    seen += [next(generator), handled()]
    try:
        raise ValueError
    except ValueError:
        seen += [next(generator), handled()]
    return seen, x + 1, generator


CONTINUED = [
    while_it_handles,
    while_it_handles_another_within,
    that_raises_again,
    that_raises_while_it_handles,
    in_a_with_block_that_handles,
    that_began_in_a_handler,
    returned_before_its_start,
    returned_when_half_done,
    returned_at_its_end,
    returned_when_closed,
    expression,
    infinite,
    nested,
    twice_the_same,
    in_a_container_that_it_holds,
]


def go_on(result, count=4):
    """What generators in the result still give, in the order they are met."""
    given = []
    for item in result if isinstance(result, (tuple, list)) else [result]:
        if hasattr(item, "gi_frame"):
            given.append(list(itertools.islice(item, count)))
        else:
            given.append(item)
    return given


@pytest.mark.parametrize("program", CONTINUED, ids=lambda p: p.__name__)
def test_generator_goes_on_behind_the_graph(program):
    def whole(x):
        return magneto.disable(go_on)(program(x))

    check(whole, X, calls=3)
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        expected, actual = go_on(program(X)), go_on(compiled(X))
        compare(expected, actual)


def over_a_break(x):
    given = []
    for y in squares(x + 1, 3):
        given.append(y * 2)
        magneto.graph_break()
        given.append(y + 1)
    return given


def contexts_over_a_break(x):
    notes = []

    @contextlib.contextmanager
    def noted(name):
        notes.append(f"enter {name}")
        try:
            yield name
        except ValueError:
            notes.append("swallowed")
        finally:
            notes.append(f"exit {name}")

    with noted("a") as name:
        y = x + 1
        magneto.graph_break()
        y = y * 2
    with noted("b"):
        y = y + 1
        magneto.graph_break()
        raise ValueError
    return y, name, notes


def decorated_context_over_a_break(x):
    @torch.no_grad()
    def inner():
        y = W * x
        magneto.graph_break()
        return y * W

    return inner(), torch.is_grad_enabled()


def thrown_into(x):
    def careful():
        try:
            yield x + 1
        except KeyError:
            yield x + 2

    generator = careful()
    first = next(generator)
    magneto.graph_break()
    return first, generator.throw(KeyError())


W = torch.ones(4, requires_grad=True)


@pytest.mark.parametrize(
    "program",
    [
        over_a_break,
        contexts_over_a_break,
        decorated_context_over_a_break,
        thrown_into,
    ],
    ids=lambda p: p.__name__,
)
def test_generator_is_used_on_both_sides_of_a_break(program):
    check(program, X, calls=3)


def test_frame_of_a_rebuilt_generator_is_what_tools_expect():
    generator = magneto.compile(returned_when_half_done, backend="eager")(X)[2]
    assert generator.__name__ == "squares"
    assert generator.gi_code is squares.__code__
    assert generator.gi_running is False
    frame = generator.gi_frame
    assert frame.f_code is squares.__code__
    assert sorted(frame.f_locals) == ["count", "got", "i", "x"]
    assert frame.f_globals is globals()


def left_by_return(x):
    notes = []

    def careful():
        try:
            yield x + 1
            yield x + 2
        finally:
            notes.append("closed")

    for y in careful():
        return y, notes


def left_by_break(x):
    notes = []

    def careful():
        yield x + 1
        yield x + 2

    def noting():
        try:
            yield from careful()
        finally:
            notes.append("closed")

    for y in noting():
        break
    notes.append("behind the loop")
    return y, notes


@pytest.mark.parametrize(
    "program", [left_by_return, left_by_break], ids=lambda p: p.__name__
)
def test_generator_that_nobody_has_any_more_runs_its_finally_block(program):
    check(program, X, calls=2)
