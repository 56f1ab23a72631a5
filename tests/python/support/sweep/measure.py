# SPDX-License-Identifier: BSD-3-Clause
"""One program of the sweep: eager, magneto and torch.compile side by side."""

from __future__ import annotations

import collections
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from magneto.testing import Difference, RecordingBackend, compare
from support.sweep.rows import Program

CALLS = 2


@dataclass
class Side:
    """What one compiler did with a program, over all calls."""

    graphs: int = 0
    calls: int = 0
    breaks: list[str] = field(default_factory=list)
    seconds: float = 0.0  # of the first call
    error: str = ""
    listing: list[Any] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)


@dataclass
class Outcome:
    """Eager and both compilers on one program."""

    name: str
    training: bool
    status: str = ""
    detail: str = ""
    magneto: Side = field(default_factory=Side)
    torch: Side = field(default_factory=Side)
    fallbacks: dict[str, int] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


class NotMade(Exception):
    """The program itself can't be made or run without a compiler."""


def run(
    call: Callable[..., Any], program: Any, arguments: Any, training: bool
) -> dict[str, Any]:
    """One call, and the gradients of its loss when training."""
    random.seed(0)
    torch.manual_seed(0)
    sys.modules["numpy"].random.seed(0)
    args, kwargs = arguments
    with torch.set_grad_enabled(training):
        result = call(*args, **kwargs)
        if training:
            differentiate(result)
    left: dict[str, Any] = {"result": result, "arguments": arguments}
    if isinstance(program, torch.nn.Module):
        left["gradients"] = {n: p.grad for n, p in program.named_parameters()}
        left["buffers"] = dict(program.named_buffers())
    return left


def differentiate(result: Any) -> None:
    """Back from the loss, or from the sum of what has a gradient."""
    loss = getattr(result, "loss", None)
    if not isinstance(loss, torch.Tensor):
        leaves = torch.utils._pytree.tree_leaves(
            result.to_tuple() if hasattr(result, "to_tuple") else result
        )
        loss = sum(
            leaf.abs().float().sum()
            if leaf.is_complex()
            else leaf.float().sum()
            for leaf in leaves
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        )
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        loss.backward()


def eager(program: Program, training: bool) -> list[dict[str, Any]]:
    """What each call leaves behind without a compiler."""
    built = program.build()
    return [
        snapshot(run(built, built, program.arguments(), training))
        for _ in range(CALLS)
    ]


def snapshot(left: dict[str, Any]) -> dict[str, Any]:
    """Gradients and buffers as they are now; later calls write to them."""
    for name in ("gradients", "buffers"):
        left[name] = {
            key: None if value is None else value.detach().clone()
            for key, value in left.get(name, {}).items()
        }
    return left


def compiled(
    side: Side,
    compile: Callable[..., Any],
    program: Program,
    training: bool,
    expected: list[dict[str, Any]],
) -> None:
    """Run the calls compiled; what differs or fails is in `side.error`."""
    backend = RecordingBackend()
    built = program.build()
    call = compile(built, backend=backend)
    try:
        for number, wanted in enumerate(expected):
            arguments = program.arguments()
            begin = time.perf_counter()
            left = run(call, built, arguments, training)
            if number == 0:
                side.seconds = time.perf_counter() - begin
            side.left.append(snapshot(left))
            if not side.error:
                side.error = difference(wanted, side.left[-1], number)
    except Exception as error:
        side.error = f"RAISED {type(error).__name__}: {error} " + where(error)
    side.graphs, side.calls = len(backend.graphs), backend.calls
    side.listing = backend.listing()


def difference(a: Any, b: Any, number: int) -> str:
    """What differs between two calls, if anything does."""
    try:
        compare(a, b, where=f"call {number}")
    except Difference as found:
        return f"WRONG {found}"
    return ""


def where(error: BaseException) -> str:
    """The innermost place that a traceback names."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"[{place.filename.split('/')[-1]}:{place.lineno}]"


def measure(program: Program, training: bool) -> Outcome:
    """Eager, magneto, torch.compile; the outcome's status sums it up."""
    import magneto
    from magneto import _C, observers

    outcome = Outcome(program.name, training)
    warnings.simplefilter("ignore")
    try:
        expected = eager(program, training)
        again = eager(program, training)
    except Exception as error:
        outcome.status = "not made"
        outcome.detail = f"{type(error).__name__}: {error} {where(error)}"
        return outcome
    try:
        compare(expected, again)
    except Difference as difference:
        outcome.status = "not made"
        outcome.detail = f"eager differs from itself: {difference}"
        return outcome

    def observe(kind: str, _identity: str, details: dict[str, Any]) -> None:
        if kind in ("graph_break", "skip", "raised"):
            outcome.magneto.breaks.append(
                f"{kind} {details['reason']}: {details['detail']} at "
                f"{details.get('inner_place')} in {details['function']} "
                f"({details['filename'].split('/')[-1]}:{details['line']})"
            )

    fallbacks = collections.Counter(_C._tensor.fallback_counts())
    before = magneto.stats()["internal_errors"]
    observers.add(observe)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(outcome.magneto, magneto.compile, program, training, expected)
    observers.remove(observe)
    new = collections.Counter(_C._tensor.fallback_counts())
    outcome.fallbacks = dict(new - fallbacks)
    internal = magneto.stats()["internal_errors"] - before
    magneto.reset()

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled(outcome.torch, torch.compile, program, training, expected)
    outcome.torch.breaks = [
        f"{count} x {reason.splitlines()[0]}"
        for reason, count in torch._dynamo.utils.counters["graph_break"].items()
    ]
    torch._dynamo.reset()
    sum_up(outcome, internal, caught)
    return outcome


def sum_up(outcome: Outcome, internal: int, caught: list[Any]) -> None:
    """The status: the worst of what was found."""
    mine, theirs = outcome.magneto, outcome.torch
    flat = [sum(listing, []) for listing in (mine.listing, theirs.listing)]
    if mine.error.startswith("WRONG") and not any(
        difference(a, b, number)
        for number, (a, b) in enumerate(zip(mine.left, theirs.left))
    ):
        mine.error = ""  # the model itself asks whether it is being compiled
        theirs.error = ""
    if mine.error:
        outcome.status, outcome.detail = mine.error.split(" ", 1)
    elif internal:
        outcome.status = "INTERNAL"
        outcome.detail = "; ".join(
            str(w.message) for w in caught if "magneto" in str(w.message)
        )
    elif theirs.error:
        outcome.status, outcome.detail = "peer fails", theirs.error
    elif len(flat[0]) > len(flat[1]):
        outcome.status = "captures more"
        outcome.detail = "; ".join(theirs.breaks)
    elif mine.graphs > theirs.graphs:
        outcome.status = "GRAPHS"
        outcome.detail = "; ".join(mine.breaks)
    elif len(flat[0]) < len(flat[1]):
        outcome.status = "LESS"
        outcome.detail = first_difference(*flat) + "; ".join(mine.breaks)
    elif flat[0] != flat[1]:
        outcome.status = "CALLS"
        outcome.detail = first_difference(*flat)
    else:
        outcome.status = "ok"
    mine.listing = theirs.listing = mine.left = theirs.left = []


def first_difference(mine: list[Any], theirs: list[Any]) -> str:
    """Where two lists of calls part."""
    at = next(
        (i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b),
        min(len(mine), len(theirs)),
    )
    return (
        f"of {len(mine)} and {len(theirs)} calls, at {at}: magneto "
        f"{mine[at : at + 3]}, torch.compile {theirs[at : at + 3]}"
    )
