# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks while an exception is being handled: what is before and behind
them is compiled, and sys.exc_info(), contexts and tracebacks are what they are
in plain Python.
"""

import _testcapi
import contextlib
import logging
import sys
import traceback

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)
MADE = ValueError("made outside")


def cut():
    magneto.graph_break()


@magneto.disable
def fail(kind, *args):
    raise kind(*args)


class Own(Exception):
    def __init__(self, code):
        super().__init__(f"own {code}")
        self.code = code


class Swallows:
    """Looks at all that __exit__ gets, where nothing can be traced."""

    def __init__(self):
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, tb):
        magneto.graph_break()
        self.seen.append(
            (kind, str(error), [f.name for f in traceback.extract_tb(tb)])
        )
        return True


def places(error):
    """Function and line of each entry of the traceback, from the function."""
    found = traceback.extract_tb(error.__traceback__)
    return [(each.name, each.line) for each in found]


def caught_by_name(x):
    y = x + 1
    try:
        raise ValueError("traced")
    except ValueError as error:
        y = y * 2
        magneto.graph_break()
        y = y + len(str(error))
    return y * 2


def raised_again(x):
    y = x + 1
    try:
        try:
            raise ValueError("traced")
        except ValueError:
            y = y * 2
            magneto.graph_break()
            y = y * 3
            raise
    except ValueError as error:
        return y, str(error), places(error)


def raised_from(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            x = x + 1
            magneto.graph_break()
            raise Own(3) from error
    except Own as own:
        return x * 2, repr(own.__cause__), own.code, repr(own.__context__)


def context_of_a_new_exception(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            x = x + 1
            magneto.graph_break()
            raise Own(3)
    except Own as own:
        return x * 2, repr(own.__context__), own.__suppress_context__


def info_in_a_handler(x):
    y = x + 1
    try:
        raise Own(1)
    except Own:
        magneto.graph_break()
        kind, error, tb = sys.exc_info()
        inside = kind, error.code, places(error), tb is error.__traceback__
        y = y * 2
    return y, inside, sys.exc_info()


def info_traced(x):
    try:
        x = x + 1
        raise Own(1)
    except Own as own:
        kind, error, tb = sys.exc_info()
        inside = kind, error is own, tb is error.__traceback__
    return x * 2, inside, sys.exception() if hasattr(sys, "exception") else None


def nested_handlers(x):
    seen = []
    try:
        raise ValueError("one")
    except ValueError:
        try:
            x = x + 1
            raise KeyError("two")
        except KeyError:
            magneto.graph_break()
            seen.append(repr(sys.exc_info()[1]))
            x = x * 2
        seen.append(repr(sys.exc_info()[1]))
        magneto.graph_break()
        seen.append(repr(sys.exc_info()[1]))
        x = x * 3
    seen.append(repr(sys.exc_info()[1]))
    magneto.graph_break()
    seen.append(repr(sys.exc_info()[1]))
    return x * 2, seen


def handlers_in_a_loop(x):
    seen = []
    for kind in (ValueError, KeyError, ValueError):
        try:
            x = x + 1
            raise kind("no")
        except ValueError as error:
            magneto.graph_break()
            x = x * 2
            seen.append(str(error))
        except KeyError:
            x = x * 3
            continue
    return x, seen, sys.exc_info()


def finally_with_an_error(x):
    seen = []
    try:
        try:
            x = x + 1
            raise ValueError("no")
        finally:
            x = x * 2
            magneto.graph_break()
            x = x * 3
            seen.append(repr(sys.exc_info()[1]))
    except ValueError as error:
        seen.append(places(error))
    return x, seen


def return_from_a_handler(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        magneto.graph_break()
        return x * 2, str(error)


def leave(x, kind):
    try:
        raise kind("no")
    except KeyError:
        magneto.graph_break()
        x = x + 1
        return x, repr(sys.exc_info()[1])
    finally:
        x = x * 3
        cut()


def break_in_a_callee(x):
    try:
        raise ValueError("outer")
    except ValueError:
        x, inside = leave(x + 1, KeyError)
        x = x * 2
        return x, inside, repr(sys.exc_info()[1])


def callee_sees_the_handled(x):
    def inner(y):
        y = y + 1
        cut()
        return y * 2, repr(sys.exc_info()[1])

    try:
        raise ValueError("outer")
    except ValueError:
        return inner(x)


def error_leaves_the_handler(x):
    try:
        raise ValueError("one")
    except ValueError:
        x = x + 1
        magneto.graph_break()
        raise KeyError("two")


def error_of_a_callee(x):
    def fails(y):
        y = y + 1
        raise Own(5)

    def between(y):
        return fails(y) + 1

    try:
        between(x)
    except Own as own:
        cut()
        return x * 2, places(own), own.code


def exit_with_a_break(x):
    manager = Swallows()
    with manager:
        x = x + 1
        raise Own(2)
    return x * 2, manager.seen


def generator_manager(x):
    seen = []

    @contextlib.contextmanager
    def noted():
        try:
            yield 1
        except ValueError as error:
            seen.append(str(error))
            cut()

    with noted() as one:
        x = x + one
        raise ValueError("traced")
    return x * 2, seen


def format_exc(x):
    try:
        x = x + 1
        raise Own(4)
    except Own:
        text = traceback.format_exc()
    return x * 2, text.splitlines()[-3:]


def log_exception(x):
    lines = []

    class Handler(logging.Handler):
        def emit(self, record):
            lines.append(self.format(record).splitlines()[-1])

    return x, lines, Handler


def group(x):
    seen = []
    try:
        x = x + 1
        raise ExceptionGroup("g", [ValueError("a"), KeyError("b"), Own(3)])
    except* ValueError as some:
        seen.append([repr(e) for e in some.exceptions])
        x = x * 2
    except* (KeyError, Own) as some:
        seen.append([repr(e) for e in some.exceptions])
        x = x * 3
    return x, seen, sys.exc_info()


def group_partly_caught(x):
    try:
        try:
            raise ExceptionGroup("g", [ValueError("a"), KeyError("b")])
        except* ValueError:
            x = x + 1
    except ExceptionGroup as rest:
        return x * 2, repr(rest)


def star_without_a_group(x):
    try:
        x = x + 1
        raise ValueError("plain")
    except* ValueError as some:
        return_value = type(some), repr(some.exceptions)
    return x * 2, return_value


def kept(x):
    errors = []
    for kind in (ValueError, Own, AttributeError):
        try:
            raise kind("kept")
        except Exception as error:
            errors.append(error)
    return x + 1, errors, [places(error) for error in errors]


def returned(x):
    try:
        raise ValueError("kept")
    except ValueError as error:
        made = error
    return x + 1, made


def names_of_errors(x):
    found = []
    for read in (lambda: x.nothing, lambda: missing):  # noqa: F821
        try:
            read()
        except (AttributeError, NameError) as error:
            magneto.graph_break()
            found.append((error.name, getattr(error, "obj", None) is x))
    return x + 1, found


def callers_exception(x):
    try:
        x = x + 1
        raise MADE
    except ValueError as error:
        x = x * 2
        return x, error is MADE, len(places(error))
    finally:
        MADE.__traceback__ = None


def callers_exception_in_a_callee(x):
    def fails():
        raise MADE

    try:
        x = x + 1
        fails()
    except ValueError as error:
        x = x * 2
        return x, places(error)
    finally:
        MADE.__traceback__ = None


def changed_fields(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        error.__cause__ = KeyError("b")
        error.note = "n"
        magneto.graph_break()
        return x + 1, repr(error.__cause__), error.note, error.args


def without_traceback(x):
    try:
        raise ValueError("a").with_traceback(None)
    except ValueError as error:
        bare = error.with_traceback(None)
        magneto.graph_break()
        return x + 1, bare.__traceback__


def generator_in_a_handler(x):
    def gen():
        try:
            raise ValueError("in gen")
        except ValueError:
            yield 1
            cut()
            yield repr(sys.exc_info()[1])
        yield repr(sys.exc_info()[1])

    x = x + 1
    return x * 2, list(gen())


def twice(x):
    try:
        raise ValueError("a")
    except ValueError:
        y = (cut() or x) + (cut() or x)
    return y * 2


def plain_error(x):
    try:
        x = x + 1
        fail(ValueError, "plain")
        x = x + 100
    except ValueError as error:
        x = x * 2
        text = str(error)
    return x * 3, text


def plain_error_with_traceback(x):
    try:
        x = x + 1
        fail(ValueError, "plain")
    except ValueError as error:
        found = places(error)
    return x * 3, found


def plain_error_through_blocks(x):
    seen = []
    try:
        with torch.no_grad():
            try:
                x = x + 1
                fail(KeyError, "plain")
            finally:
                x = x * 2
                seen.append("finally")
    except ValueError:
        seen.append("ValueError")
    except KeyError as error:
        seen.append(repr(error))
        x = x * 3
    return x + 1, seen, torch.is_grad_enabled()


def plain_errors_in_a_loop(x):
    caught = []
    for kind in (ValueError, KeyError, ValueError):
        try:
            x = x + 1
            fail(kind, "no")
        except ValueError as error:
            caught.append(error)
            x = x * 2
        except KeyError:
            x = x * 3
    return x, [str(error) for error in caught], sys.exc_info()


def plain_error_in_a_callee(x):
    def callee(y):
        y = y + 1
        fail(Own, 4)
        return y

    def caller(y):
        try:
            return callee(y) * 2
        except KeyError:
            return y
        finally:
            seen.append(repr(sys.exc_info()[1]))

    seen = []
    try:
        x = caller(x + 1)
    except Own as own:
        return x * 2, own.code, places(own), seen


def plain_error_raised_again(x):
    try:
        try:
            x = x + 1
            fail(ValueError, "plain")
        except ValueError:
            x = x * 2
            raise
    except ValueError as error:
        return x + 1, places(error)


def plain_error_replaced(x):
    try:
        try:
            x = x + 1
            fail(ValueError, "plain")
        except ValueError as error:
            x = x * 2
            raise Own(3) from error
    except Own as own:
        return x + 1, repr(own.__cause__), repr(own.__context__), places(own)


class SaysWhoMadeIt(Exception):
    def __init__(self):
        self.maker = sys._getframe(1).f_code.co_name


def plain_error_made_when_it_is_caught(x):
    x = x + 1
    try:
        # C code gives the class only; the frame that handles it calls it.
        _testcapi.raise_exception(SaysWhoMadeIt, 0)
    except SaysWhoMadeIt as error:
        return x * 2, error.maker


def plain_error_leaves(x):
    try:
        x = x + 1
        fail(ValueError, "plain")
    except ValueError as error:
        x = x * 2
        raise Own(3) from error


def plain_error_nobody_catches(x):
    x = x + 1
    return fail(ValueError, "plain")


PROGRAMS = {
    f.__name__: (f, counts)
    for f, counts in (
        (caught_by_name, {"graphs": 2}),
        (raised_again, {}),
        (raised_from, {}),
        (context_of_a_new_exception, {}),
        (info_in_a_handler, {}),
        (info_traced, {"graphs": 1, "graph_breaks": 0}),
        (nested_handlers, {}),
        (handlers_in_a_loop, {}),
        (finally_with_an_error, {}),
        (return_from_a_handler, {"graphs": 1}),
        (break_in_a_callee, {}),
        (callee_sees_the_handled, {"graphs": 2}),
        (error_leaves_the_handler, {}),
        (error_of_a_callee, {}),
        (exit_with_a_break, {}),
        (generator_manager, {}),
        (format_exc, {"graphs": 2}),
        (group, {}),
        (group_partly_caught, {}),
        (star_without_a_group, {}),
        (kept, {}),
        (returned, {"graphs": 1, "graph_breaks": 0}),
        (names_of_errors, {}),
        (callers_exception, {}),
        (callers_exception_in_a_callee, {}),
        (changed_fields, {"graphs": 1}),
        (without_traceback, {}),
        (generator_in_a_handler, {}),
        (twice, {"graphs": 1, "graph_breaks": 2}),
        (plain_error, {"graphs": 3}),
        (plain_error_with_traceback, {"graphs": 2}),
        (plain_error_through_blocks, {}),
        (plain_errors_in_a_loop, {}),
        (plain_error_in_a_callee, {}),
        (plain_error_raised_again, {}),
        (plain_error_replaced, {}),
        (plain_error_made_when_it_is_caught, {"graphs": 2}),
        (plain_error_leaves, {}),
        (plain_error_nobody_catches, {"graphs": 1}),
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_plain_python(name):
    program, counts = PROGRAMS[name]
    check(program, X, **counts)


def in_a_callers_handler(x):
    inside = repr(sys.exc_info()[1])
    try:
        raise KeyError("own")
    except KeyError as error:
        x = x + 1
        contexts = repr(error.__context__)
    return x * 2, inside, contexts, repr(sys.exc_info()[1])


def in_a_callers_handler_with_breaks(x):
    try:
        raise KeyError("own")
    except KeyError as error:
        x = x + 1
        magneto.graph_break()
        seen = [repr(error.__context__), repr(sys.exc_info()[1])]
    x = x * 2
    magneto.graph_break()
    seen.append(repr(sys.exc_info()[1]))
    return x + 1, seen


def raise_what_the_caller_handles(x):
    x = x + 1
    raise


CALLED_FROM_HANDLERS = {
    f.__name__: f
    for f in (
        in_a_callers_handler,
        in_a_callers_handler_with_breaks,
        raise_what_the_caller_handles,
    )
}


@pytest.mark.parametrize("name", CALLED_FROM_HANDLERS)
def test_called_from_a_handler(name):
    """What the caller handles is seen inside, and is the same afterwards."""
    program = CALLED_FROM_HANDLERS[name]

    def run(call, handles):
        try:
            if not handles:
                return call(X), repr(sys.exc_info()[1])
            try:
                raise handles("of the caller")
            except handles:
                return call(X), repr(sys.exc_info()[1])
        except Exception as error:
            return repr(error), repr(error.__context__)

    compiled = magneto.compile(program, backend="eager")
    for handles in (None, ValueError, None, OSError, ValueError):
        expected, actual = run(program, handles), run(compiled, handles)
        assert str(expected) == str(actual)
