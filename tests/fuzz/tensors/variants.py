# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over tensors, called with other tensors each time: of other
sizes, kinds and histories, which share memory with others, in other modes.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import torch

from tests.fuzz.support.running import difference_of, finding, of_sources
from tests.fuzz.tensors.views import (
    GLOBALS,
    Writer,
    items,
    sharing,
    shown,
    told,
)

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


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""

    def facts(value: Any) -> Any:
        # Where a run that got a history failed, versions count on.
        return shown(value, versions=False)

    # Torch makes such an output larger than NumPy's memory, and writes there.
    if "from_numpy" in source and "out=" in source:
        return ""
    return difference_of(
        source,
        dict(GLOBALS),
        lambda call: text_of_calls(call, seed, facts),
        dynamic=dynamic_of(seed),
    )


write, try_seed = of_sources(Writer, differs)


BACKEND = "aot_eager"
# Of these, compiled graphs give something else by design: histories and
# versions, whose memory something is, and memory that is exchanged. A view that
# is made in one grad mode and given back in another has the history of this.
# `as_strided` of a view that the graph writes reads other memory there.
NOT_KEPT = (
    "_version", "grad_fn", "_base", "is_leaf", "retain", ".data", "set_(",
    "from_numpy", "out=", "is_view", "storage", "data_ptr", "no_grad()",
    "enable_grad()", "set_grad_enabled(", "as_strided(",
)  # fmt: skip


def rounded(value: Any) -> Any:
    """Numbers of which the last digits don't count."""
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def facts_behind(value: Any) -> Any:
    """What has to be the same."""
    if not isinstance(value, torch.Tensor):
        # Compilers say in words of their own what they refuse.
        return value[0] if isinstance(value, tuple) and value else repr(value)
    try:
        grad = facts_behind(value.grad) if value.is_leaf else None
        about = (value.shape, value.dtype, value.requires_grad)
        return rounded(items(value.detach())), *about, grad
    except RuntimeError as error:
        return told(error)


def try_behind(seed: int) -> str:
    """The programs of `variants` under a compiler of PyTorch's, which makes
    functional code of what they write.

    Where torch.compile doesn't give what plain Python gives either, that
    compiler is at fault, and nothing is said; nor where it fails and says so.
    """
    source = write(seed)
    if any(word in source for word in NOT_KEPT):
        return ""

    def result_of(call: Any) -> str:
        return text_of_calls(call, seed, facts_behind)

    options = {"backend": BACKEND, "dynamic": dynamic_of(seed)}
    namespace = dict(GLOBALS)
    differs = difference_of(source, namespace, result_of, **options)
    if not differs or "BackendCompilerFailed" in differs:
        return ""
    program = namespace["program"]
    torch._dynamo.reset()
    if result_of(torch.compile(program, **options)) != result_of(program):
        return ""
    return finding(seed, source, differs)
