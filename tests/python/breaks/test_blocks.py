# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks inside `with` and `try`: contexts stay entered, handlers and
`finally` blocks run when and as often as in plain Python.
"""

import contextlib

import pytest
import torch

import magneto
from magneto.testing import check
from support.inference_modes import inference_mode_with_others

X = torch.arange(4.0)
W = torch.ones(4, requires_grad=True)


class Noted:
    """A context manager that notes what happens to it."""

    def __init__(self, name, notes, swallow=None):
        self.name = name
        self.notes = notes
        self.swallow = swallow

    def __enter__(self):
        self.notes.append(f"enter {self.name}")
        return self.name

    def __exit__(self, kind, error, tb):
        self.notes.append(f"exit {self.name} {kind and kind.__name__}")
        return self.swallow is not None and isinstance(error, self.swallow)


def fail(kind, *args):
    """Raises where nothing can be traced."""
    magneto.graph_break()
    raise kind(*args)


fail = magneto.disable(fail)


def grad_mode(x):
    with torch.no_grad():
        y = W + x
        magneto.graph_break()
        z = y * W
    return y, z, W * z, torch.is_grad_enabled()


def grad_mode_as_argument(x):
    w = x.clone().requires_grad_()
    with torch.set_grad_enabled(False):
        with torch.enable_grad():
            y = w + 1
            magneto.graph_break()
            z = y * w
        u = z * w
        magneto.graph_break()
        v = u * w
    return y, z, u, v, torch.is_grad_enabled()


def grad_mode_left_by_an_error(x):
    w = x.clone().requires_grad_()
    try:
        with torch.no_grad():
            y = w + 1
            fail(ValueError, "no")
    except ValueError:
        return w * 3, torch.is_grad_enabled()
    return y, None


def inference_mode(x):
    with torch.inference_mode():
        y = W + x
        magneto.graph_break()
        z = y * 2
        inside = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    after = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    return y.is_inference(), z.is_inference(), z + 0.0, W * x, inside, after


@torch.inference_mode()
def inferred(x):
    y = W + x
    magneto.graph_break()
    return y * 2


def inference_mode_as_decorator(x):
    y = inferred(x + 1)
    return y.is_inference(), y.clone(), W * x


def inference_mode_left_by_an_error(x):
    try:
        with torch.inference_mode():
            y = x + 1
            fail(ValueError, "no")
    except ValueError:
        return W * 3, torch.is_inference_mode_enabled()
    return y


def inference_modes_in_modes(x):
    with torch.no_grad(), torch.inference_mode():
        first = W + x
        with torch.enable_grad(), torch.inference_mode(False), torch.no_grad():
            second = W * 2
            magneto.graph_break()
            third = second * W
        with torch.inference_mode(False):
            fourth = W * third
            magneto.graph_break()
            fifth = fourth + W
        magneto.graph_break()
        sixth = first + 0.0
    found = [first, second, third, fourth, fifth, sixth]
    return (
        [t.is_inference() for t in found],
        [t.requires_grad for t in found],
        W * x,
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )


def inference_modes_left_by_an_error(x):
    try:
        with torch.inference_mode(), torch.enable_grad():
            with torch.inference_mode(False), torch.set_grad_enabled(False):
                y = x + W
                fail(ValueError, "no")
    except ValueError:
        return W * 3, torch.is_inference_mode_enabled()
    return y


def inference_mode_twice(x):
    found = []
    for k in range(3):
        with torch.inference_mode(k != 1):
            y = x + k
            magneto.graph_break()
            y = y * 2
        found.append((y.is_inference(), y + 0.0))
    return found, torch.is_inference_mode_enabled()


def noted_context(x):
    notes = []
    with Noted("a", notes) as name:
        y = x + 1
        magneto.graph_break()
        z = y * 2
    return y, z, name, notes


def nested_contexts(x):
    notes = []
    with Noted("a", notes), Noted("b", notes):
        y = x + 1
        with Noted("c", notes):
            magneto.graph_break()
            y = y * 2
        magneto.graph_break()
        y = y - 3
    return y, notes


def return_from_a_context(x):
    notes = []
    with Noted("a", notes):
        y = x + 1
        magneto.graph_break()
        return y * 2, notes


def swallowed_error(x):
    notes = []
    y = x + 1
    with Noted("a", notes, ValueError):
        y = y + 1
        fail(ValueError, "no")
        y = y + 100
    return y * 2, notes


def error_through_contexts(x):
    notes = []
    try:
        with Noted("a", notes, KeyError), Noted("b", notes):
            y = x + 1
            fail(ValueError, "no")
    except ValueError as error:
        return x - 1, notes, str(error)
    return y, notes, ""


def error_traced_behind_a_break(x):
    notes = []
    try:
        with Noted("a", notes):
            y = x + 1
            magneto.graph_break()
            raise ValueError("traced")
    except ValueError as error:
        return y - 1, notes, str(error)


def error_nobody_catches(x):
    with Noted("a", []):
        y = x + 1
        fail(KeyError, "no", y)


def error_with_another_handler(x):
    try:
        y = x + 1
        fail(KeyError, "no")
    except ValueError:
        return y


def caught_error(x):
    y = x + 1
    try:
        y = y + 1
        fail(ValueError, "no")
        y = y + 100
    except ValueError as error:
        y = y * 2
        text = str(error)
    else:
        text = "none"
    return y * 3, text


def try_without_an_error(x):
    notes = []
    try:
        y = x + 1
        magneto.graph_break()
        y = y * 2
    except ValueError:
        notes.append("except")
    else:
        notes.append("else")
        y = y + 7
    finally:
        notes.append("finally")
        y = y - 1
    return y, notes


def finally_with_a_break(x):
    notes = []
    try:
        y = x + 1
    finally:
        notes.append("finally")
        magneto.graph_break()
        y = y * 2
    return y, notes


def finally_behind_an_error(x):
    notes = []
    try:
        try:
            y = x + 1
            fail(ValueError, "no")
        finally:
            notes.append("finally")
            y = y * 2
    except ValueError:
        notes.append("except")
    return y, notes


def return_in_finally(x):
    y = x + 1
    try:
        fail(ValueError, "no")
    finally:
        magneto.graph_break()
        return y * 2  # noqa: B012


def contexts_in_a_loop(x):
    notes = []
    for name in ("a", "b", "c"):
        with Noted(name, notes):
            x = x + 1
            magneto.graph_break()
            if name == "b":
                continue
            x = x * 2
    return x, notes


def errors_in_a_loop(x):
    caught = 0
    for kind in (ValueError, KeyError, ValueError):
        try:
            x = x + 1
            fail(kind, "no")
        except ValueError:
            caught += 1
            x = x * 2
        except KeyError:
            x = x * 3
    return x, caught


def break_out_of_a_context(x):
    notes = []
    while True:
        with Noted("a", notes):
            x = x + 1
            magneto.graph_break()
            if len(notes) > 4:
                break
    return x, notes


def context_of_a_generator(x):
    notes = []

    @contextlib.contextmanager
    def noted(name):
        notes.append(f"enter {name}")
        try:
            yield name
        finally:
            notes.append(f"exit {name}")

    with noted("a") as name:
        y = x + 1
        magneto.graph_break()
        y = y * 2
    return y, name, notes


def grad_mode_left_by_a_graph_that_fails(x):
    try:
        with torch.no_grad():
            y = (x + 1)[x.long() + 1]
    except IndexError:
        return x + 2, torch.is_grad_enabled()
    return y, None


def autocast_left_by_a_graph_that_fails(x):
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            with torch.autocast("cpu", enabled=False):
                y = x.outer(x)
            y = (y @ y)[x.long() + 1]
    except IndexError:
        y = x.outer(x)
        return y @ y, torch.is_autocast_enabled("cpu")
    return y, None


def autocast(x):
    y = torch.mm(x.reshape(2, 2), x.reshape(2, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        u = torch.mm(y, y)
        magneto.graph_break()
        v = torch.mm(u, y)
    return u, v, torch.mm(v.float(), y)


def nullcontext_and_suppress(x):
    with contextlib.nullcontext(3) as three:
        y = x + three
        magneto.graph_break()
        y = y * 2
    with contextlib.suppress(ValueError):
        y = y + 1
        fail(ValueError, "no")
    return y


def jump_on_data_in_a_block(x):
    notes = []
    with Noted("a", notes):
        if x.sum() > 3:
            y = x + 1
        else:
            y = x - 1
    return y, notes


PROGRAMS = [
    grad_mode,
    grad_mode_as_argument,
    grad_mode_left_by_an_error,
    inference_mode,
    inference_mode_as_decorator,
    inference_mode_left_by_an_error,
    inference_mode_with_others,
    inference_modes_in_modes,
    inference_modes_left_by_an_error,
    inference_mode_twice,
    noted_context,
    nested_contexts,
    return_from_a_context,
    swallowed_error,
    error_through_contexts,
    error_traced_behind_a_break,
    error_nobody_catches,
    error_with_another_handler,
    caught_error,
    try_without_an_error,
    finally_with_a_break,
    finally_behind_an_error,
    return_in_finally,
    contexts_in_a_loop,
    errors_in_a_loop,
    break_out_of_a_context,
    context_of_a_generator,
    grad_mode_left_by_a_graph_that_fails,
    autocast_left_by_a_graph_that_fails,
    autocast,
    nullcontext_and_suppress,
    jump_on_data_in_a_block,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
def test_block_with_a_break_gives_what_plain_python_gives(program):
    check(program, X, calls=3)


# How many graphs the first call makes, that is: it was captured around breaks.
GRAPHS = {
    grad_mode: 2,
    inference_mode: 3,
    inference_mode_as_decorator: 3,
    # Its three contexts are left in plain Python.
    inference_mode_with_others: 5,
    inference_modes_in_modes: 6,
    noted_context: 2,
    nested_contexts: 3,
    return_from_a_context: 2,
    try_without_an_error: 2,
    # Behind the error, and behind its text.
    caught_error: 3,
    swallowed_error: 2,
    # The first and, for each name, the rest of the body.
    contexts_in_a_loop: 4,
    nullcontext_and_suppress: 2,
    autocast: 2,
    jump_on_data_in_a_block: 2,
}


@pytest.mark.parametrize("program", GRAPHS, ids=lambda p: p.__name__)
def test_block_with_a_break_is_captured_on_both_sides(program):
    check(program, X, calls=3, graphs=GRAPHS[program])
