# SPDX-License-Identifier: BSD-3-Clause
"""Generators that a program leaves inside of a with or try block: where nobody
holds one any more, it ends, as in plain Python."""

import collections
import contextlib
import functools
import gc
import sys

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)


def numbers(notes, name="numbers", count=3):
    try:
        for i in range(count):
            yield i
    finally:
        notes.append((name, type(sys.exc_info()[1]).__name__))


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


class Holder:
    def __init__(self, generator):
        self.generator = generator

    def first(self):
        return next(self.generator)


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


def sorted_by_what_they_give(x, notes):
    def made():
        for name in "ab":
            yield numbers(notes, name)

    rest = sorted(made(), key=next)
    notes.append("sorted")
    y = x + next(rest[0])
    del rest
    notes.append("behind")
    return y


def sorted_by_a_function(x, notes):
    """Which has no more of them when it returns; sorted() does."""

    def made():
        for name in "ab":
            yield numbers(notes, name)

    def key(generator):
        first = next(generator)
        del generator
        return first

    rest = sorted(made(), key=key)
    notes.append("sorted")
    y = x + next(rest[0])
    del rest
    notes.append("behind")
    return y


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


def dropped(*drops):
    """Writes that drop the last holder of a generator, of each kind."""

    def program(x, notes):
        holder = Holder(None)
        for drop in drops:
            made = numbers(notes, drop.__name__)
            x = x + next(made)
            drop(holder, made, notes)
            notes.append("behind")
        return x

    program.__name__ = f"dropped_by_{drops[0].__name__}"
    return program


KEPT = []
kept_global = None


def item_of_a_dict(holder, made, notes):
    held = {"a": made}
    del made
    holder.held = held
    notes.append("held")
    del holder.held["a"]
    notes.append("deleted")
    holder.held = None


def item_of_a_list(holder, made, notes):
    held = [made, 1]
    del made
    notes.append("held")
    held[0] = None
    notes.append("set")


def slice_of_a_list(holder, made, notes):
    held = [made, 1]
    del made
    notes.append("held")
    held[:1] = []
    notes.append("set")


def attribute(holder, made, notes):
    holder.generator = made
    del made
    notes.append("held")
    holder.generator = None
    notes.append("set")


def deleted_attribute(holder, made, notes):
    holder.generator = made
    del made
    notes.append("held")
    del holder.generator
    notes.append("deleted")


def setattr_of_it(holder, made, notes):
    holder.generator = [made]
    del made
    notes.append("held")
    setattr(holder, "generator", 1)  # noqa: B010
    notes.append("set")


def cleared(holder, made, notes):
    held = {"a": [made]}
    del made
    notes.append("held")
    held.clear()
    notes.append("cleared")


def cleared_list_of_the_caller(holder, made, notes):
    KEPT.append(made)
    del made
    notes.append("held")
    KEPT.clear()
    notes.append("cleared")


def global_variable(holder, made, notes):
    global kept_global
    kept_global = made
    del made
    notes.append("held")
    kept_global = None
    notes.append("set")


def discarded(holder, made, notes):
    held = {made}
    held.discard(made)
    notes.append("held")
    del made
    notes.append("deleted")


def by_a_method(holder, made, notes):
    def forget():
        holder.generator = None
        notes.append("forgotten")

    holder.generator = made
    del made
    notes.append("held")
    forget()
    notes.append("called")


def updated(holder, made, notes):
    held = {"a": made}
    del made
    notes.append("held")
    held.update(a=1)
    notes.append("updated")


def bounded_deque(holder, made, notes):
    held = collections.deque([made], maxlen=1)
    del made
    notes.append("held")
    held.append(1)
    notes.append("appended")


DROPS = [
    item_of_a_dict,
    item_of_a_list,
    slice_of_a_list,
    attribute,
    deleted_attribute,
    setattr_of_it,
    cleared,
    cleared_list_of_the_caller,
    global_variable,
    discarded,
    by_a_method,
    updated,
    bounded_deque,
]

PROGRAMS = [
    *((dropped(drop), 1) for drop in DROPS),
    (dropped(*DROPS), 1),
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
    (sorted_by_what_they_give, 1),
    (sorted_by_a_function, 1),
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


def lets_go(notes, held):
    del held
    notes.append("in")


class Letting(torch.nn.Module):
    def forward(self, notes, held):
        lets_go(notes, held)
        notes.append("forward")


class Called:
    def __call__(self, notes, held):
        del held
        notes.append("in")

    def method(self, notes, held):
        del held
        notes.append("in")


def begun(notes):
    made = numbers(notes)
    next(made)
    return made


def given_away(call):
    """Whether the operands of the call outlive the callee's variables."""

    def program(x, notes):
        call(notes)
        notes.append("out")
        return x + 1

    return program


GIVEN = {
    "function": lambda notes: lets_go(notes, begun(notes)),
    "function's arguments": lambda notes: lets_go(*(notes, begun(notes))),
    "method": lambda notes: Called().method(notes, begun(notes)),
    "instance": lambda notes: Called()(notes, begun(notes)),
    "keyword": lambda notes: Called()(notes, held=begun(notes)),
    "module": lambda notes, module=Letting(): module(notes, begun(notes)),
    "partial": lambda notes: functools.partial(lets_go, notes)(begun(notes)),
    "in partial": lambda notes: functools.partial(
        lets_go, notes, begun(notes)
    )(),
}


@pytest.mark.parametrize("call", GIVEN.values(), ids=GIVEN)
def test_operands_that_c_code_holds_outlive_the_variables(call, no_frame_hook):
    check_calls(given_away(call), [((X, []), {})] * 2)


def lets_go_behind(notes, held):
    magneto.graph_break()
    del held
    notes.append("in")


def lets_go_before(notes, held):
    del held
    magneto.graph_break()
    notes.append("in")


class Dying:
    def __init__(self, notes):
        self.notes = notes

    def __del__(self):
        self.notes.append("dies")


class InForward(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, notes, held):
        self.function(notes, held)


def forwards_by_itself(module, notes, held):
    del held
    magneto.graph_break()
    notes.append("in")


WAYS = {
    "function": lambda function: function,
    "instance": lambda function: type(
        "C", (), {"__call__": staticmethod(function)}
    )(),
    "module": InForward,
    "forward": lambda _: type(
        "M", (InForward,), {"forward": forwards_by_itself}
    )(_),
    "partial": functools.partial,
}


@pytest.mark.parametrize("make", [begun, Dying])
@pytest.mark.parametrize("function", [lets_go_before, lets_go_behind])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_operands_that_c_code_holds_over_a_break(
    way, function, make, no_frame_hook
):
    called = way(function)

    def program(x, notes):
        called(notes, make(notes))
        notes.append("out")
        return x + 1

    check_calls(program, [((X, []), {})] * 3)


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


def breaking():
    for i in range(2):
        magneto.graph_break()
        yield i


def test_what_a_generator_would_drop_is_only_looked_at_where_it_does():
    """Where the graph breaks, each is asked whether its end would be noticed."""

    def program(x, notes):
        several = [drops_at_its_end(notes), numbers(notes), numbers(notes)]
        y = x + sum(next(each) for each in several)
        for i in breaking():
            y = y * i
        y = y * sum(next(each) for each in several)
        several.pop()
        notes.append("popped")
        return y

    check_calls(program, [((X, []), {})] * 2)
