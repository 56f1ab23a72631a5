# SPDX-License-Identifier: BSD-3-Clause
"""Measures one row with one compiler, in this process; see rows.py.

    python -m bench.measure <row> <compiler>

prints one JSON object: {"value": <seconds or bytes>}.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import torch

from bench import programs, subgraphs
from bench.compilers import (
    MAKERS,
    MODULES,
    Backend,
    Compiler,
    constant_backend,
    remembering_backend,
)

Measurement = Callable[[Compiler], float]

# On a machine that does other work as well, processor time says more than the
# time that passes; neither compiler starts threads here.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
now = CLOCKS[os.environ.get("BENCH_CLOCK", "wall")]


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long one call takes, and its result."""
    gc.collect()
    start = now()
    result = call()
    return now() - start, result


def expect_captured(holds: bool) -> None:
    """A compiled call gave what the backend returned: it didn't run eagerly."""
    if not holds:
        raise RuntimeError("the function was not captured as one would expect")


def seconds_per_call(call: Callable[..., Any], *args: Any, **kw: Any) -> float:
    """The time of one call among many: the median of 15 batches of 20 ms."""
    for _ in repeat(None, 50):
        call(*args, **kw)
    once, _ = timed(lambda: call(*args, **kw))
    count = max(20, min(20_000, int(0.02 / max(once, 1e-7))))
    batches = []
    for _ in range(15):
        start = now()
        for _ in repeat(None, count):
            call(*args, **kw)
        batches.append((now() - start) / count)
    return statistics.median(batches)


def capture_llama(layers: int, **options: Any) -> Measurement:
    """The first call of a Llama."""

    def measure(compiler: Compiler) -> float:
        model = programs.llama(layers)
        with torch.no_grad():
            logits = model.module(**model.arguments).logits
            backend = constant_backend((logits,))
            call = compiler.compile(model.module, backend=backend, **options)
            seconds, result = timed(lambda: call(**model.arguments))
            expect_captured(result.logits is logits)
            return seconds

    return measure


def capture_function(
    function: Callable[..., Any], *, requires_grad: bool = False
) -> Measurement:
    """The first call of a function of one tensor."""

    def measure(compiler: Compiler) -> float:
        x = torch.ones(4, requires_grad=requires_grad)
        output = function(x)
        backend = constant_backend((output,))
        call = compiler.compile(function, backend=backend)
        seconds, result = timed(lambda: call(x))
        expect_captured(result is output)
        return seconds

    return measure


def overhead_of_add(**options: Any) -> Measurement:
    """A hit of a function of two tensors."""

    def measure(compiler: Compiler) -> float:
        x, y = torch.ones(4), torch.ones(4)
        output = x + y
        backend = constant_backend((output,))
        call = compiler.compile(programs.add, backend=backend, **options)
        expect_captured(call(x, y) is output)
        return seconds_per_call(call, x, y)

    return measure


def overhead_of_eager_graph(compiler: Compiler) -> float:
    """The same where the graph is run as it is: what a call costs beyond the
    operator, with no backend's callable in between.
    """
    x, y = torch.ones(4), torch.ones(4)
    call = compiler.compile(programs.add, backend="eager")
    expect_captured(torch.equal(call(x, y), x + y))
    operator = seconds_per_call(torch.add, x, y)
    return seconds_per_call(call, x, y) - operator


def overhead_with_graph_breaks(count: int) -> Measurement:
    """A hit of a function that is `count` + 1 graphs."""
    # Written out: torch.compile runs a loop with a break in plain Python.
    lines = ["def broken(x, y):", "z = x + y"]
    lines += ["graph_break()", "z = z * y"] * count
    source = "\n    ".join([*lines, "return z"])

    def measure(compiler: Compiler) -> float:
        names: dict[str, Any] = {"graph_break": compiler.graph_break}
        exec(source, names)
        x, y = torch.ones(4), torch.ones(4)
        output = x + y
        backend = constant_backend((output,))
        call = compiler.compile(names["broken"], backend=backend)
        expect_captured(call(x, y) is output)
        return seconds_per_call(call, x, y)

    return measure


def overhead_of_llama(compiler: Compiler) -> float:
    """A hit of a 32-layer Llama, whose graph has 293 inputs."""
    model = programs.llama(32)
    with torch.no_grad():
        call = compiler.compile(model.module, backend=remembering_backend())
        first, again = (call(**model.arguments).logits for _ in range(2))
        expect_captured(first is again)
        return seconds_per_call(call, **model.arguments)


def recompile(compiler: Compiler) -> float:
    """A miss of a one-line function, once it has been compiled before."""
    compiler.allow_recompiles(100)
    output = torch.ones(1)
    backend: Backend = constant_backend((output,))
    call = compiler.compile(programs.increment, backend=backend, dynamic=False)
    call(torch.ones(2))
    inputs = [torch.ones(size) for size in range(3, 24)]
    times = []
    for x in inputs:
        seconds, result = timed(lambda x=x: call(x))
        expect_captured(result is output)
        times.append(seconds)
    return statistics.median(times)


def resident(field: str) -> int:
    """VmRSS or VmHWM (the peak of VmRSS) of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise LookupError(field)


def memory_of_capture(compiler: Compiler) -> float:
    """Resident bytes that capturing a 32-layer Llama adds, at its peak."""
    model = programs.llama(32)
    with torch.no_grad():
        logits = model.module(**model.arguments).logits
        backend = constant_backend((logits,))
        call = compiler.compile(model.module, backend=backend)
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = resident("VmRSS")
        expect_captured(call(**model.arguments).logits is logits)
        return resident("VmHWM") - before


MEASUREMENTS: dict[str, Measurement] = {
    "capture_8_layers": capture_llama(8),
    "capture_32_layers": capture_llama(32),
    "capture_8_layers_dynamic": capture_llama(8, dynamic=True),
    "capture_32_layers_dynamic": capture_llama(32, dynamic=True),
    "capture_unrolled_loop": capture_function(programs.unrolled_loop),
    "capture_integer_loop": capture_function(programs.integer_loop),
    "capture_conds": capture_function(subgraphs.chain_of_conds),
    "capture_nested_conds": capture_function(subgraphs.nested_conds),
    "capture_vmap": capture_function(subgraphs.vmapped_mlp()),
    "capture_checkpoints": capture_function(
        subgraphs.checkpointed_layers(), requires_grad=True
    ),
    "capture_autograd_functions": capture_function(
        subgraphs.autograd_functions, requires_grad=True
    ),
    "call_add": overhead_of_add(),
    "call_add_dynamic": overhead_of_add(dynamic=True),
    "call_add_eager": overhead_of_eager_graph,
    "call_graph_break": overhead_with_graph_breaks(1),
    "call_ten_graph_breaks": overhead_with_graph_breaks(10),
    "call_32_layers": overhead_of_llama,
    "recompile": recompile,
    "memory_32_layers": memory_of_capture,
}


def main() -> None:
    """Measure the row and the compiler that the command line names."""
    row, name = sys.argv[1:]
    torch.set_num_threads(1)
    if row == "import":
        # torch is there already; what else does the compiler need?
        value, _ = timed(lambda: importlib.import_module(MODULES[name]))
    else:
        value = MEASUREMENTS[row](MAKERS[name]())
    print(json.dumps({"value": value}))


if __name__ == "__main__":
    main()
