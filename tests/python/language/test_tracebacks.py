# SPDX-License-Identifier: BSD-3-Clause
"""Frames in the tracebacks of exceptions that were raised and caught while
tracing: one for each call, with the variables as they are where it ends.
"""

import functools
import traceback
import weakref

import pytest
import torch

import magneto
from magneto.testing import check
from support.breaking import breaks

X = torch.arange(4.0)


def variables_of(entry):
    """Of the frames of a traceback: the variables of simple types."""
    seen = []
    while entry:
        found = {
            name: value
            for name, value in entry.tb_frame.f_locals.items()
            if isinstance(value, (int, str, list, dict, torch.Tensor))
        }
        seen.append((entry.tb_frame.f_code.co_name, found))
        entry = entry.tb_next
    return seen


def raising(x, n):
    text, unbound = "a", 1
    items = [n, text]
    named = {text: x + n}
    del unbound
    raise LookupError(len(items) + len(named))


def with_cells(x, n):
    captured = n + 1

    def inner():
        nonlocal captured
        captured += 1
        raising(x, captured)

    inner()


def changed_afterwards(x, n):
    count = n
    try:
        raising(x, count)
    finally:
        count += 5


def started(x, n):
    numbers = (x * i for i in range(n))
    first = next(numbers)
    raising(first, n)


class Computing:
    def __init__(self, x, n):
        self.of, self.n = x, n

    @functools.cached_property
    def fails(self):
        raising(self.of, self.n)

    @functools.cached_property
    def breaks(self):
        breaks()
        return self.of + self.n


def caught_in_a_call(x, n):
    count = n
    try:
        raising(x, n)
    except LookupError as error:
        return error.__traceback__, count


@pytest.mark.parametrize(
    "raises", [raising, with_cells, changed_afterwards, started]
)
def test_frame_that_was_only_traced_has_its_variables(raises):
    def program(x):
        try:
            raises(x, 2)
        except LookupError as error:
            return x + 1, variables_of(error.__traceback__.tb_next)

    check(program, X)


def test_frame_of_a_cached_property():
    def program(x):
        try:
            Computing(x, 2).fails  # noqa: B018
        except LookupError as error:
            entries = traceback.extract_tb(error.__traceback__)
            return x + 1, [(entry.name, entry.line) for entry in entries]

    check(program, X)


def test_cached_property_that_breaks_the_graph():
    def program(x):
        made = Computing(x, 2)
        return made.breaks + made.breaks, vars(made)

    check(program, X)


def test_frame_of_a_call_that_caught_has_its_variables():
    def program(x):
        entry, count = caught_in_a_call(x, 2)
        return x + count, variables_of(entry)

    check(program, X)


def test_frame_that_was_only_traced_can_be_cleared():
    def program(x):
        try:
            raising(x, 2)
        except LookupError as error:
            frame = error.__traceback__.tb_next.tb_frame
            before = len(frame.f_locals)
            frame.clear()
            return x + 1, before, dict(frame.f_locals)

    check(program, X)


# -- one frame for each call -----------------------------------------------------


def catching(x, n):
    errors = []
    for i in range(n):
        try:
            raising(x, i)
        except LookupError as error:
            errors.append(error)
    late = "late"
    return errors, late


def raised_again_by_name(x, n):
    errors = []
    try:
        try:
            raising(x, n)
        except LookupError as error:
            errors.append(error)
            later = n * 2
            raise error
    except LookupError as error:
        errors.append(error)
    del later
    return errors, n


def context_of_another(x, n):
    try:
        raising(x, n)
    except LookupError as first:
        kept = first
        try:
            raise ValueError(n)
        except ValueError as second:
            return [kept, second], "end"


def recursion(x, n):
    errors = []
    for i in range(2):
        try:
            raising(x, i)
        except LookupError as error:
            errors.append(error)
    if n:
        errors += recursion(x, n - 1)[0]
    return errors, n


def generator_that_catches(x, n):
    def values():
        for i in range(n):
            try:
                raising(x, i)
            except LookupError as error:
                yield error
        last = "last"
        yield ValueError(last)

    errors = list(values())
    return errors[:-1], errors[-1].args[0]


def lambda_in_between(x, n):
    call = lambda i: raising(x, i)  # noqa: E731
    errors = []
    for i in range(n):
        try:
            call(i)
        except LookupError as error:
            errors.append(error)
    return errors, "end"


SHARED = [
    catching,
    raised_again_by_name,
    context_of_another,
    recursion,
    generator_that_catches,
    lambda_in_between,
]


def frames_of(error):
    entry = error.__traceback__
    while entry:
        yield entry.tb_frame, entry.tb_lineno
        entry = entry.tb_next


def look_at(errors):
    """Which frames are the same, what they show, and where they have come to."""
    seen = [list(frames_of(error)) for error in errors]
    frames = list(dict.fromkeys(frame for each in seen for frame, _ in each))
    return (
        [
            [(frames.index(frame), *place) for frame, *place in each]
            for each in seen
        ],
        [frame.f_lineno for frame in frames],
        [variables_of(error.__traceback__) for error in errors],
    )


@pytest.mark.parametrize("catches", SHARED, ids=lambda f: f.__name__)
def test_exceptions_of_one_call_share_its_frame(catches):
    def program(x):
        errors, rest = catches(x, 2)
        return x + 1, rest, look_at(errors)

    check(program, X, calls=2)


@pytest.mark.parametrize("catches", SHARED, ids=lambda f: f.__name__)
def test_exceptions_that_outlive_the_compiled_part_share_it(catches):
    compiled = magneto.compile(catches, backend="eager")
    for _ in range(2):
        found, rest = compiled(X, 2)
        expected, expected_rest = catches(X, 2)
        assert rest == expected_rest
        # The outermost frame's variables aren't kept.
        places, lines, _ = look_at(found)
        assert (places, lines) == look_at(expected)[:2]


class Kept:
    pass


def test_what_a_call_lets_go_of_behind_a_break_dies_there():
    def inner(seen, kept):
        errors = []
        try:
            raise ValueError(len(seen))
        except ValueError as error:
            errors.append(error)
        magneto.graph_break()
        other = weakref.ref(kept.pop())
        seen.append(other() is None)
        return errors

    def program(x):
        seen, kept = [], [Kept()]
        errors = inner(seen, kept)
        return x + 1, seen, len(errors)

    check(program, X, calls=2)


# -- over graph breaks -----------------------------------------------------------


def raised_in_the_handler(x):
    try:
        raising(x, 1)
    except LookupError as first:
        magneto.graph_break()
        text = "b"
        try:
            raise ValueError(text)
        except ValueError as second:
            return first, second


def raised_by_what_breaks(x):
    @magneto.disable
    def fails():
        raise ValueError

    try:
        raising(x, 1)
    except LookupError as first:
        kept = first
        try:
            fails()
        except ValueError as second:
            return kept, second


def raised_out_of_the_handler(x):
    def inner():
        try:
            raising(x, 1)
        except LookupError:
            magneto.graph_break()
            raise ValueError  # noqa: B904

    try:
        inner()
    except ValueError as second:
        return second.__context__, second


def raised_twice(x):
    try:
        try:
            raising(x, 1)
        finally:
            magneto.graph_break()
            raise ValueError
    except ValueError as second:
        magneto.graph_break()
        try:
            raise KeyError  # noqa: B904
        except KeyError as third:
            return second.__context__, second, third


def in_recursion(x, n=2):
    """Each call's exceptions show its own frame."""
    try:
        raising(x, n)
    except LookupError as first:
        magneto.graph_break()
        others = in_recursion(x, n - 1) if n else ()
        try:
            raise ValueError  # noqa: B904
        except ValueError as second:
            return first, second, *others


def of_another_call(x):
    def fails(kind):
        magneto.graph_break()
        raise kind

    try:
        fails(ValueError)
    except ValueError as first:
        try:
            fails(KeyError)
        except KeyError as second:
            return first, second


@pytest.mark.parametrize(
    "raises",
    [
        raised_in_the_handler,
        raised_by_what_breaks,
        raised_out_of_the_handler,
        raised_twice,
        in_recursion,
        of_another_call,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("is_inner", [False, True])
def test_exceptions_on_both_sides_of_a_break_share_the_frame(raises, is_inner):
    def inner(x):
        return raises(x + 1)

    def look(call):
        seen = [list(frames_of(error)) for error in call(X)]
        frames = list(dict.fromkeys(f for each in seen for f, _ in each))
        for error in call(X):
            traceback.format_exception(error)
        return [[(frames.index(f), line) for f, line in each] for each in seen]

    program = inner if is_inner else raises
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert look(compiled) == look(program)
