# SPDX-License-Identifier: BSD-3-Clause
"""contextvars and threading.local: what a program keeps in a thread's context."""

import contextlib
import contextvars
import threading

import pytest
import torch

import magneto
from magneto.testing import compare
from support.under_backends import check_under

X = torch.arange(4.0)
PLAIN = contextvars.ContextVar("plain")
SCALE = contextvars.ContextVar("scale", default=2)
LOCAL = threading.local()


class Settings(threading.local):
    limit = 3

    def scaled(self, x):
        return x * self.scale


class Prepared(threading.local):
    def __init__(self):
        self.made = 1


SETTINGS, PREPARED = Settings(), Prepared()


class Scope:
    """Sets a variable while it is entered."""

    def __init__(self, value):
        self.value = value

    def __enter__(self):
        self.token = SCALE.set(self.value)
        return self

    def __exit__(self, *_):
        SCALE.reset(self.token)


@contextlib.contextmanager
def scope(value):
    token = SCALE.set(value)
    try:
        yield
    finally:
        SCALE.reset(token)


def error(function, *args):
    try:
        return function(*args)
    except (LookupError, AttributeError) as caught:
        return type(caught).__name__


def set_and_reset(x):
    token = SCALE.set(5)
    y = x * SCALE.get()
    SCALE.reset(token)
    return y * SCALE.get()


def nested(x):
    with Scope(3):
        x = x * SCALE.get()
        with scope(4):
            x = x + SCALE.get()
        return x + SCALE.get()


def tokens(x):
    one = PLAIN.set(1)
    two = PLAIN.set(2)
    found = (
        one.old_value is contextvars.Token.MISSING,
        two.old_value,
        one.var is PLAIN,
        two.var.name,
    )
    PLAIN.reset(two)
    found += (PLAIN.get(),)
    PLAIN.reset(one)
    return x + 1, found, PLAIN.get(None)


def a_tensor(x):
    PLAIN.set(x * 2)
    return PLAIN.get() + 1


def kept(x):
    SCALE.set(SCALE.get() + 1)
    return x * SCALE.get()


def kept_and_written(x):
    PLAIN.set([1])
    PLAIN.get().append(SCALE.get())
    return x + len(PLAIN.get())


def attributes(x):
    LOCAL.count = LOCAL.count + 1
    LOCAL.last = x * LOCAL.count
    del LOCAL.gone
    return LOCAL.last + 1, hasattr(LOCAL, "gone"), sorted(LOCAL.__dict__)


def of_a_class(x):
    SETTINGS.limit += 1
    return SETTINGS.scaled(x) + SETTINGS.limit, Settings.limit


WHOLE = {
    "a default": lambda x: x * SCALE.get(),
    "an argument": lambda x: x * PLAIN.get(4) + SCALE.get(7),
    "its name": lambda x: (x + 1, SCALE.name),
    "nothing": lambda x: (x + 1, error(PLAIN.get)),
    "set and reset": set_and_reset,
    "nested": nested,
    "tokens": tokens,
    "a tensor": a_tensor,
    "kept": kept,
    "kept and written": kept_and_written,
    "attributes": attributes,
    "of a class": of_a_class,
    "no attribute": lambda x: (x, error(getattr, LOCAL, "zz")),
}


def outcome(function, *calls):
    """Results of the calls in a context, and a thread, of their own, and what
    is there behind them."""
    results = []

    def run():
        LOCAL.count, LOCAL.gone = 1, 2
        SETTINGS.scale = 3
        for given in calls:
            results.append(function(given))
        results.append(
            (
                PLAIN.get(None),
                SCALE.get(),
                sorted(LOCAL.__dict__.items(), key=lambda item: item[0]),
                SETTINGS.__dict__.copy(),
            )
        )

    thread = threading.Thread(target=contextvars.Context().run, args=(run,))
    thread.start()
    thread.join()
    return results


@pytest.mark.parametrize("name", WHOLE)
def test_whole_graphs(name):
    program = WHOLE[name]

    def twice(x):
        LOCAL.gone = 2
        return program(x)

    magneto.reset()
    before = magneto.stats()["graph_breaks"]
    compiled = magneto.compile(twice, backend="eager")
    expected = outcome(twice, X, X + 1)
    assert len(expected) == 3
    compare(expected, outcome(compiled, X, X + 1))
    compare(expected, outcome(compiled, X, X + 1))
    assert magneto.stats()["graph_breaks"] == before


@pytest.mark.parametrize("name", ["set and reset", "nested", "a tensor"])
def test_under_aot_eager(name):
    contextvars.copy_context().run(check_under, "aot_eager", WHOLE[name], X)


def test_under_inductor():
    contextvars.copy_context().run(check_under, "inductor", nested, X)


def test_each_call_has_its_own_context():
    compiled = magneto.compile(lambda x: x * SCALE.get(), backend="eager")

    def program(scale):
        SCALE.set(scale)
        return compiled(X)

    for scale in (2, 3, 2, 5):
        found = contextvars.copy_context().run(program, scale)
        assert torch.equal(found, X * scale)
    assert torch.equal(compiled(X), X * 2)


def test_each_thread_has_its_own_attributes():
    compiled = magneto.compile(lambda x: x * LOCAL.scale, backend="eager")
    results = {}

    def run(scale):
        LOCAL.scale = scale
        results[scale] = compiled(X)

    for scale in (2, 3, 4):
        thread = threading.Thread(target=run, args=(scale,))
        thread.start()
        thread.join()
    for scale, result in results.items():
        assert torch.equal(result, X * scale)


def with_a_break(x):
    with Scope(3):
        x = x * SCALE.get()
        magneto.graph_break()
        x = x + SCALE.get()
    return x * SCALE.get()


def a_token_that_is_kept(x):
    return x + 1, SCALE.set(9)


def a_token_of_the_callers(x, token):
    SCALE.reset(token)
    return x * SCALE.get()


def used_twice(x):
    token = SCALE.set(4)
    SCALE.reset(token)
    try:
        SCALE.reset(token)
    except RuntimeError:
        x = x + 1
    return x * SCALE.get()


def of_another(x):
    token = SCALE.set(4)
    try:
        PLAIN.reset(token)
    except ValueError:
        x = x + 1
    return x * SCALE.get()


def set_up_by_itself(x):
    return x + PREPARED.made


def two_tokens_across_a_break(x):
    one, two = SCALE.set(5), SCALE.set(6)
    magneto.graph_break()
    SCALE.reset(two)
    x = x * SCALE.get()
    SCALE.reset(one)
    return x * SCALE.get()


@pytest.mark.parametrize(
    "program",
    [
        with_a_break,
        used_twice,
        of_another,
        set_up_by_itself,
        two_tokens_across_a_break,
    ],
    ids=lambda program: program.__name__,
)
def test_what_breaks_the_graph(program):
    magneto.reset()
    compiled = magneto.compile(program, backend="eager")
    expected = outcome(program, X, X + 1)
    for _ in range(2):
        compare(expected, outcome(compiled, X, X + 1))


def test_tokens_that_live_on():
    def program(x):
        y, token = a_token_that_is_kept(x)
        SCALE.reset(token)
        return y * SCALE.get()

    compiled = magneto.compile(a_token_that_is_kept, backend="eager")

    def run():
        y, token = compiled(X)
        assert SCALE.get() == 9
        SCALE.reset(token)
        assert SCALE.get() == 2
        token = SCALE.set(8)
        reset = magneto.compile(a_token_of_the_callers, backend="eager")
        return reset(y, token)

    assert torch.equal(contextvars.Context().run(run), program(X))
