# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of control flow, transforms, checkpoints, regions and functions
with a backward of their own, nested in each other; values and gradients.

In plain Python the operators are what their documentation says, written here:
PyTorch's own compile themselves. A program that isn't one graph isn't compared.
"""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops import scan as torch_scan
from torch._higher_order_ops import while_loop as torch_while_loop
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

import magneto
from tests.fuzz.modules.gradients import Both

# Of tensors of three numbers: {t} is one, {v} a new name, {f} an expression of
# it that isn't it, {s} the same without control flow, {k} a number.
LEAVES = [
    "{t}.sin()", "{t} * {k}", "{t} + {t}", "{t} * {t}.tanh()", "{t} - w",
    "lin({t})", "{t}.flip(0)", "torch.where({t} > {k}, {t}, w * 2)",
    "{t}.softmax(0)", "torch.stack([{t}, w]).mean(0)", "{t} / 2 + y",
    "{t}.cos() * {t}[{i}]", "{t}.cumsum(0)", "{t}.roll(1) + {k}",
]  # fmt: skip
WITHIN_TRANSFORMS = [
    "torch.func.vmap(lambda {v}: {s})(torch.stack([{t}, w])).sum(0)",
    "torch.func.vmap(lambda {v}, u: {s} * u, in_dims=(0, None))(pair({t}), w).sum(0)",
    "torch.func.grad(lambda {v}: ({s}).sum())({t})",
    "torch.func.grad_and_value(lambda {v}: ({s}).sum())({t})[{b}] * w",
    "torch.func.jvp(lambda {v}: {s}, ({t},), (w,))[{b}]",
    "torch.func.vjp(lambda {v}: {s}, {t})[1](w)[0]",
    "torch.func.jacrev(lambda {v}: {s})({t}).sum(0)",
]  # fmt: skip
CONTROL = [
    "cond({t}.sum() > {k}, lambda {v}: {f}, lambda {v}: {f}, ({t},))",
    "cond({t}.max() > {t}.mean() * {k}, lambda {v}: {f}, lambda {v}: {f}, ({t},))",
    "while_loop(lambda i, {v}: i < {n}, lambda i, {v}: (i + 1, {f}), (zero, {t} * 1))[1]",
    "scan(lambda h, {v}: (h * 0.5 + {f}, h.sin()), {t} * 1, pair({t}))[{b}].reshape(-1, 3)[0]",
    "map(lambda {v}: {f}, pair({t})).sum(0)",
    "checkpoint(lambda {v}: {f}, {t}, use_reentrant=False)",
    "region(lambda {v}: {f}, {t})", "region(again, {t})",
    "Saving.apply({t})", "Scaled.apply({t}, {k})", "Both.apply({t}, w)[{b}]",
]  # fmt: skip
DEEPEST = 3


class Saving(Function):
    """Saves what it is given and what it gives."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """x²."""
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Not the derivative, so that it can be told which one was asked."""
        x, y = ctx.saved_tensors
        return grad * x * 3 + y


class Scaled(Function):
    """With a number, in the newer style."""

    @staticmethod
    def forward(x: Any, factor: Any) -> Any:
        """Multiplied."""
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps the number."""
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """One more than it."""
        return grad * (ctx.factor + 1), None


def pair(t: Any) -> Any:
    """Two of them, stacked."""
    return torch.stack([t, t * 2])


def again(a: Any) -> Any:
    """What several regions are of."""
    return a.sigmoid() * 2


def called(function: Any, a: Any) -> Any:
    """What regions are."""
    return function(a)


def plain_cond(predicate: Any, on_true: Any, on_false: Any, given: Any) -> Any:
    """One of two functions."""
    return (on_true if predicate else on_false)(*given)


def plain_while_loop(condition: Any, body: Any, carried: Any) -> Any:
    """While the condition holds."""
    while condition(*carried):
        carried = body(*carried)
    return carried


def plain_scan(combine: Any, carry: Any, rows: Any) -> Any:
    """Over the first dimension."""
    given = []
    for row in rows:
        carry, each = combine(carry, row)
        given.append(each)
    return carry, torch.stack(given)


def plain_map(function: Any, rows: Any) -> Any:
    """Over the first dimension."""
    return torch.stack([function(row) for row in rows])


SHARED: dict[str, Any] = {
    "torch": torch, "pair": pair, "again": again, "checkpoint": checkpoint,
    "Saving": Saving, "Scaled": Scaled, "Both": Both,
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "cond": plain_cond, "while_loop": plain_while_loop, "scan": plain_scan,
    "map": plain_map, "region": called,
}  # fmt: skip
COMPILED: dict[str, Any] = {
    "cond": torch.cond, "while_loop": torch_while_loop, "scan": torch_scan,
    "map": torch_map, "region": torch.compiler.nested_compile_region(called),
}  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.names = 0

    def program(self) -> str:
        """A few statements, each of what came before. No name is bound twice:
        what a checkpoint computes again sees what its names are then.
        """
        lines = ["def program(x, y, w, lin, zero):"]
        names = ["x", "y"]
        for i in range(self.choose.randint(1, 4)):
            text = self.expression(names, 0, True)
            lines.append(f"    t{i} = {text}")
            names.append(f"t{i}")
        lines.append(f"    return {', '.join(names)}")
        return "\n".join(lines)

    def expression(self, names: list[str], depth: int, controls: bool) -> str:
        """One of some names."""
        pick = self.choose.choice
        templates = LEAVES
        if depth < DEEPEST and self.choose.random() < 0.75:
            with_control = controls and self.choose.random() < 0.7
            templates = CONTROL if with_control else WITHIN_TRANSFORMS
        text = pick(templates)
        self.names += 1
        own = f"v{self.names}"
        for hole, inner in (("{f}", controls), ("{s}", False)):
            while hole in text:
                part = self.expression([own, own, *names], depth + 1, inner)
                text = text.replace(hole, f"({part}) * 1", 1)
        for hole, items in (
            ("{t}", names),
            ("{k}", ["2", "0.5", "-1", "3"]),
            ("{n}", ["0", "1", "3"]),
            ("{b}", ["0", "1"]),
            ("{i}", ["0", "1", "2"]),
        ):
            while hole in text:
                text = text.replace(hole, pick(items), 1)
        return text.replace("{v}", own)


def write(seed: int) -> str:
    """The program of a seed."""
    return Writer(random.Random(seed)).program()


def results(source: str, seed: int, is_compiled: bool) -> list[Any]:
    """What a program gives, and the gradients, for two calls."""
    torch.manual_seed(0)
    lin = nn.Linear(3, 3)
    namespace = {**SHARED, **(COMPILED if is_compiled else PLAIN)}
    exec(compile(source, "<program>", "exec"), namespace)
    call = namespace["program"]
    if is_compiled:
        call = magneto.compile(call, backend="eager", fullgraph=True)
    found: list[Any] = []
    needs = bool(seed % 3)
    for number in range(2):
        x = torch.linspace(-1, 1 + number, 3).requires_grad_(needs)
        y = torch.linspace(0.5, 2, 3).requires_grad_(needs and seed % 2 == 0)
        w = torch.tensor([0.25, -0.5, 1.0])
        with torch.set_grad_enabled(seed % 5 != 0):
            outputs = call(x, y, w, lin, torch.zeros((), dtype=torch.int64))
            total = sum(output.sum() for output in outputs)
            if total.requires_grad:
                lin.zero_grad()
                total.backward()
        found += [each.detach() for each in outputs]
        found += [x.grad, y.grad, lin.weight.grad]
    return found


def differ(a: Any, b: Any) -> bool:
    """None and zeros are gradients of the same."""
    if a is None or b is None:
        other = b if a is None else a
        return other is not None and bool(other.abs().max() > 0)
    return not torch.allclose(a, b, 1e-4, 1e-5, equal_nan=True)


def differs(source: str, seed: int) -> str:
    """How the two runs differ; empty if they don't."""
    try:
        plain = results(source, seed, False)
    except Exception:
        return ""  # torch.func under a checkpoint, which PyTorch refuses
    try:
        compiled = results(source, seed, True)
    except magneto.exc.Unsupported:
        return ""
    except Exception as error:
        return f"compiled: {type(error).__name__}: {error}"
    for i, (a, b) in enumerate(zip(plain, compiled, strict=True)):
        if differ(a, b):
            return f"result {i}: {a} and {b}"
    return ""


def try_seed(seed: int) -> str:
    """Tries one program."""
    magneto.reset()
    source = write(seed)
    found = differs(source, seed)
    return f"seed {seed}\n{source}\n{found}" if found else ""


def is_whole(seed: int) -> bool:
    """Whether the program is one graph, and so is compared."""
    try:
        results(write(seed), seed, True)
    except magneto.exc.Unsupported:
        return False
    return True
