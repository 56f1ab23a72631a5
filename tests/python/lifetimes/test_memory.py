# SPDX-License-Identifier: BSD-3-Clause
"""What was compiled is freed when nothing needs it any more."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend

PAGE = 4096


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        return {"out": x + y, "sizes": [y.shape[0], len(y)]}


def run(gm, example_inputs):
    return gm.forward


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


ROUNDS = 1000

needs_its_own_memory = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="the address sanitizer keeps what is freed for a while",
)


def growth_over_rounds(a_round):
    """Resident bytes that 1,000 rounds add."""
    for _ in range(100):  # what is made once in a process is there then
        a_round()
    before = resident()
    for _ in range(ROUNDS):
        a_round()
    return resident() - before


def broken(x):
    y = x + 1
    magneto.graph_break()
    return y * 2


def raising(x):
    y = x + 1
    raise LookupError(len(y))


def compile_call_reset(fn):
    x = torch.ones(2, 8)

    def a_round():
        call = magneto.compile(fn(), backend=run)
        try:
            call(x)
        except LookupError:
            pass
        magneto.reset()

    return a_round


def keep_graphs():
    """A leak: the graph that each round makes."""
    kept = []

    def keeps(gm, example_inputs):
        kept.append(gm)
        return gm.forward

    x = torch.ones(2, 8)

    def a_round():
        magneto.compile(Block(), backend=keeps)(x)
        magneto.reset()

    return a_round


ROUNDS_OF = {
    "module": lambda: compile_call_reset(Block),
    "break": lambda: compile_call_reset(lambda: broken),
    "exception": lambda: compile_call_reset(lambda: raising),
    "leak": keep_graphs,
}


def growth_in_a_new_process(name):
    """Where no memory that other tests have freed can be used again."""
    done = subprocess.run(
        [sys.executable, __file__, name], stdout=subprocess.PIPE, check=True
    )
    return int(done.stdout)


@needs_its_own_memory
@pytest.mark.parametrize("name", ["module", "break", "exception"])
def test_rounds_of_compile_call_reset_leave_memory_flat(name):
    assert growth_in_a_new_process(name) < ROUNDS * 1024


def test_a_leak_would_be_seen():
    assert growth_in_a_new_process("leak") > ROUNDS * 1024


@needs_its_own_memory
def test_calls_of_compiled_function_leave_memory_flat():
    call = magneto.compile(Block(), backend=run, fullgraph=True)
    x = torch.ones(2, 8)

    def growth():
        before = resident()
        for _ in range(5000):
            call(x)
        return resident() - before

    # A leaked tensor would be more than 200 bytes a call, every time; what the
    # allocator takes back from the system after other tests comes once.
    assert min(growth() for _ in range(3)) < 5000 * 150


def test_dropped_compiled_module_frees_the_module_and_its_graphs():
    backend = RecordingBackend()
    model = Block()
    call = magneto.compile(model, backend=backend, fullgraph=True)
    call(torch.ones(2, 8))
    module, weight = weakref.ref(model), weakref.ref(model.first.weight)
    graph = weakref.ref(backend.graphs[0])
    backend.graphs.clear()
    del model, call, backend
    gc.collect()
    assert module() is None
    assert weight() is None
    assert graph() is None


def test_compiled_function_keeps_no_argument_alive():
    call = magneto.compile(lambda x, y: (x * 2, y), backend=run)
    x, y = torch.ones(2), [torch.ones(3)]
    result = call(x, y)
    references = [weakref.ref(x), weakref.ref(y[0])]
    del x, y, result
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_compiled_function_keeps_no_global_tensor_alive():
    namespace = {"weight": torch.ones(2)}
    exec("def scaled(x): return x * weight", namespace)
    call = magneto.compile(namespace["scaled"], backend=run)
    call(torch.ones(2))
    call(torch.ones(2))
    weight = weakref.ref(namespace["weight"])
    del namespace["weight"]
    gc.collect()
    assert weight() is None


def test_failed_capture_keeps_no_argument_alive():
    def raises(x):
        y = x + 1
        raise ValueError(str(y.shape))

    call = magneto.compile(raises, backend=run)
    x = torch.ones(2)
    with pytest.raises(ValueError, match="2"):
        call(x)
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


# -- nothing lives longer than in plain Python (A5) ----------------------------

alive = []
watched = []


@magneto.disable
def look():
    alive.append([reference() is not None for reference in watched])


def consumes(holder):
    x = holder.pop()
    y = x + 1
    del x
    look()
    return y


def overwrites(holder):
    x = holder.pop()
    for _ in range(2):
        x = x * 2
        look()
    return x


def consumes_in_a_call(holder):
    def inner():
        return holder.pop() * 2

    y = inner()
    look()
    return y


class Keeps:
    def __init__(self):
        self.last = None

    def step(self, holder):
        self.last = holder.pop() + 1
        look()
        return self.last * 2


@pytest.mark.parametrize(
    "fn",
    [consumes, overwrites, consumes_in_a_call, Keeps().step],
    ids=lambda fn: fn.__name__,
)
def test_tensors_die_when_they_die_in_plain_python(fn):
    def lives(call):
        alive.clear()
        for _ in range(3):
            holder = [torch.ones(3)]
            watched[:] = [weakref.ref(holder[0])]
            call(holder)
        look()
        return list(alive)

    expected = lives(fn)
    call = magneto.compile(fn, backend=run)
    # The first call, which compiles, may know its inputs until it is done.
    per_call = (len(expected) - 1) // 3
    assert lives(call)[per_call:] == expected[per_call:]
    assert lives(call) == expected


def test_nothing_is_left_in_the_users_globals():
    before = dict(globals())
    x = torch.ones(2, 8)
    call = magneto.compile(broken, backend=run)
    for _ in range(2):
        call(x)
    call(x.double())
    with pytest.raises(LookupError):
        magneto.compile(raising, backend=run)(x)
    assert globals() == before
    magneto.reset()
    assert globals() == before


def test_dropped_compiled_function_frees_what_it_closes_over():
    def make():
        model = Block()

        def step(x):
            magneto.graph_break()
            return model(x)["out"]

        return magneto.compile(step, backend=run), weakref.ref(model)

    call, model = make()
    call(torch.ones(2, 8))
    assert model() is not None
    del call
    gc.collect()
    assert model() is None


if __name__ == "__main__":
    print(growth_over_rounds(ROUNDS_OF[sys.argv[1]]()))


RECURSIVE = """
def callee(x, n):
    y = x + 1
    magneto.graph_break()
    return y * n

def call(x, n):
    if n <= 0:
        return callee(x, 2)
    return call(x * 2, n - 1) + len(__name__)
"""


def test_what_was_compiled_keeps_no_namespace_alive():
    names = {"magneto": magneto, "__name__": "somewhere"}
    exec(RECURSIVE, names)
    left = [
        weakref.ref(names[name].__code__)
        if of_code
        else weakref.ref(names[name])
        for name in ("call", "callee")
        for of_code in (False, True)
    ]
    compiled = magneto.compile(names["call"], backend=run)
    for n in (3, 2, 1, 0):
        compiled(torch.ones(2), n)
    del compiled, names
    gc.collect()
    assert [each() for each in left] == [None] * 4
