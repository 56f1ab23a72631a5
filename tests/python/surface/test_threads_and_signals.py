# SPDX-License-Identifier: BSD-3-Clause
"""Compiled functions beside what else a process does: threads, signals, garbage
collection, deep recursion, debuggers and coverage tools, fork.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import pytest
import torch

import magneto
from magneto.testing import compare
from support.alarms import alarms

X = torch.arange(4.0)


def branches(x, k):
    return torch.relu(x * k) + k


def breaks(x, k):
    y = x + k
    magneto.graph_break()
    try:
        if k % 3 == 0:
            raise KeyError(k)
    except KeyError as error:
        magneto.graph_break()
        y = y * error.args[0]
    return y * 2


def generates(x, k):
    return sum(x * i for i in range(k % 5)), [k, x.shape]


def recurses(x, k):
    return x if k == 0 else recurses(x + k, k - 1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = {}

    def forward(self, x, k):
        self.last = k
        return self.linear(x) * k


def calls_as_long_as(seconds, functions, failures):
    """What a thread does: calls, compares, and now and then forgets it all."""
    expected = {
        (name, k): eager(X, k)
        for name, (eager, _) in functions.items()
        for k in range(8)
    }

    def work(number):
        turn = number
        end = time.monotonic() + seconds
        while time.monotonic() < end and not failures:
            turn += 1
            name = list(functions)[turn % len(functions)]
            k = turn * 7 % 8
            try:
                compare(expected[name, k], functions[name][1](X, k))
                if turn % 50 == number:
                    magneto.reset()
                if turn % 20 == number:
                    # Another function of the same code.
                    again = magneto.compile(functions[name][0], backend="eager")
                    compare(expected[name, k], again(X, k))
            except BaseException as error:
                failures.append((name, k, error))

    return work


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize(
    "seconds", [5, pytest.param(60, marks=pytest.mark.slow)]
)
def test_threads_call_and_recompile_the_same_functions(seconds):
    programs = [branches, breaks, generates, recurses, Model().eval()]
    functions = {
        getattr(p, "__name__", "model"): (
            p,
            magneto.compile(p, backend="eager"),
        )
        for p in programs
    }
    failures = []
    with torch.no_grad():
        work = calls_as_long_as(seconds, functions, failures)
        for _, compiled in functions.values():
            compiled(X, 1)  # imports what compilations need
    magneto.reset()
    all_are_there = threading.Barrier(9)
    switch = sys.getswitchinterval()

    def run(number):
        all_are_there.wait()
        with torch.no_grad():
            work(number)

    try:
        threads = [
            threading.Thread(target=run, args=(n,), daemon=True)
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        all_are_there.wait()
        # Shorter ones leave the waiting threads busy with waking up.
        sys.setswitchinterval(1e-4)
        for thread in threads:
            thread.join(seconds + 120)
    finally:
        sys.setswitchinterval(switch)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)


FIRST_USE = """
import importlib.abc, sys, threading, time
import torch, magneto

class SlowFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        time.sleep(0.1)  # other threads run

def program(x):
    y = x.reshape(x.shape[0] * 2, -1)
    return torch.stack(y.unbind()).sum() + x.shape[1]

X = torch.ones(3, 4)
compiled = magneto.compile(program, backend="eager", dynamic=True)
results = []
begin = threading.Barrier(4)

def call():
    begin.wait()
    results.append(compiled(X).item())

threads = [threading.Thread(target=call) for _ in range(4)]
sys.meta_path.insert(0, SlowFinder())
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results == [program(X).item()] * 4, results
"""


def test_threads_compile_first_while_modules_are_imported():
    # What is made once must not be waited for with the GIL held.
    subprocess.run([sys.executable, "-c", FIRST_USE], timeout=120, check=True)


class Alarm(Exception):
    pass


def expire(signum, frame):
    raise Alarm


# In plain Python, each of its calls is of a function that is new.
CALLS_NEW_FUNCTIONS = """
def run(x):
    while True:
        exec("def new(x): pass\\nnew(x)")
"""


def test_exceptions_of_signal_handlers_arrive_in_the_program():
    def endless(x):
        while True:
            x = x + 1
            magneto.graph_break()

    with alarms(expire):
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Alarm):
                magneto.compile(endless, backend="eager")(X)


@pytest.fixture
def without_gc_callbacks():
    """What is raised in one of them is lost, in plain Python too."""
    kept = [*gc.callbacks]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(kept)


# A handler that runs within a callback of a weak reference can't raise out of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exceptions_of_signal_handlers_end_a_trace(without_gc_callbacks):
    def endless(x):
        while True:
            x = x + 1

    def long(x):
        for _ in range(100_000):
            x = x + 1
        return x

    with alarms(expire):
        for program in (endless, long):
            signal.setitimer(signal.ITIMER_REAL, 0.1, 1)
            with pytest.raises(Alarm):
                magneto.compile(program, backend="eager")(X)


def test_exceptions_of_signal_handlers_are_not_dropped(monkeypatch):
    """Where a frame has been called that magneto sees for the first time."""
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)

    namespace = {}
    exec(CALLS_NEW_FUNCTIONS, namespace)
    call = magneto.compile(lambda x: namespace["run"](x), backend="eager")
    with alarms(expire):
        for _ in range(100):
            signal.setitimer(signal.ITIMER_REAL, 0.005, 1)
            with pytest.raises(Alarm):
                call(X)
    assert dropped == []


def test_signal_handlers_may_call_compiled_functions():
    call = magneto.compile(branches, backend="eager")
    seen = []

    def handle(signum, frame):
        k = len(seen) % 8
        seen.append((k, call(X, k)))

    other = magneto.compile(breaks, backend="eager")
    with alarms(handle, 0.001, 0.001):
        for k in range(6):
            magneto.reset()
            for _ in range(30):
                compare(breaks(X, k), other(X, k))
    assert seen
    for k, result in seen:
        compare(branches(X, k), result)


def test_garbage_is_collected_while_tracing():
    class Node:
        pass

    def makes_garbage(x, k):
        node = Node()
        node.itself = node
        node.tensor = x + k
        values = [[node, i] for i in range(10)]
        for value in values:
            value.append(value)
        return node.tensor * len(values)

    compiled = [
        magneto.compile(f, backend="eager")
        for f in (makes_garbage, branches, breaks, generates)
    ]
    eager = [makes_garbage, branches, breaks, generates]
    callbacks = []

    def during(phase, info):
        if phase == "start" and not callbacks:
            callbacks.append(None)
            compare(branches(X, 3), compiled[1](X, 3))

    old = gc.get_threshold()
    gc.callbacks.append(during)
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(2):
            magneto.reset()
            callbacks.clear()
            for k in range(6):
                for one, other in zip(eager, compiled, strict=True):
                    compare(one(X, k), other(X, k))
    finally:
        gc.set_threshold(*old)
        gc.callbacks.remove(during)
    assert callbacks


def test_nothing_is_left_of_what_was_traced():
    class Thing:
        pass

    def program(x):
        thing = Thing()
        thing.it = thing
        try:
            raise KeyError(thing)
        except KeyError as error:
            magneto.graph_break()
            made.append(weakref.ref(error.args[0]))
        return x + 1

    made = []
    call = magneto.compile(program, backend="eager")
    for _ in range(3):
        call(X)
    gc.collect()
    assert [reference() for reference in made] == [None] * 3


def test_recursion_to_the_limit_is_an_error_and_no_crash():
    def deep(x, depth):
        magneto.graph_break()
        return deep(x, depth + 1) + 1

    def traced(x, depth):
        return traced(x, depth + 1) + 1

    def caught(x, depth):
        try:
            return caught(x, depth + 1) + 1
        except RecursionError:
            return x

    limit = sys.getrecursionlimit()
    for depth in (150, 400):
        for program in (deep, traced, caught):
            call = magneto.compile(program, backend="eager")
            outcomes = []
            for each in (program, call, call):
                sys.setrecursionlimit(depth)
                try:
                    outcomes.append(each(X, 0).shape)
                except RecursionError as error:
                    outcomes.append(str(error)[:32])
                finally:
                    sys.setrecursionlimit(limit)
            assert outcomes[0] == outcomes[1] == outcomes[2], program.__name__


def events_of(call, codes):
    """What a tracer is told of some functions during a call."""
    events = []

    def tracer(frame, event, arg):
        if frame.f_code in codes:
            first = frame.f_code.co_firstlineno
            events.append((frame.f_code.co_name, event, frame.f_lineno - first))
        return tracer

    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(None)
    return events


def test_tracers_see_every_line_as_in_plain_python():
    def callee(x):
        magneto.graph_break()
        return x * 2

    def program(x, k):
        y = callee(x)
        try:
            y[k] = 1 / (k - 1)
        except ZeroDivisionError:
            y = callee(y)
        return y

    codes = {callee.__code__, program.__code__}
    call = magneto.compile(program, backend="eager")
    for k in (0, 1, 2):
        expected = events_of(lambda: program(X, k), codes)
        assert events_of(lambda: call(X, k), codes) == expected
        compare(program(X, k), call(X, k))
        # Compiled meanwhile, and seen all the same.
        assert events_of(lambda: call(X, k), codes) == expected


def test_a_tracer_sees_no_frames_but_the_programs():
    seen = []

    def tracer(frame, event, arg):
        seen.append((frame.f_code.co_name, event))
        return tracer

    def program(x, function):
        sys.settrace(tracer)
        y = function(x)
        sys.settrace(None)
        return y

    def run(call):
        seen.clear()
        namespace = {}
        exec("def new(x):\n    return x + 1", namespace)
        call(X, namespace["new"])
        return list(seen)

    expected = run(program)
    call = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert run(call) == expected


def test_a_tracer_may_be_attached_in_the_middle():
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_name == "inner":
            lines.append(
                (event, frame.f_lineno - inner.__code__.co_firstlineno)
            )
        return tracer

    def inner(x):
        y = x + 1
        return y * 2

    def program(x):
        y = inner(x)
        sys.settrace(tracer)
        y = inner(y)
        sys.settrace(None)
        return inner(y)

    call = magneto.compile(program, backend="eager")
    for _ in range(3):
        lines.clear()
        compare(program(X), call(X))
        assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
        assert lines[:3] == [("call", 0), ("line", 1), ("line", 2)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_of_fork_go_on_compiling():
    call = magneto.compile(breaks, backend="eager")
    call(X, 1)

    def child():
        for k in range(5):
            compare(breaks(X, k), call(X, k))
        fresh = magneto.compile(generates, backend="eager")
        compare(generates(X, 4), fresh(X, 4))

    def fork_and_wait():
        pid = os.fork()
        if pid == 0:
            try:
                child()
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert fork_and_wait() == 0

    def forks_inside(x):
        y = x + 1
        status = fork_and_wait()
        return y * 2, status

    compare(
        (((X + 1) * 2), 0), magneto.compile(forks_inside, backend="eager")(X)
    )
    child()


# Its module's code begins, and waits, before another thread compiles.
IMPORTS_SLOWLY = """
import importlib.machinery, sys, threading, time
import torch, magneto

magneto.config.raise_internal_errors = True
name = sys.argv[1]
assert name not in sys.modules
has_begun = threading.Event()
run = importlib.machinery.SourceFileLoader.exec_module

def run_slowly(self, module):
    if module.__name__ == name:
        has_begun.set()
        time.sleep(0.5)
    run(self, module)

importlib.machinery.SourceFileLoader.exec_module = run_slowly
thread = threading.Thread(target=__import__, args=(name,))
thread.start()
has_begun.wait()

def program(x):
    if name == "wave":
        import wave
        return x * 2, wave.open.__name__
    return torch.tile(x, (len(x),)), "open"

compiled = magneto.compile(program, backend="eager", dynamic=True)
print(compiled(torch.ones(2)))
thread.join()
"""


@pytest.mark.parametrize("module", ["magneto.polyfills.torch_sizes", "wave"])
def test_modules_that_another_thread_is_importing(module):
    """They are in sys.modules before they have anything."""
    command = [sys.executable, "-c", IMPORTS_SLOWLY, module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("'open')\n"), done.stderr


@pytest.mark.parametrize("stops_after", [1, 3, 1000])
def test_what_changes_while_it_is_traced(stops_after):
    """A signal's handler that runs in the middle of a trace writes to what the
    trace has looked at: it looks again, and where that never ends, the call runs
    in plain Python.
    """
    seen = []

    def program(x):
        before = len(seen)
        total = 0
        for i in range(4000):
            total += i
        return x + total, before

    def handle(signum, frame):
        if len(seen) < stops_after:
            seen.append(signum)

    compiled = magneto.compile(program, backend="eager")
    expected, _ = program(X)
    with warnings.catch_warnings(), alarms(handle, 0.0005, 0.0005):
        warnings.simplefilter("error")
        for _ in range(3):
            earliest = len(seen)
            y, before = compiled(X)
            assert earliest <= before <= len(seen)
            compare(expected, y)
    assert seen
    compare(program(X), compiled(X))
