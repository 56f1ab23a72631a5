# SPDX-License-Identifier: BSD-3-Clause
"""Context managers of torch and others, each entered in the ways a program
enters them: what is seen inside and behind is what plain Python sees, with a
graph break inside and without.
"""

import contextlib
import decimal
import warnings

import numpy
import pytest
import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import magneto
from magneto.testing import check
from tests.fuzz.support.running import text_of_child

X = torch.arange(16.0).reshape(4, 4) / 7


def around(manager, probe, x):
    with manager():
        inside = probe(x)
    return inside, probe(x)


def around_a_break(manager, probe, x):
    with manager():
        inside = [probe(x)]
        magneto.graph_break()
        inside.append(probe(x))
    return inside, probe(x)


def left_by_an_exception(manager, probe, x):
    seen = []
    try:
        with manager():
            seen.append(probe(x))
            raise ValueError
    except ValueError:
        seen.append(probe(x))
    return seen


def twice(manager, probe, x):
    with manager():
        with manager():
            inner = probe(x)
            magneto.graph_break()
        outer = probe(x)
    return inner, outer, probe(x)


def around_a_generator(manager, probe, x):
    def generate():
        with manager():
            yield probe(x)
            yield probe(x)

    seen = []
    for value in generate():
        seen += [value, probe(x)]
        magneto.graph_break()
    return seen


def as_a_decorator(manager, probe, x):
    @manager()
    def decorated(x):
        magneto.graph_break()
        return probe(x)

    return decorated(x), probe(x)


def by_hand(manager, probe, x):
    entered = manager()
    entered.__enter__()
    inside = [probe(x)]
    magneto.graph_break()
    inside.append(probe(x))
    entered.__exit__(None, None, None)
    return inside, probe(x)


def out_of_a_list(manager, probe, x):
    entered = [manager()]
    entered[-1].__enter__()
    inside = [probe(x)]
    magneto.graph_break()
    inside.append(probe(x))
    entered.pop().__exit__(None, None, None)
    magneto.graph_break()
    return inside, probe(x)


def by_a_function(manager, probe, x):
    def enter():
        entered = manager()
        entered.__enter__()
        magneto.graph_break()
        return entered

    entered = enter()
    inside = probe(x)
    entered.__exit__(None, None, None)
    return inside, probe(x)


def gradients(x):
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        (x * 2).requires_grad,
    )


def devices(x):
    made = [
        torch.ones(2),
        torch.tensor(1),
        torch.full((2,), 1.0),
        torch.empty((1,), device=None),
        torch.ones(1, device="cpu"),
        torch.zeros_like(x),
        torch.nn.functional.one_hot(torch.tensor([1]), 3),
    ]
    return [t.device.type for t in made], torch.get_default_device().type


def casts(x):
    return (
        (x @ x).dtype,
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
    )


def attention(x):
    batch = x[None]
    return (
        torch.backends.cuda.flash_sdp_enabled(),
        torch.backends.cuda.math_sdp_enabled(),
        F.scaled_dot_product_attention(batch, batch, batch),
    )


def saved_gradient(x):
    leaf = x.detach().clone().requires_grad_()
    leaf.pow(2).sum().backward()
    return leaf.grad


def adds(x):
    return x + 1


MANAGERS = {
    "no_grad": (torch.no_grad, gradients),
    "enable_grad": (torch.enable_grad, gradients),
    "set_grad_enabled": (lambda: torch.set_grad_enabled(False), gradients),
    "inference_mode": (torch.inference_mode, gradients),
    "inference_mode_off": (lambda: torch.inference_mode(False), gradients),
    "device": (lambda: torch.device("meta"), devices),
    "autocast": (
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        casts,
    ),
    "amp_autocast": (lambda: torch.amp.autocast("cpu", torch.half), casts),
    "sdpa_kernel": (lambda: sdpa_kernel(SDPBackend.MATH), attention),
    "detect_anomaly": (
        torch.autograd.detect_anomaly,
        lambda x: torch.is_anomaly_enabled(),
    ),
    "record_function": (
        lambda: torch.autograd.profiler.record_function("part"),
        adds,
    ),
    "multithreading": (
        lambda: torch.autograd.set_multithreading_enabled(False),
        lambda x: torch._C._is_multithreading_enabled(),
    ),
    "saved_tensors_hooks": (
        lambda: torch.autograd.graph.saved_tensors_hooks(
            lambda t: t * 2, lambda t: t
        ),
        saved_gradient,
    ),
    "dual_level": (
        forward_ad.dual_level,
        lambda x: forward_ad._current_level,
    ),
    "no_torch_function_of_classes": (
        torch._C.DisableTorchFunctionSubclass,
        lambda x: (
            torch._C._is_torch_function_enabled(),
            torch._C._is_torch_function_mode_enabled(),
            x + 1,
        ),
    ),
    "no_torch_function": (
        torch._C.DisableTorchFunction,
        lambda x: (torch._C._is_torch_function_all_disabled(), x + 1),
    ),
    "fork_rng": (
        lambda: torch.random.fork_rng(devices=[]),
        lambda x: torch.rand(1),
    ),
    "cudnn": (
        lambda: torch.backends.cudnn.flags(enabled=False, benchmark=True),
        lambda x: torch.backends.cudnn.benchmark,
    ),
    "printoptions": (
        lambda: torch._tensor_str.printoptions(precision=2),
        lambda x: repr(torch.tensor([1.23456])),
    ),
    "numpy_errors": (
        lambda: numpy.errstate(all="raise"),
        lambda x: sorted(numpy.geterr().items()),
    ),
    "suppress": (lambda: contextlib.suppress(KeyError), adds),
    "nullcontext": (contextlib.nullcontext, adds),
    "catch_warnings": (
        warnings.catch_warnings,
        lambda x: len(warnings.filters),
    ),
    "decimal": (
        decimal.localcontext,
        lambda x: decimal.getcontext().prec,
    ),
}


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize(
    "entered",
    [
        around,
        around_a_break,
        left_by_an_exception,
        twice,
        around_a_generator,
        as_a_decorator,
        by_hand,
        out_of_a_list,
        by_a_function,
    ],
)
@pytest.mark.parametrize("name", MANAGERS)
def test_context_manager_matches_eager(name, entered):
    manager, probe = MANAGERS[name]

    def program(x):
        return entered(manager, probe, x)

    check(program, X, calls=3)


# -- Inference modes and autocasts, of which one that ends puts back what the
# other changed.

STATES = {
    "inference_mode": torch.inference_mode,
    "inference_mode_off": lambda: torch.inference_mode(False),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast_off": lambda: torch.autocast("cpu", enabled=False),
}


def seen(x):
    return (
        gradients(x),
        casts(x),
        torch.backends.cuda.flash_sdp_enabled(),
        torch.get_default_device().type,
    )


def check_in_children(program):
    """As some of these leave a state behind that nothing ends."""
    compiled = magneto.compile(program, backend="eager")
    expected, actual = (
        text_of_child(lambda call=call: f"{call(X)}, {call(X)}, {seen(X)}")
        for call in (program, compiled)
    )
    assert actual == expected
    assert "ended with" not in expected


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("second", STATES)
@pytest.mark.parametrize("first", STATES)
def test_states_that_are_left_out_of_order(first, second, breaks):
    def program(x):
        one, other = STATES[first](), STATES[second]()
        notes = [seen(x)]
        one.__enter__()
        notes.append(seen(x))
        other.__enter__()
        notes.append(seen(x))
        if breaks:
            magneto.graph_break()
        one.__exit__(None, None, None)
        notes.append(seen(x))
        other.__exit__(None, None, None)
        return notes, seen(x)

    check_in_children(program)


@pytest.mark.parametrize("name", STATES)
def test_one_object_that_is_entered_twice(name):
    def program(x):
        entered = STATES[name]()
        notes = []
        with entered:
            notes.append(seen(x))
            with entered:
                notes.append(seen(x))
            notes.append(seen(x))
        return notes, seen(x)

    check_in_children(program)


@pytest.mark.parametrize("name", STATES)
def test_one_object_that_is_entered_again(name):
    def program(x):
        entered = STATES[name]()
        notes = []
        for _ in range(2):
            with entered:
                notes.append(seen(x))
            notes.append(seen(x))
            magneto.graph_break()
        return notes

    check_in_children(program)


@pytest.mark.parametrize("name", STATES)
def test_one_that_is_entered_where_another_was_left(name):
    def program(x):
        notes = []
        with torch.autocast("cpu", dtype=torch.float16):
            magneto.graph_break()
        STATES[name]().__enter__()
        notes.append(seen(x))
        return notes

    check_in_children(program)


def test_modes_of_frames_that_an_error_leaves():
    def fails():
        mode = torch.inference_mode()
        mode.__enter__()
        magneto.graph_break()
        raise OSError

    def program(x):
        try:
            fails()
        except OSError:
            pass
        return seen(x)

    check_in_children(program)


# -- What is entered by hand and left by nobody ends with its object.


@contextlib.contextmanager
def noted(notes):
    notes.append("entered")
    try:
        yield
    finally:
        notes.append("left")


def enter(manager, held):
    held.append(manager)
    held[-1].__enter__()


def into_a_list(make, notes):
    held = []
    magneto.graph_break()
    held.append(make())
    held[-1].__enter__()
    magneto.graph_break()
    notes.append(seen(X))


def by_code_that_is_not_traced(make, notes):
    held = []
    magneto.disable(enter)(make(), held)
    notes.append(seen(X))


def by_code_that_is_not_traced_behind_a_break(make, notes):
    held = []
    magneto.graph_break()
    magneto.disable(enter)(make(), held)
    notes.append(seen(X))


def by_a_call_that_breaks(make, notes):
    held = []

    def inner(held=held):
        magneto.graph_break()
        enter(make(), held)

    inner()
    notes.append(seen(X))


def by_a_closure_that_breaks(make, notes):
    held = {}

    def inner():
        magneto.graph_break()
        held["manager"] = make()
        held["manager"].__enter__()

    magneto.disable(inner)()
    notes.append(seen(X))


def in_a_function_that_returns(make, notes):
    def inner():
        manager = make()
        manager.__enter__()
        notes.append(seen(X))

    inner()
    notes.append(seen(X))
    magneto.graph_break()
    notes.append(seen(X))


def in_place_of_another(make, notes):
    manager = make()
    manager.__enter__()
    magneto.graph_break()
    notes.append(seen(X))
    manager = make()
    notes.append(seen(X))
    manager.__enter__()
    notes.append(seen(X))


def in_a_loop(make, notes):
    for _ in range(3):
        magneto.graph_break()
        manager = make()
        manager.__enter__()
        notes.append(seen(X))


def by_a_generator_that_an_error_leaves(make, notes):
    def generate():
        with make():
            yield

    @contextlib.contextmanager
    def around():
        try:
            yield
        finally:
            magneto.graph_break()

    def fails():
        with around():
            for _ in generate():
                X.missing  # noqa: B018

    try:
        fails()
    except AttributeError:
        notes.append(seen(X))


@pytest.mark.parametrize("name", ["noted", "sdpa_kernel", "device", *STATES])
@pytest.mark.parametrize(
    "enters",
    [
        into_a_list,
        by_code_that_is_not_traced,
        by_code_that_is_not_traced_behind_a_break,
        by_a_call_that_breaks,
        by_a_closure_that_breaks,
        in_a_function_that_returns,
        in_place_of_another,
        in_a_loop,
        by_a_generator_that_an_error_leaves,
    ],
)
def test_what_nobody_leaves(enters, name):
    def program(x):
        notes = []
        make = {
            "noted": lambda: noted(notes),
            "sdpa_kernel": lambda: sdpa_kernel(SDPBackend.MATH),
            "device": lambda: torch.device("meta"),
            **STATES,
        }[name]
        x = x + 1
        enters(make, notes)
        return notes, torch.backends.cuda.flash_sdp_enabled(), x

    check_in_children(program)


# -- Forward-mode differentiation.


def dual_numbers(x):
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, torch.ones_like(x)) * 3
        primal, tangent = forward_ad.unpack_dual(y)
    return primal, tangent


def dual_numbers_across_a_break(x):
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, torch.ones_like(x)) * 3
        magneto.graph_break()
        primal, tangent = forward_ad.unpack_dual(y.sin())
    return primal, tangent


def no_dual_number(x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(x + 1).tangent


@pytest.mark.parametrize(
    "program", [dual_numbers, dual_numbers_across_a_break, no_dual_number]
)
def test_forward_mode(program):
    check(program, X, calls=3)


def test_inference_mode_that_nobody_leaves():
    """It ends with its object, when the function does."""
    weight = torch.ones(2, requires_grad=True)

    def program(x):
        mode = torch.inference_mode()
        mode.__enter__()
        return x * weight

    compiled = magneto.compile(program, backend="eager")
    for call in (program, compiled, compiled):
        assert call(torch.ones(2)).is_inference()
        assert not torch.is_inference_mode_enabled()
