# SPDX-License-Identifier: BSD-3-Clause
"""Frames that are not compiled: functions without tensor work that plain Python
calls, calls that raise, which take nothing from those that return, and what is
called behind a limit.
"""

import contextvars
import dataclasses
import warnings

import pytest
import torch
from torch._dynamo.utils import counters
from transformers.utils import ModelOutput

import magneto
from support.compiled_calls import Recorder, moved

X = torch.arange(4.0)
BACKENDS = ["eager", "aot_eager"]


def taken_by_peer(program, *calls):
    """How many frames torch.compile compiles."""
    torch._dynamo.reset()
    counters.clear()
    call = torch.compile(program, backend="eager")
    for arguments in calls:
        call(*arguments)
    return counters["frames"]["total"]


def compilations(program, *calls, backend="eager"):
    magneto.reset()
    call = magneto.compile(program, backend=backend)
    before = magneto.stats()["compilations"]
    for arguments in calls:
        torch.testing.assert_close(call(*arguments), program(*arguments))
    return magneto.stats()["compilations"] - before


# -- callees without tensor work ----------------------------------------------


@dataclasses.dataclass
class Output(ModelOutput):
    a: torch.Tensor | None = None
    b: torch.Tensor | None = None
    c: torch.Tensor | None = None
    d: torch.Tensor | None = None

    def __post_init__(self):
        print(end="")
        super().__post_init__()


def fields_of_a_model_output(x):
    output = Output(x, x + 1, x + 2, x + 3)
    return output.a + output.d


class Table:
    def __init__(self):
        self.texts, self.items, self.count = {}, [], 0

    def put(self, name, value):
        self.texts[name] = value

    def add(self, number, value):
        self.items.append((number, value))

    def counted(self, value):
        self.count += 1
        return value


def in_plain_python(function, *arguments):
    """Breaks the graph; the frame of `function` is looked at for itself."""
    return contextvars.copy_context().run(function, *arguments)


# Code that is in no file isn't compiled, but what it calls is.
NAMES = {}
exec(
    """
def fill(table, x):
    for name in ("a", "b", "c", "d", "e"):
        table.put(name, x)
    for number in (1.5, 2.5, 3.5, 4.5):
        table.add(number, x)
    for _ in range(4):
        table.counted(x)
""",
    NAMES,
)


def keeping_books(x):
    table = Table()
    in_plain_python(NAMES["fill"], table, x)
    return table.texts["a"] + table.items[0][1] + table.count


def step(x, active):
    return x.sin().cos() if active else x


def in_turn(x, *flags):
    for active in flags:
        x = in_plain_python(step, x, active)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("program", "most"),
    # Three pieces, and three callees of what runs in plain Python.
    [(fields_of_a_model_output, 5), (keeping_books, 6)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_callees_without_work_are_looked_at_once(program, most, backend):
    calls = [(X,)] * 3
    assert compilations(program, *calls, backend=backend) <= most
    assert most <= taken_by_peer(program, *calls)


def test_callees_without_work_compute_the_same_with_inductor():
    assert compilations(keeping_books, (X,), (X + 1,), backend="inductor") <= 6


def test_a_flag_may_bring_work():
    recorder = Recorder()
    magneto.reset()
    call = magneto.compile(in_turn, backend=recorder)
    for flags in ((False, False), (False, True), (True, False)):
        assert torch.equal(call(X, *flags), in_turn(X, *flags))
    assert recorder.graphs == 1
    assert "graphs" not in moved(lambda: call(X, True, True))


# -- calls that raise ---------------------------------------------------------


def checked(x, text, number):
    if text != "good":
        raise ValueError(text)
    return x * number


def checked_behind_a_break(x, text, number):
    print(end="")
    return checked(x + 1, text, number)


def called_with_bad_texts(call, count):
    for i in range(count):
        with pytest.raises(ValueError, match=f"bad {i}"):
            call(X, f"bad {i}", 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [checked, checked_behind_a_break])
def test_calls_that_raise_use_up_no_limit(program, backend):
    magneto.reset()
    call = magneto.compile(program, backend=backend, dynamic=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", magneto.exc.RecompileLimitWarning)
        for number in range(6):
            called_with_bad_texts(call, 10)
            for _ in range(2):
                assert torch.equal(
                    call(X, "good", number), program(X, "good", number)
                )
    good = lambda: call(X, "good", 0)  # noqa: E731
    assert moved(good) == {}


def test_a_call_that_raises_the_same_again_is_not_traced_again():
    magneto.reset()
    call = magneto.compile(checked, backend="eager")
    called_with_bad_texts(call, 3)
    assert moved(lambda: called_with_bad_texts(call, 3)) == {}


def test_calls_that_always_raise_are_not_traced_forever(monkeypatch):
    monkeypatch.setattr(magneto.config, "accumulated_recompile_limit", 12)
    magneto.reset()
    call = magneto.compile(checked, backend="eager")
    assert moved(lambda: called_with_bad_texts(call, 30))["compilations"] == 12


def test_runs_between_calls_that_raise_count(monkeypatch):
    monkeypatch.setattr(magneto.config, "accumulated_recompile_limit", 12)
    magneto.reset()
    call = magneto.compile(checked, backend="eager")
    call(X, "good", 2)
    for _ in range(3):
        called_with_bad_texts(call, 10)
        call(X, "good", 2)
    good = lambda: call(X + 1j, "good", 2)  # noqa: E731
    assert moved(good)["graphs"] == 1


# -- behind the limit ---------------------------------------------------------


def worker(x):
    return x.sin().cos()


def limited(x, text):
    return in_plain_python(worker, x * len(text)) + 1


def limited_behind_a_break(x, text):
    print(end="")
    return in_plain_python(worker, x * len(text)) + 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [limited, limited_behind_a_break])
def test_behind_the_limit_callees_are_not_compiled(program, backend):
    magneto.reset()
    call = magneto.compile(program, backend=backend, recompile_limit=2)
    for length in range(2):
        text = "k" * length
        assert torch.equal(call(X, text), program(X, text))
    with pytest.warns(magneto.exc.RecompileLimitWarning, match="what it calls"):
        assert torch.equal(call(X, "kk"), program(X, "kk"))

    def call_with_another_type():
        x = X.to(torch.complex64)
        torch.testing.assert_close(
            call(x, "long text"), program(x, "long text")
        )

    assert moved(call_with_another_type) == {}


def test_behind_the_limit_what_was_compiled_is_used():
    magneto.reset()
    call = magneto.compile(limited, backend="eager", recompile_limit=1)
    call(X, "a")
    with pytest.warns(magneto.exc.RecompileLimitWarning):
        call(X, "bb")
    assert moved(lambda: call(X, "a")) == {}


def without_work(x, text):
    return in_plain_python(worker, x), len(text)


def test_where_nothing_is_lost_there_is_no_limit_for_callees():
    magneto.reset()
    recorder = Recorder()
    call = magneto.compile(without_work, backend=recorder, recompile_limit=2)
    for length in range(3):
        call(X, "k" * length)
    graphs = recorder.graphs
    call(X.to(torch.complex64), "kkkk")
    assert recorder.graphs == graphs + 1
