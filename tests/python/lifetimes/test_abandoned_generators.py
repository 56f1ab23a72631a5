# SPDX-License-Identifier: BSD-3-Clause
"""Generators that a program leaves inside of a with or try block: where nobody
holds one any more, it ends, as in plain Python.
"""

import contextlib
import gc
import sys
import time

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support.generators import Holder, numbers

X = torch.arange(4.0)


def leaving(body):
    """A loop over what body(notes) gives, left at its first item."""

    def program(x, notes):
        for i in body(notes):
            break
        notes.append("behind")
        return x + i

    program.__name__ = f"leaving_{body.__name__}"
    return program


def loop(x, notes):
    for i in numbers(notes):
        if i:
            break
    notes.append("behind")
    return x + i


def next_of_a_new_one(x, notes):
    y = x + next(numbers(notes))
    notes.append("behind")
    return y


def variable_of_a_call(x, notes):
    def inner():
        first, second = numbers(notes, "first"), numbers(notes, "second")
        return x + next(second) + next(first)

    y = inner()
    notes.append("behind")
    return y


def variables_of_the_function(x, notes):
    second, first = numbers(notes, "second"), numbers(notes, "first")
    y = x + next(first) + next(second)
    notes.append("end")
    return y


def overwritten(x, notes):
    generator = numbers(notes)
    y = x + next(generator)
    generator = numbers(notes, "next")
    notes.append("behind")
    y = y + next(generator)
    del generator
    notes.append("end")
    return y


def inside_of_others(x, notes):
    held = [enumerate(numbers(notes, "enumerated"))]
    y = x + next(held[0])[1]
    held = {"zipped": zip(range(3), numbers(notes, "zipped"))}
    notes.append("behind")
    y = y + next(held["zipped"])[1]
    held = None
    notes.append("end")
    return y


def attribute_of_an_object(x, notes):
    y = x + Holder(numbers(notes)).first()
    notes.append("behind")
    return y


def taken_out_of_a_list(x, notes):
    held = [numbers(notes, "first"), numbers(notes, "second")]
    y = x + next(held[0]) + next(held[1])
    held.pop()
    notes.append("behind")
    return y


def outer_with_inner(notes):
    inner = numbers(notes, "inner")
    try:
        yield next(inner)
        yield 1
    finally:
        notes.append("outer")


def delegating(notes):
    try:
        yield from numbers(notes)
    finally:
        notes.append("delegating")


def kept_by_the_caller(x, notes):
    generator = numbers(notes)
    notes.append(generator)
    y = x + next(generator)
    del generator
    notes.append("behind")
    return y


def returned(x, notes):
    def inner():
        generator = numbers(notes)
        next(generator)
        return generator

    generator = inner()
    notes.append("behind")
    return x + next(generator), generator


def in_a_closure(x, notes):
    generator = numbers(notes)

    def take():
        return x + next(generator)

    y = take()
    generator = None
    notes.append("behind")
    return y + take.__code__.co_argcount


def left_by_an_exception(x, notes):
    try:
        for i in numbers(notes):
            raise KeyError(i)
    except KeyError as error:
        notes.append(repr(error))
    notes.append("behind")
    return x + 1


def in_a_frame_left_by_an_exception(x, notes):
    def inner():
        generator = numbers(notes)
        raise KeyError(next(generator))

    try:
        inner()
    except KeyError as error:
        notes.append(repr(error))
    notes.append("behind")
    return x + 1


def while_another_is_handled(x, notes):
    try:
        raise KeyError
    except KeyError:
        for i in numbers(notes):
            break
        notes.append(type(sys.exc_info()[1]).__name__)
    return x + i


def handling(notes):
    try:
        raise LookupError
    except LookupError:
        yield 1
    finally:
        notes.append(type(sys.exc_info()[1]).__name__)


def without_gradients():
    with torch.no_grad():
        yield 1
        yield 2


def modes(x, notes):
    for i in without_gradients():
        notes.append(torch.is_grad_enabled())
        break
    notes.append(torch.is_grad_enabled())
    return x + i


@contextlib.contextmanager
def noted(notes):
    notes.append("enter")
    try:
        yield 1
    finally:
        notes.append("exit")


def context_entered_by_hand(x, notes):
    manager = noted(notes)
    y = x + manager.__enter__()
    del manager
    notes.append("behind")
    return y


def breaking(notes):
    try:
        yield 1
        yield 2
    finally:
        notes.append("before")
        magneto.graph_break()
        notes.append("closed")


leaving_breaking = leaving(breaking)


def one_that_breaks_in_a_call(x, notes):
    return leaving_breaking(x * 2, notes) + 1


def first_of(generator):
    """Which has no more of it when it returns; sorted() does."""
    first = next(generator)
    del generator
    return first


def sorted_by(key):
    def program(x, notes):
        def made():
            for name in "ab":
                yield numbers(notes, name)

        rest = sorted(made(), key=key)
        notes.append("sorted")
        y = x + next(rest[0])
        del rest
        notes.append("behind")
        return y

    program.__name__ = f"sorted_by_{key.__name__}"
    return program


def around_a_break(x, notes):
    generator = numbers(notes)
    y = x + next(generator)
    magneto.graph_break()
    y = y + next(generator)
    del generator
    notes.append("behind")
    return y


def several_loops(x, notes):
    for i in range(3):
        for j in numbers(notes, i, 5):
            x = x + j
            if j == i:
                break
        notes.append(i)
    return x


PROGRAMS = [
    (loop, 1),
    (next_of_a_new_one, 1),
    (variable_of_a_call, 1),
    (variables_of_the_function, 1),
    (overwritten, 1),
    (inside_of_others, 1),
    (attribute_of_an_object, 1),
    (taken_out_of_a_list, 1),
    (leaving(outer_with_inner), 1),
    (leaving(delegating), 1),
    (in_a_closure, 1),
    (left_by_an_exception, 1),
    (in_a_frame_left_by_an_exception, 1),
    (while_another_is_handled, 1),
    (leaving(handling), 1),
    (modes, 1),
    (context_entered_by_hand, 1),
    (sorted_by(next), 1),
    (sorted_by(first_of), 1),
    (leaving_breaking, 1),
    (one_that_breaks_in_a_call, 3),
    (around_a_break, 2),
    (several_loops, 1),
]


@pytest.mark.parametrize(
    ("program", "graphs"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
def test_generator_ends_where_nobody_holds_it(program, graphs):
    calls = [((x, []), {}) for x in (X, X + 1)]
    check_calls(program, calls, graphs=graphs)


@pytest.mark.parametrize(
    "program", [kept_by_the_caller, returned], ids=lambda p: p.__name__
)
def test_generator_lives_where_somebody_holds_it(program):
    results = []
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for call in (program, compiled, compiled):
        notes = []
        result = call(X, notes)
        results.append([n for n in notes if not hasattr(n, "gi_frame")])
        del result
        results[-1].append("dropped")
        notes.pop(0) if hasattr(notes[0], "gi_frame") else None
        results[-1].append(notes[-1])
    assert results[0] == results[1] == results[2]


def holds_itself(x, notes):
    def inner():
        box = []

        def body():
            try:
                yield len(box)
                yield 2
            finally:
                notes.append("closed")

        box.append(body())
        return x + next(box[0])

    y = inner()
    notes.append("behind")
    return y


def held_by_a_cycle(x, notes):
    box = [numbers(notes)]
    box.append(box)
    y = x + next(box[0])
    del box
    notes.append("behind")
    return y


@pytest.mark.parametrize(
    "program", [holds_itself, held_by_a_cycle], ids=lambda p: p.__name__
)
def test_garbage_ends_when_it_is_collected(program):
    compiled = magneto.compile(program, backend="eager")
    for call in (program, compiled, compiled):
        notes = []
        gc.disable()
        try:
            call(X, notes)
            assert notes == ["behind"], call
            gc.collect()
            assert len(notes) == 2
        finally:
            gc.enable()


def refuses(notes):
    try:
        yield 1
    finally:
        notes.append("refuses")
        yield 2


def raises(notes):
    try:
        yield 1
    finally:
        notes.append("raises")
        raise KeyError(3)


@pytest.mark.parametrize("body", [refuses, raises], ids=lambda b: b.__name__)
def test_errors_of_a_generator_that_ends_are_told(body, monkeypatch):
    program = leaving(body)
    compiled = magneto.compile(program, backend="eager")
    told = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda u: told.append(u.exc_type)
    )
    results = []
    for call in (program, compiled, compiled):
        notes = []
        call(X, notes)
        results.append((notes, told.copy()))
        told.clear()
    assert results[0] == results[1] == results[2]
    assert len(results[0][1]) == 1


def drops_at_its_end(notes):
    try:
        yield 1
        yield 2
    finally:
        held = {"a": [[numbers(notes)]]}
        held["a"] = Holder([1])
        held["a"] = [2]
        held.clear()
        notes.append("ended")


def breaking_twice():
    for i in range(2):
        magneto.graph_break()
        yield i


def test_what_a_generator_would_drop_is_only_looked_at_where_it_does():
    """Where the graph breaks, each is asked whether its end would be noticed."""

    def program(x, notes):
        several = [drops_at_its_end(notes), numbers(notes), numbers(notes)]
        y = x + sum(next(each) for each in several)
        for i in breaking_twice():
            y = y * i
        y = y * sum(next(each) for each in several)
        several.pop()
        notes.append("popped")
        return y

    check_calls(program, [((X, []), {})] * 2)


def test_many_steps_with_a_generator_and_a_list_that_grows():
    """Who holds the generator is asked at each step of the block."""

    @contextlib.contextmanager
    def noted(notes):
        notes.append("enters")
        try:
            yield
        finally:
            notes.append("leaves")

    def program(x, notes):
        for _ in range(5000):
            with noted(notes):
                pass
        return x + len(notes)

    compiled = magneto.compile(program, backend="eager")
    start = time.monotonic()
    assert compiled(X, []).tolist() == program(X, []).tolist()
    assert time.monotonic() - start < 6  # it takes about one, once took 13
