# SPDX-License-Identifier: BSD-3-Clause
"""Functions that are made anew for each call are identified by their code.

What a compiled graph's function calls may be another function object each time:
a local function that lives across a graph break, or a lambda that the caller
passes.
"""

import functools

import pytest
import torch

import magneto
from magneto.testing.graphs import RecordingBackend

X = torch.arange(3.0)


def plain(x):
    def inner(x):
        return x.sin()

    magneto.graph_break()
    return inner(x)


def closure(x):
    n = 3

    def inner(x):
        return x * n

    magneto.graph_break()
    return inner(x)


def written_closure(x):
    n = 3

    def inner(x):
        nonlocal n
        n += 1
        return x * n

    magneto.graph_break()
    return inner(x) + n


def defaults(x):
    def inner(x, a=2, *, b=3):
        return x * a + b

    magneto.graph_break()
    return inner(x)


def in_partial(x):
    inner = functools.partial(lambda a, x: x * a, 2)
    magneto.graph_break()
    return inner(x)


def in_list(x):
    inner = [lambda x: x * 2, lambda x: x + 1]
    magneto.graph_break()
    for each in inner:
        x = each(x)
    return x


def in_dict(x):
    inner = {"call": lambda x: x * 2}
    magneto.graph_break()
    return inner["call"](x)


def without_grad(x):
    @torch.no_grad()
    def inner(x):
        return x.sin()

    magneto.graph_break()
    return inner(x)


def named(name):
    """Each wrapper has a code of its own, as torch.no_grad()'s do since 2.15."""

    def decorate(function):
        def wrapper(*args):
            return function(*args) + 1

        wrapper.__code__ = wrapper.__code__.replace(co_name=name)
        return wrapper

    return decorate


def code_of_its_own(x):
    @named("inner")
    def inner(x):
        return x.sin()

    magneto.graph_break()
    return inner(x)


def break_in_code_of_its_own(x):
    @named("inner")
    def inner(x):
        magneto.graph_break()
        return x.sin()

    return inner(x)


def wrapped(x):
    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) + 1

        return wrapper

    @decorated
    def inner(x):
        return x.sin()

    magneto.graph_break()
    return inner(x)


def recursive(x):
    def inner(x, n):
        return x if n == 0 else inner(x * n, n - 1)

    magneto.graph_break()
    return inner(x, 5)


def generator(x):
    def inner(n):
        for i in range(n):
            yield x + i

    magneto.graph_break()
    return sum(inner(3))


def mapped(x):
    each = map(lambda a: a * 2, [x, x])
    magneto.graph_break()
    return sum(each)


@pytest.mark.parametrize(
    "program",
    [
        plain,
        closure,
        written_closure,
        defaults,
        in_partial,
        in_list,
        in_dict,
        without_grad,
        code_of_its_own,
        wrapped,
        recursive,
        generator,
        mapped,
    ],
)
def test_across_a_graph_break(program):
    backend = RecordingBackend()
    compiled = magneto.compile(program, backend=backend)
    for i in range(6):
        x = X + i
        assert torch.equal(compiled(x), program(x))
    assert len(backend.graphs) == 1


def test_a_break_in_code_of_its_own():
    backend = RecordingBackend()
    compiled = magneto.compile(break_in_code_of_its_own, backend=backend)
    for i in range(6):
        assert torch.equal(compiled(X + i), break_in_code_of_its_own(X + i))
    assert len(backend.graphs) == 2  # behind the break, and in the wrapper


def product_with(number):
    return lambda x: x * number


# What the caller passes in one call after the other, and how many graphs that
# takes.
PASSED = {
    "lambda": (lambda i: lambda x: x * 2, 1),
    "closure": (lambda i: product_with(2), 1),
    "closure-over-tensor": (lambda i: product_with(X + i), 1),
    # A constant first, then it varies.
    "closure-over-number": (product_with, 2),
    "default": (lambda i: lambda x, a=3: x * a, 1),
    "partial": (lambda i: functools.partial(lambda a, x: x * a, 2), 1),
    "without-grad": (lambda i: torch.no_grad()(lambda x: x * 2), 1),
    "code-of-its-own": (lambda i: named("other")(lambda x: x * 2), 1),
}


@pytest.mark.parametrize("name", PASSED)
def test_passed_by_the_caller(name):
    make, graphs = PASSED[name]

    def program(x, function):
        return function(x) + 1

    def program_of_object(x, holder):
        return holder["function"](x) + 1

    for called, held in ((program, False), (program_of_object, True)):
        magneto.reset()
        backend = RecordingBackend()
        compiled = magneto.compile(called, backend=backend)
        for i in range(6):
            function = make(i)
            given = {"function": function} if held else function
            assert torch.equal(compiled(X, given), called(X, given))
        assert len(backend.graphs) == graphs


def test_what_differs_is_noticed():
    def program(x, function):
        return function(x)

    compiled = magneto.compile(program, backend="eager")

    def made(a, b=1, *, c=1):
        def inner(x, d=b, *, e=c):
            return x * a + d * e

        return inner

    first = made(2)
    for function in (
        first,
        made(3),
        made(2, 5),
        made(2, c=7),
        lambda x: x - 1,
        torch.sin,
        made(torch.ones(3)),
    ):
        assert torch.equal(compiled(X, function), function(X))
    first.__defaults__ = (9,)
    assert torch.equal(compiled(X, first), first(X))
    first.__kwdefaults__["e"] = 4
    assert torch.equal(compiled(X, first), first(X))
    first.__code__ = made(2).__code__.replace(co_name="other")
    assert torch.equal(compiled(X, first), first(X))


def test_code_that_differs_is_noticed():
    def program(x, function):
        return function(x)

    def made(consts=(None, 2), name="inner", text="x * 2"):
        names = globals()
        exec(f"def inner(x):\n    return {text}", names)
        function = names.pop("inner")
        code = function.__code__.replace(co_consts=consts, co_name=name)
        function.__code__ = code
        return function

    magneto.reset()
    backend = RecordingBackend()
    compiled = magneto.compile(program, backend=backend)
    for function in (
        made(),
        made((None, 3)),
        made((None, 2.0)),
        made(name="other"),
        made(text="x + 2"),
        made(text="x.sin()"),
        made(),
    ):
        assert torch.equal(compiled(X, function), function(X))
        assert compiled(X, function).dtype == function(X).dtype
    assert len(backend.graphs) == 6


def test_marks_are_noticed():
    def program(x, function):
        return function(x)

    def made():
        return lambda x: x * (2 if torch.compiler.is_compiling() else 3)

    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(X, made()), X * 2)
        disabled = torch.compiler.disable(made())
        assert torch.equal(compiled(X, disabled), X * 3)


def test_shared_cells_are_noticed():
    """Two functions write to one variable in one call, to two in the next."""

    def pair():
        n = 0

        def add():
            nonlocal n
            n += 1
            return n

        return add

    def program(x, first, second):
        return x * 1, first(), second(), first()

    def two():
        return pair(), pair()

    def same():
        one = pair()
        return one, one

    compiled = magneto.compile(program, backend="eager")
    for make in (two, same, two, same):
        assert compiled(X, *make())[1:] == program(X, *make())[1:]


def test_identity_is_guarded_where_it_is_asked():
    def program(x, function, other):
        return x + 1 if function is other else function(x)

    compiled = magneto.compile(program, backend="eager")
    one, two = product_with(2), product_with(2)
    for pair in ((one, two), (one, one), (two, one), (two, two)):
        assert torch.equal(compiled(X, *pair), program(X, *pair))


def test_the_function_itself_is_given_back():
    def program(x, function):
        return function(x), function, [function]

    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        function = product_with(2)
        _, given, listed = compiled(X, function)
        assert given is function
        assert listed[0] is function
