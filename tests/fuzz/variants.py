# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over tensors, called with other tensors each time: of other
sizes, kinds and histories, which share memory with others, in other modes.

    python -m tests.fuzz.variants [--count N] [--seed S]

Exits with 1 if a program differed; it is printed with what it gave.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from typing import Any

import torch

from tests.fuzz.command import difference_of, finding, run_many
from tests.fuzz.tensors import GLOBALS, Writer, sharing, shown, told

# How a tensor is made: {r} and {c} are numbers of rows and columns.
FRESH = [
    "torch.arange(float({r} * {c})).view({r}, {c}) - 2",
    "torch.arange(float({r} * {c})).view({c}, {r}).t()",
    "torch.arange(float({r} * {c} * 2)).view({r}, {c} * 2)[:, ::2]",
    "torch.arange({r} * {c}).view({r}, {c})",
    "torch.ones({r}, {c}, dtype=torch.float64)",
    "torch.zeros({r}, {c}, requires_grad=True)",
    "torch.ones({r}, {c}, requires_grad=True) * 2",
    "torch.linspace(-1, 1, {r} * {c}).view({r}, {c})",
    "torch.ones({r})",
    "torch.tensor({r}.5)",
    "torch.nn.Parameter(torch.full(({r}, {c}), 0.5))",
    "torch.ones({r}, {c}).expand(2, {r}, {c})[0]",
    "torch.ones(1, {c}).expand({r}, {c})",
    "torch.ones({r}, 0)",
    "torch.ones({r}, {c}) > 0",
    "torch.ones({r}, {c}, dtype=torch.complex64)",
]
# ... or of one that is there, {t}.
SHARED = [
    "{t}",
    "{t}",
    "{t}.detach()",
    "{t}.view(-1)",
    "{t}[0]",
    "{t}.t()",
    "{t}.data",
    "{t}[1:]",
    "{t} * 1",
]
MODES = [
    "torch.enable_grad()",
    "torch.enable_grad()",
    "torch.enable_grad()",
    "torch.no_grad()",
    "torch.inference_mode()",
    "torch.autocast('cpu', dtype=torch.bfloat16)",
]


def inputs(choose: random.Random) -> tuple[Any, ...]:
    """Six tensors."""
    values: list[Any] = []
    sizes = {"r": choose.choice([2, 2, 3, 1]), "c": choose.choice([3, 3, 4])}
    for _ in range(6):
        if values and choose.random() < 0.3:
            source = choose.choice(SHARED)
            with contextlib.suppress(Exception):
                made = eval(source.format(t="t"), {"t": choose.choice(values)})
                if made.untyped_storage().nbytes():
                    values.append(made)
                    continue
        source = choose.choice(FRESH if choose.random() < 0.5 else FRESH[:3])
        values.append(eval(source.format(**sizes), {"torch": torch}))
    return tuple(values)


def text_of_calls(call: Any, seed: int, facts: Callable[[Any], Any]) -> str:
    """What calls with different tensors give, note and leave: of each value what
    `facts` says.
    """
    told_all = []
    choose = random.Random(seed)
    kept = inputs(choose)
    for number in range(4):
        torch.manual_seed(0)
        notes: list[Any] = []
        # Mostly like those before.
        state = choose.getstate()
        given = list(inputs(choose)) if number else list(kept)
        if number and choose.random() < 0.7:
            choose.setstate(state)
            same = inputs(random.Random(seed))
            for i in range(6):
                if choose.random() < 0.7:
                    given[i] = same[i]
        mode = eval(choose.choice(MODES), {"torch": torch})
        result: Any
        try:
            with mode:
                result = call(*given, notes)
            shared = sharing([*given, *result])
        except Exception as error:
            result, shared = [told(error)], []
        finally:
            torch.set_grad_enabled(True)
        values = [[facts(v) for v in k] for k in (result, notes, given)]
        told_all.append(repr(values) + repr(shared))
    return "\n".join(told_all)


def dynamic_of(seed: int) -> bool | None:
    """Whether sizes vary from the start; None: once they do."""
    return random.Random(seed).choice([None, None, True, False])


def try_seed(seed: int) -> str:
    """What differs for the program of a seed; empty if nothing."""

    def facts(value: Any) -> Any:
        # Where a run that got a history failed, versions count on.
        return shown(value, versions=False)

    source = Writer(random.Random(seed)).program()
    # Torch makes such an output larger than NumPy's memory, and writes there.
    if "from_numpy" in source and "out=" in source:
        return ""
    differs = difference_of(
        source,
        dict(GLOBALS),
        lambda call: text_of_calls(call, seed, facts),
        dynamic=dynamic_of(seed),
    )
    return finding(seed, source, differs)


if __name__ == "__main__":
    sys.exit(run_many(__doc__, try_seed))
