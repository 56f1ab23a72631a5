# SPDX-License-Identifier: BSD-3-Clause
"""Failures around a program: a missing extension or compiler, backends that
fail or skip, exceptions of the program, internal errors and interrupts. Each is
a one-line error that says what to do, or just what plain Python would do.
(Graph breaks: breaks/test_break_reasons.py; wrong arguments of compile():
test_compiled_functions.py.)
"""

import copy
import gc
import os
import random
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support.alarms import alarms

X = torch.arange(1.0, 5.0)
PACKAGE = Path(magneto.__file__).parent


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.stdout, done.stderr, done.returncode


# -- the installation ----------------------------------------------------------


@pytest.mark.parametrize("how", ["CXX", "PATH"])
def test_missing_compiler_is_told_with_the_way_out(how, tmp_path):
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    if how == "CXX":
        environment["CXX"] = "/no/such/g++"
    else:
        environment["PATH"] = str(tmp_path)
    out, err, code = run_python(
        "import torch, magneto\n"
        "call = magneto.compile(lambda x: x.sin() + 1)\n"
        "try:\n"
        "    call(torch.ones(3))\n"
        "except magneto.exc.BackendCompilerFailed as error:\n"
        "    print(error)\n",
        **environment,
    )
    assert code == 0, err
    assert out.count("\n") == 1
    assert out.startswith("backend 'inductor' failed: ")
    for way in ("apt-get install g++", "CXX", "backend='aot_eager'"):
        assert way in out


# -- backends ------------------------------------------------------------------


def failing(gm, inputs):
    raise ValueError("first line\nsecond line")


def forgetful(gm, inputs):
    return None


def ends_the_program(gm, inputs):
    sys.exit(3)


@pytest.mark.parametrize(
    ("backend", "error", "text"),
    [
        (
            failing,
            magneto.exc.BackendCompilerFailed,
            "backend 'failing' failed: ValueError: first line",
        ),
        (
            forgetful,
            magneto.exc.InvalidBackendResult,
            "backend 'forgetful' returned NoneType; a backend must return a "
            "callable",
        ),
    ],
)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_failing_backends_are_named_and_asked_again(
    backend, error, text, fullgraph
):
    def f(x):
        return x + 1

    call = magneto.compile(f, backend=backend, fullgraph=fullgraph)
    for _ in range(2):
        with pytest.raises(error) as caught:
            call(X)
        assert str(caught.value) == text
        if error is magneto.exc.BackendCompilerFailed:
            assert isinstance(caught.value.__cause__, ValueError)
            assert caught.value.inner_exception is caught.value.__cause__
    # Other backends aren't affected.
    assert torch.equal(magneto.compile(f, backend="eager")(X), X + 1)


def test_a_backend_may_end_the_program():
    with pytest.raises(SystemExit):
        magneto.compile(lambda x: x + 1, backend=ends_the_program)(X)
    assert not magneto.is_compiling()


def test_exceptions_of_the_compiled_graph_pass():
    def backend(gm, inputs):
        def run(*args):
            raise FloatingPointError("at run time")

        return run

    call = magneto.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        with pytest.raises(FloatingPointError, match="at run time"):
            call(X)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_skipped_frame_runs_as_plain_python(fullgraph):
    seen = []

    def backend(gm, inputs):
        seen.append(gm)
        raise magneto.SkipFrame("not mine")

    def inner(x):
        return x.sin()

    def f(x):
        return inner(x) + 1

    call = magneto.compile(f, backend=backend, fullgraph=fullgraph)
    for _ in range(3):
        assert torch.equal(call(X), X.sin() + 1)
    # With fullgraph=True what the frame calls is left alone.
    assert len(seen) == (1 if fullgraph else 2)


# -- exceptions of the program -------------------------------------------------


class OwnError(Exception):
    def __init__(self, code, *, place):
        super().__init__(code)
        self.place = place


def check_positive(n):
    if n < 0:
        raise OwnError(n, place="check")
    return n


def raised_at_once(x, n):
    raise OwnError(n, place="top")


def raised_deep(x, n):
    y = x + 1
    check_positive(n)
    return y


def raised_by_c(x, n):
    return x + [1, 2][n + 5]


def raised_by_torch(x, n):
    y = x * 2
    return torch.cat([y, y.reshape(2, 2)])


def raised_after_effects(x, n):
    x.add_(1)
    check_positive(n)
    return x


def chained(x, n):
    try:
        check_positive(n)
    except OwnError as error:
        raise RuntimeError("outer") from error
    return x


def during_handling(x, n):
    try:
        check_positive(n)
    except OwnError:
        return x + {}["missing"]
    return x


def raised_in_a_comprehension(x, n):
    return [x + check_positive(k) for k in (1, n, 2)]


def raised_in_a_generator(x, n):
    def numbers():
        yield 1
        yield check_positive(n)

    return sum(x + k for k in numbers())


class AsksItself:
    __repr__ = object.__str__


def raised_by_c_that_recurses(x, n):
    return str(AsksItself())


def stops(x, n):
    return x + next(iter([]))


def asserts(x, n):
    assert n > 0, f"{n} is not positive"
    return x


RAISING = [
    raised_at_once,
    raised_deep,
    raised_by_c,
    raised_by_torch,
    raised_after_effects,
    chained,
    during_handling,
    raised_in_a_comprehension,
    raised_in_a_generator,
    raised_by_c_that_recurses,
    stops,
    asserts,
]


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("fn", RAISING, ids=lambda fn: fn.__name__)
def test_exceptions_are_those_of_plain_python(fn, fullgraph):
    """Type, text, attributes, chain and traceback; compared by the oracle."""
    calls = [((X, -1), {}), ((X, -1), {}), ((X, -2), {})]
    check_calls(fn, calls, fullgraph=fullgraph)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return check_positive(self.inner(x).shape[0] - 100)


def test_exceptions_leave_modules_as_in_plain_python():
    check_calls(Model(), [((torch.ones(2, 4),), {})] * 2, fullgraph=True)
    check_calls(Model(), [((torch.ones(2, 5),), {})] * 2, fullgraph=True)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_raises_is_compiled_no_further_than_asked(fullgraph):
    """An exception leaves the function: it runs in plain Python. With
    fullgraph=True what it calls does so too.
    """

    def helper(x):
        return x.sin()

    def f(x):
        y = helper(x) + 1
        raise OwnError(len(y), place="end")

    call = magneto.compile(f, backend="eager", fullgraph=fullgraph)
    before = magneto.stats()
    for _ in range(3):
        with pytest.raises(OwnError):
            call(X)
    after = magneto.stats()
    assert after["compilations"] - before["compilations"] == 2 - fullgraph
    assert after["graphs"] - before["graphs"] == 1 - fullgraph


def test_compiling_goes_on_behind_an_exception():
    def f(x, n):
        check_positive(n)
        return x + n

    call = magneto.compile(f, backend="eager", fullgraph=True)
    with pytest.raises(OwnError):
        call(X, -1)
    before = magneto.stats()["graphs"]
    assert torch.equal(call(X, 1), X + 1)
    assert magneto.stats()["graphs"] == before + 1


def test_generator_functions_are_refused_with_full_graph():
    def numbers(x):
        yield x + 1

    async def later(x):
        return x + 1

    for fn in (numbers, later):
        call = magneto.compile(fn, backend="eager", fullgraph=True)
        with pytest.raises(magneto.exc.Unsupported) as caught:
            call(X)
        assert caught.value.reason == "generator-function"
        assert "\n" not in str(caught.value)


# -- internal failures ---------------------------------------------------------


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_defect_runs_plain_python_with_a_warning(defect, fullgraph):
    log = []

    def f(x):
        log.append(len(log))
        return x + 1

    call = magneto.compile(f, backend="eager", fullgraph=fullgraph)
    before = magneto.stats()["internal_errors"]
    with pytest.warns(magneto.exc.InternalErrorWarning) as caught:
        assert torch.equal(call(X), X + 1)
    (warning,) = caught
    text = str(warning.message)
    assert "\n" not in text
    assert Path(__file__).name in text
    assert "report it" in text
    assert log == [0]
    assert torch.equal(call(X), X + 1)  # and no further warning
    assert log == [0, 1]
    assert magneto.stats()["internal_errors"] == before + 1


def test_a_defect_is_an_error_if_asked_for(defect, monkeypatch):
    monkeypatch.setattr(magneto.config, "raise_internal_errors", True)
    call = magneto.compile(lambda x: x + 1, backend="eager")
    for _ in range(2):
        with pytest.raises(magneto.exc.InternalError, match="report it"):
            call(X)
    monkeypatch.undo()
    assert torch.equal(call(X), X + 1)


def test_a_warning_turned_into_an_error_is_raised(defect):
    import warnings

    call = magneto.compile(lambda x: x + 1, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(magneto.exc.InternalErrorWarning):
            call(X)


# -- KeyboardInterrupt ---------------------------------------------------------


def state_of_the_world():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch.get_rng_state().tolist(),
        random.getstate(),
        magneto.is_compiling(),
        torch.compiler.is_compiling(),
        sys.gettrace(),
        len(torch.overrides._get_current_function_mode_stack()),
    )


class Counter:
    def __init__(self):
        self.count = 0


def busy(x, counter, items):
    """Changes everything that a trace can change, and takes long."""
    counter.count += 1
    items.append(1)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.rand(3, 2) + x.t_()
        n = 0
        for i in range(3_000_000):
            n = (n + i) % 1000
    return y + n


@pytest.mark.parametrize("fullgraph", [False, True])
def test_an_interrupt_during_a_trace_leaves_everything_as_it_was(fullgraph):
    call = magneto.compile(busy, backend="eager", fullgraph=fullgraph)
    x, counter, items = torch.ones(2, 3), Counter(), []
    before = state_of_the_world()
    with (
        alarms(signal.default_int_handler, 0.2),
        pytest.raises(KeyboardInterrupt) as caught,
    ):
        call(x, counter, items)
    assert state_of_the_world() == before
    assert (counter.count, items) == (0, [])
    assert (x.shape, x.stride()) == ((2, 3), (3, 1))
    assert type((x + 1).sum().item()) is float
    # Nothing half-made is kept, neither in caches nor alive.
    reference = weakref.ref(counter)
    del counter, caught
    gc.collect()
    assert reference() is None
    quick = magneto.compile(lambda x: x + 1, backend="eager", fullgraph=True)
    assert torch.equal(quick(X), X + 1)


def test_an_interrupt_while_a_backend_works_leaves_everything_as_it_was():
    interrupts = [True]

    def backend(gm, inputs):
        torch.rand(1)
        torch._C._set_grad_enabled(False)
        if interrupts:
            interrupts.clear()
            raise KeyboardInterrupt
        return gm.forward

    def f(x, items):
        items.append(1)
        return x + 1

    call = magneto.compile(f, backend=backend)
    items = []
    before = state_of_the_world()
    with pytest.raises(KeyboardInterrupt):
        call(X, items)
    assert state_of_the_world() == before
    assert items == []
    assert torch.equal(call(X, items), X + 1)
    assert items == [1]


def call_and_look_for_signals(x):
    magneto.compile(lambda x: x + 1, backend="eager")(x)
    for _ in range(1000):
        pass


@pytest.mark.parametrize(
    "on_signal", [signal.default_int_handler, signal.SIG_IGN]
)
def test_an_interrupt_in_a_log_handler_arrives(on_signal):
    import logging

    class Interrupts(logging.Handler):
        def emit(self, record):
            raise KeyboardInterrupt

    logger = logging.getLogger("magneto.trace_call")
    handler = Interrupts()
    logger.addHandler(handler)
    magneto.set_logs("trace_call")
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        with pytest.raises(KeyboardInterrupt):
            call_and_look_for_signals(X)
    finally:
        signal.signal(signal.SIGINT, before)
        magneto.set_logs()
        logger.removeHandler(handler)
    assert torch.equal(
        magneto.compile(lambda x: x + 1, backend="eager")(X), X + 1
    )


# -- containers that hold themselves -------------------------------------------


def endless_list(x):
    items = [x]
    items.append(items)
    return items


def endless_tuple(x):
    items = []
    items.append((x, items))
    return items


def endless_dict(x):
    table = {}
    table["a"] = table
    return table


@pytest.mark.parametrize(
    "use",
    [
        lambda x, items: items * x,
        lambda x, items: torch.add(x, items),
        lambda x, items: torch.stack(items),
        lambda x, items: torch.cat(items),
        lambda x, items: x.view(items),
        lambda x, items: torch.zeros(items),
        lambda x, items: x.__setitem__(0, items),
        lambda x, items: torch.einsum("i", items),
        lambda x, items: torch.Size(items),
        lambda x, items: items == [*items],
        lambda x, items: str(items),
        lambda x, items: copy.deepcopy(items) is items,
        lambda x, items: 5 in items,
        lambda x, items: items,
    ],
)
@pytest.mark.parametrize("make", [endless_list, endless_tuple, endless_dict])
def test_containers_that_hold_themselves(make, use):
    def program(x):
        items = make(x + 1)
        try:
            return use(x, items)
        except (TypeError, RecursionError) as error:
            return x - 1, type(error)

    check_calls(program, [((X,), {})] * 2)
