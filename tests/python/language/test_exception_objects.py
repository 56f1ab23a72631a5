# SPDX-License-Identifier: BSD-3-Clause
"""Exception objects, raised by the program and by the interpreter: their
fields, also behind a graph break, and their messages.
"""

import contextlib
import copy

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)


class NoException(Exception):
    def __new__(cls, *args):
        return cls


class Silent(StopIteration):
    def __init__(self, value):
        pass


class Property:
    @property
    def read(self):
        return 1

    unset = property()

    @property
    def raises(self):
        raise AttributeError("in a property")


class Raising:
    def __getattr__(self, name):
        raise AttributeError


class NotIterable:
    __iter__ = None
    __contains__ = None

    def __getitem__(self, i):
        raise IndexError


def keeps_fields(make):
    """The exception's own fields, here and behind a graph break."""

    def program(x):
        error = make()
        names = ("value", "code", "name", "path", "msg", "obj")
        before = [getattr(error, name, "-") for name in names]
        magneto.graph_break()
        after = [getattr(error, name, "-") for name in names]
        return x + 1, before, after, str(error), error.args

    return program


def arguments_changed():
    error = StopIteration(1, 2)
    error.args = (3,)
    return error


FIELDS = {
    "StopIteration": lambda: StopIteration((1, 2)),
    "StopIteration without": lambda: StopIteration(),
    "StopIteration with two": lambda: StopIteration(1, 2),
    "StopIteration changed": arguments_changed,
    "a subclass that keeps nothing": lambda: Silent(3),
    "SystemExit": lambda: SystemExit(3),
    "SystemExit with two": lambda: SystemExit(3, 4),
    "ImportError": lambda: ImportError("no"),
    "ImportError with two": lambda: ImportError("no", 2),
    "ImportError with a name": lambda: ImportError("no", name="mod"),
    "NameError": lambda: NameError("no"),
    "AttributeError": lambda: AttributeError("no"),
    "KeyError": lambda: KeyError("key"),
}


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", FIELDS)
def test_own_fields(name):
    check(keeps_fields(FIELDS[name]), X)


def returned_by_a_generator(x):
    def generator():
        return (yield x)

    begun = generator()
    next(begun)
    try:
        begun.send((x, 2))
    except StopIteration as error:
        magneto.graph_break()
        return error.value


def text_of_decoding(x):
    try:
        b"\xff".decode()
    except UnicodeDecodeError as error:
        return x + 1, str(error), error.start


def context_of_what_is_thrown(x):
    def handling():
        try:
            raise KeyError("a")
        except KeyError:
            yield x

    generator = handling()
    next(generator)
    try:
        generator.throw(ValueError)
    except ValueError as error:
        return x + 1, repr(error.__context__)


def context_in_a_cycle(x):
    first, second = ValueError(1), ValueError(2)
    first.__context__, second.__context__ = second, first
    try:
        try:
            raise first
        except ValueError:
            raise TypeError(3) from None
    except TypeError as error:
        return x + 1, repr(error.__context__), repr(first.__context__)


def exit_that_raises(x):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            magneto.graph_break()
            raise KeyError(str(args[1]))

    with Manager():
        raise ValueError(1)


def exit_that_looks(x):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            magneto.graph_break()
            return False

    try:
        with Manager():
            del Property().read
    except AttributeError as error:
        return x + 1, str(error)


FLOWS = [
    returned_by_a_generator,
    text_of_decoding,
    context_of_what_is_thrown,
    context_in_a_cycle,
    exit_that_raises,
    exit_that_looks,
]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", FLOWS, ids=lambda p: p.__name__)
def test_exceptions_under_way(program):
    check(program, X, calls=3)


def raise_class():
    raise NoException


def throw_class(begun):
    def generator():
        yield

    made = generator()
    if begun:
        next(made)
    made.throw(NoException)


def throw_pair():
    def generator():
        try:
            yield 1
        except ValueError as error:
            yield error.args

    made = generator()
    next(made)
    raise LookupError(made.throw(ValueError, (1, 2)))


def positional_only(**keywords):
    def function(a, b, /, c):
        return a

    function(1, **keywords)


def unpack(value):
    a, b = value
    return a


def deletes(name):
    delattr(Property(), name)


MESSAGES = {
    "raise of a class that makes no exception": raise_class,
    "throw of one": lambda: throw_class(True),
    "throw of one before the start": lambda: throw_class(False),
    "throw of a class and arguments": throw_pair,
    "positional only": lambda: positional_only(b=2, c=3),
    "two positional only": lambda: positional_only(a=1, b=2, c=3),
    "unpacked object": lambda: unpack(object()),
    "unpacked instance": lambda: unpack(Property()),
    "unpacked number": lambda: unpack(1),
    "unpacked without __iter__": lambda: unpack(NotIterable()),
    "listed without __iter__": lambda: list(NotIterable()),
    "in without __contains__": lambda: 1 in NotIterable(),
    "no deleter": lambda: deletes("read"),
    "no setter": lambda: setattr(Property(), "read", 1),
    "no getter": lambda: Property().unset,
    "property that raises": lambda: Property().raises,
    "__getattr__ that raises": lambda: Raising().missing,
    "bool made by int": lambda: int.__new__(bool, 0),
    "int made by object": lambda: object.__new__(int),
    "made by no class": lambda: int.__new__(1),
    "keywords of a function in C": lambda: __import__("itertools").product(
        foo=1
    ),
}


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name):
    provoke = MESSAGES[name]

    def program(x):
        try:
            provoke()
        except Exception as error:
            return (
                x + 1,
                type(error),
                str(error),
                getattr(error, "name", None),
                type(getattr(error, "obj", None)),
            )

    check(program, X)


def other_handler():
    try:
        1 / 0  # noqa: B018
    except TypeError:
        pass


def finally_block():
    try:
        1 / 0  # noqa: B018
    finally:
        [].append(1)


def finally_block_of_a_callee():
    try:
        finally_block()
    finally:
        [].append(1)


def raised_again():
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        [].append(1)
        raise


def with_block():
    with contextlib.nullcontext():
        1 / 0  # noqa: B018


PASSED_ON = [
    other_handler,
    finally_block,
    finally_block_of_a_callee,
    raised_again,
    with_block,
]


@pytest.mark.parametrize("raising", PASSED_ON, ids=lambda f: f.__name__)
def test_frame_of_a_traceback_shows_where_it_was_left(raising):
    def program(x):
        try:
            raising()
        except ZeroDivisionError as error:
            entry = error.__traceback__.tb_next
        lines = []
        while entry:
            frame = entry.tb_frame
            lines.append((frame.f_code.co_name, entry.tb_lineno))
            lines.append(frame.f_lineno)
            entry = entry.tb_next
        return x + 1, lines

    check(program, X)


def test_recursion_when_the_stack_is_deep_already_ends_where_python_ends():
    def down(x, n):
        try:
            return down(x, n + 1)
        except RecursionError:
            return n

    def below(levels, call):
        return below(levels - 1, call) if levels else call()

    def levels(function):
        return below(500, lambda: function(X, 0))

    expected = levels(down)
    for _ in range(2):
        found = levels(magneto.compile(down, backend="eager"))
        assert abs(found - expected) < 50


def test_recursion_that_ends_at_the_limit_depends_on_the_caller():
    def down(n):
        try:
            return down(n + 1)
        except RecursionError:
            return n

    function = magneto.compile(lambda: down(0), backend="eager")

    def below(levels):
        return below(levels - 1) if levels else function()

    depths = [below(levels) for levels in (0, 300, 600)]
    for above, deeper in zip(depths, depths[1:], strict=False):
        assert 250 < above - deeper < 350


def test_frame_of_a_traceback_has_locals_to_look_at():
    def program(x):
        captured = x + 1

        def raising():
            if captured is not None:
                raise LookupError("here")

        try:
            raising()
        except LookupError as error:
            entry = error.__traceback__.tb_next
            return x + 1, isinstance(entry.tb_frame.f_locals, dict)

    check(program, X)


# -- StopIteration that leaves a generator --------------------------------------


class Stop(StopIteration):
    pass


def numbers():
    yield 1
    yield 2


def handling():
    try:
        yield 1
    except StopIteration as error:
        raise KeyError from error


def thrown(steps, make):
    """Thrown into a generator that has given so many numbers."""

    def program(x):
        generator = numbers()
        for _ in zip(range(steps), generator, strict=False):
            pass
        return what_is_raised(lambda: generator.throw(make()), x)

    return program


def what_is_raised(run, x):
    try:
        return x + run()
    except Exception as error:
        seen = [x + 1]
        while error:
            seen += [type(error), error.args, error.__suppress_context__]
            seen.append(error.__context__ is error.__cause__)
            error = error.__cause__ or error.__context__
        return seen


def raised_inside(x):
    return what_is_raised(lambda: list(next(iter(())) for _ in "a"), x)


def raised_while_another_is_handled(x):
    def raising():
        try:
            raise KeyError(1)
        except KeyError:
            yield next(iter(()))

    return what_is_raised(lambda: next(raising()), x)


def caught_inside(x):
    generator = handling()
    next(generator)
    return what_is_raised(lambda: generator.throw(Stop(1)), x)


def entries_of_the_traceback(x):
    names = []
    for stop in (StopIteration("a"), Stop("b")):
        try:
            with contextlib.contextmanager(numbers)():
                raise stop
        except StopIteration as error:
            entry = error.__traceback__
            while entry:
                names.append(entry.tb_frame.f_code.co_name)
                entry = entry.tb_next
    return x + 1, names


@pytest.mark.parametrize(
    "program",
    [
        *(thrown(steps, lambda: Stop(3)) for steps in range(4)),
        thrown(1, StopIteration),
        thrown(1, lambda: LookupError(1)),
        raised_inside,
        raised_while_another_is_handled,
        caught_inside,
        entries_of_the_traceback,
    ],
)
def test_stop_iteration_that_leaves_a_generator(program):
    check(program, X)


class Hearing(Exception):
    """Notes what is looked up."""

    def __getattribute__(self, name):
        LOOKED_UP.append(name)
        return super().__getattribute__(name)


LOOKED_UP = []


def deleted_and_copied(x, error):
    try:
        del error.missing
    except AttributeError:
        x = x + 1
    copied = copy.copy(error)
    return x + len(LOOKED_UP), type(copied), list(LOOKED_UP)


def made_deleted_and_copied(x, error):
    return deleted_and_copied(x, Hearing(1))


@pytest.mark.parametrize(
    "program", [deleted_and_copied, made_deleted_and_copied]
)
def test_a_failed_del_gives_a_dictionary(program):
    def outcome(call):
        LOOKED_UP.clear()
        return call(X, Hearing(2))[1:]

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert outcome(compiled) == outcome(program)
