# SPDX-License-Identifier: BSD-3-Clause
"""What was compiled goes away when nobody needs it any more."""

import gc
import weakref
from pathlib import Path

import pytest
import torch

pytest.importorskip("magneto._C")

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


def test_rounds_of_compile_call_reset_leave_memory_flat():
    def rounds(count):
        for _ in range(count):
            magneto.compile(Block(), backend=run, fullgraph=True)(x)
            magneto.reset()

    x = torch.ones(2, 8)
    rounds(100)  # what is made once in a process is there now
    before = resident()
    rounds(1000)
    assert resident() - before < 1000 * 1024  # less than 1 KiB a round


def test_calls_of_compiled_function_leave_memory_flat():
    call = magneto.compile(Block(), backend=run, fullgraph=True)
    x = torch.ones(2, 8)
    for _ in range(200):
        call(x)
    before = resident()
    for _ in range(5000):
        call(x)
    # A leaked tensor would be more than 200 bytes a call.
    assert resident() - before < 5000 * 150


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
