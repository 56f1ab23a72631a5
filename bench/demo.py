# SPDX-License-Identifier: BSD-3-Clause
"""`make demo`: three real models captured, magneto beside torch.compile.

For each model: how many graphs and calls were captured, what capturing and what
a compiled call costs beyond the graph with either compiler, and whether the
compiled model's output equals eager's. Weights are random; nothing is
downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from bench import programs
from bench.compilers import MAKERS, Compiler, remembering_backend
from bench.measure import now, seconds_per_call, timed
from magneto.testing import Difference, RecordingBackend, compare

MODELS: dict[str, Callable[[], programs.Model]] = {
    "Llama, 32 layers": lambda: programs.llama(32),
    "BERT, 12 layers": lambda: programs.bert(12),
    "ViT, 12 layers": lambda: programs.vit(12),
}


def capture_seconds(compiler: Compiler, model: programs.Model) -> float:
    """The time of a first call, less the time that the graph itself runs."""
    running = 0.0

    def backend(gm: Any, example_inputs: Any) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            nonlocal running
            start = now()
            outputs = gm.forward(*inputs)
            running += now() - start
            return outputs

        return run

    compiler.reset()
    call = compiler.compile(model.module, backend=backend)
    seconds, _ = timed(lambda: call(**model.arguments))
    return seconds - running


def overhead_seconds(compiler: Compiler, model: programs.Model) -> float:
    """The time of a hit whose graphs cost nothing."""
    compiler.reset()
    call = compiler.compile(model.module, backend=remembering_backend())
    return seconds_per_call(call, **model.arguments)


def show(name: str, model: programs.Model, compilers: list[Compiler]) -> bool:
    """Print one model's lines; False if an output differs from eager's."""
    magneto = compilers[0]
    magneto.reset()
    recorder = RecordingBackend()
    call = magneto.compile(model.module, backend=recorder)
    expected = model.module(**model.arguments)
    try:
        for _ in range(2):  # the first call captures, the second one hits
            compare(expected, call(**model.arguments))
        equal = "equal to eager's"
    except Difference as difference:
        equal = f"DIFFERENT from eager's: {difference}"
    calls = sum(map(len, recorder.listing()))
    print(f"\n{name}")
    print(f"  graphs {len(recorder.graphs)}, calls captured {calls}")
    print(f"  outputs {equal}")
    for what, measure, unit, scale in (
        ("capture", capture_seconds, "ms", 1e3),
        ("call overhead", overhead_seconds, "µs", 1e6),
    ):
        mine, peers = (measure(compiler, model) for compiler in compilers)
        print(
            f"  {what:14} magneto {mine * scale:9.1f} {unit}"
            f"   torch.compile {peers * scale:9.1f} {unit}"
            f"   {peers / mine:6.1f} times"
        )
    return equal.startswith("equal")


def main() -> int:
    """Show all models; returns the exit status."""
    torch.set_num_threads(1)
    compilers = [MAKERS[name]() for name in ("magneto", "torch")]
    print(f"PyTorch {torch.__version__}, one thread, random weights")
    with torch.no_grad():
        for compiler in compilers:  # what either does once in a process
            compiler.compile(programs.add, backend=remembering_backend())(
                torch.ones(2), torch.ones(2)
            )
        equal = [show(name, make(), compilers) for name, make in MODELS.items()]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
