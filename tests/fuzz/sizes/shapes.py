# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over sizes: compiled with symbols for some shapes, called with
many others. Either the guards miss, or the result equals eager's.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo.decorators import mark_unbacked

import magneto
from magneto.testing import Difference, compare

# Statements over tensors {t}, {u}, ints {n}, {m} and small numbers {k}; what
# can't be done for some sizes raises, eagerly and compiled alike.
TENSORS = [
    "{t} * 2 + {k}",
    "{t} + {n}",
    "{t} * {n} - {m}",
    "{t} + {u}",
    "{t}.reshape(-1)",
    "{t}.reshape({n}, -1)",
    "{t}.reshape(-1, {k})",
    "{t}.flatten()",
    "{t}.transpose(0, -1)",
    "{t}.unsqueeze(0)",
    "{t}.unsqueeze(-1)",
    "{t}.squeeze()",
    "{t}.sum(0)",
    "{t}.sum(-1, keepdim=True)",
    "{t}.mean()",
    "{t}.cumsum(0)",
    "{t}.softmax(-1)",
    "{t}.flip(0)",
    "{t}[:{n}]",
    "{t}[{n}:]",
    "{t}[1:-1]",
    "{t}[::2]",
    "{t}[-1]",
    "{t}[..., :{k}]",
    "{t}.narrow(0, 0, {n})",
    "{t}.expand({k}, *{t}.shape)",
    "{t}.repeat(2, *[1] * ({t}.dim() - 1))",
    "{t}.contiguous()",
    "{t}.new_zeros({t}.shape)",
    "{t}.new_ones({n}, {k})",
    "torch.cat([{t}, {t}])",
    "torch.cat([{t}, {u}])",
    "torch.stack([{t}, {t} + 1])",
    "torch.zeros({n}) + {t}.sum()",
    "torch.arange({n}) * 1.0",
    "torch.ones({n}, {m})",
    "torch.full(({n},), {k}.0)",
    "torch.outer({t}.flatten(), {u}.flatten())",
    "torch.where({t} > 0, {t}, {t} * {k})",
    "torch.nn.functional.pad({t}, (1, {k}))",
    "{t}.split({k})[0]",
    "{t}.chunk(2)[-1]",
    "{t}.unbind(0)[0]",
    "{t}.T @ {t}",
    "{t} @ {u}",
    "{t}.as_strided(({n},), (1,))",
    "{t}.max(-1).values",
    "{t}.tril()",
    "{t}.unfold(0, {k}, 1)",
    "{t}.diagonal()",
    "torch.cdist({t}, {u})",
    "torch.linspace(0, 1, {n})",
    "torch.nn.functional.batch_norm({t}, None, None, training=True)",
    "torch.rand({n})",
]
NUMBERS = [
    "{t}.shape[0]",
    "{t}.shape[-1]",
    "{t}.numel()",
    "{t}.dim()",
    "len({t})",
    "{t}.stride(0)",
    "{n} + {m}",
    "{n} - {m}",
    "{n} * {k}",
    "{n} // {k}",
    "{n} % {k}",
    "{n} // {m}",
    "{n} % {m}",
    "-{n}",
    "abs({n} - {m})",
    "min({n}, {m})",
    "max({n}, {k})",
    "({n} + {k} - 1) // {k}",
    "{n} ** 2",
    "int({n} / {k})",
    "round({n} / 2)",
    "{k} if {n} > {m} else {n}",
    "{n} if {t}.shape == {u}.shape else {m}",
    "{n} & {k}",
    "{n} << 1",
]
# What comes out of tensors: sizes and numbers that only the graph's run tells.
DATA_TENSORS = [
    "{t}[{t} > 0]",
    "{t}[{t}.sum(-1) > 0]",
    "{t}[{u} <= 1]",
    "{t}.nonzero()",
    "{t}.nonzero()[:, 0] * 1.0",
    "torch.where({t} > {k})[0] * 0.5",
    "torch.masked_select({t}, {t} < {k})",
    "{t}.unique()",
    "{t}.unique(dim=0)",
    "{t}.flatten().repeat_interleave({t}.flatten().abs().long())",
    "torch.bincount({t}.flatten().abs().long(), minlength={k}) * 1.0",
    "torch.index_select({t}, 0, ({t}.flatten()[: len({t})] > 0).nonzero()[:, 0])",
    "{t}.masked_fill({t} > 1, {k})",
    "torch.nn.functional.one_hot({t}.long()) * 1.0",
]
DATA_NUMBERS = [
    "int({t}.sum())",
    "({t} > 0).sum().item()",
    "{t}.abs().max().long().item()",
    "int({t}.flatten()[0])",
    "{t}.long().flatten()[:2].tolist()[0]",
    "len({t}[{t} > 1])",
]
CONDITIONS = [
    "{n} > {k}",
    "{n} == {m}",
    "{n} % 2 == 0",
    "{t}.shape[0] < {u}.shape[0]",
    "{t}.numel() >= {n}",
    "{n} <= {m} or {t}.dim() > 2",
    "not {n}",
    "{t}.is_contiguous()",
    "{n} * {k} != {m} + 1",
]


def write(rng: random.Random, statements: int, data: bool = False) -> str:
    """The source of one program; with `data`, sizes come out of tensors."""
    share = 0.3 if data else 0.0
    tensors, numbers = ["a", "b"], ["n", "m"]
    lines = ["def f(a, b, n):", "    m = a.shape[0]"]

    def fill(template: str) -> str:
        return template.format(
            t=rng.choice(tensors),
            u=rng.choice(tensors),
            n=rng.choice(numbers),
            m=rng.choice(numbers),
            k=rng.randint(1, 4),
        )

    def assign(name: str, templates: list[str], names: list[str]) -> None:
        lines.append(f"    {name} = {fill(rng.choice(templates))}")
        names.append(name)

    for i in range(statements):
        kind = rng.random()
        if rng.random() < share:
            if kind < 0.6:
                assign(f"t{i}", DATA_TENSORS, tensors)
            else:
                assign(f"n{i}", DATA_NUMBERS, numbers)
        elif kind < 0.5:
            assign(f"t{i}", TENSORS, tensors)
        elif kind < 0.85:
            assign(f"n{i}", NUMBERS, numbers)
        else:
            lines.append(f"    if {fill(rng.choice(CONDITIONS))}:")
            lines.append(f"        t{i} = {fill(rng.choice(TENSORS))}")
            lines.append("    else:")
            lines.append(f"        t{i} = {fill(rng.choice(TENSORS))}")
            tensors.append(f"t{i}")
        if rng.random() < 0.1:
            lines.append(f"    if {fill(rng.choice(CONDITIONS))}:")
            lines.append(f"        raise ValueError({fill('{n}')})")
    lines.append(f"    return [{', '.join(tensors + numbers)}]")
    return "\n".join(lines) + "\n"


def draw(rng: random.Random, ranks: tuple[int, int]) -> tuple[Any, ...]:
    """Arguments of one call."""
    sizes = [[rng.choice((0, 1, 2, 3, 3, 4, 5, 6, 8)) for _ in range(r)]
             for r in ranks]  # fmt: skip
    if rng.random() < 0.5:  # broadcasting wants equal sizes
        sizes[1] = sizes[0][: ranks[1]] + sizes[1][len(sizes[0]) :]
    tensors = [
        torch.arange(float(torch.Size(each).numel())).reshape(each) / 3 - 1
        for each in sizes
    ]
    if rng.random() < 0.2:
        tensors[0] = tensors[0].transpose(0, -1)
    return (*tensors, rng.choice((0, 1, 2, 3, 4, 5, 6, 7, -1, -3)))


def run(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What the call gives, or the class of what it raises, and the random
    number that comes next.
    """
    torch.manual_seed(0)
    try:
        result = call(*arguments)
    except Exception as error:
        result = type(error)
    return result, torch.rand(())


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Each call may compile, and errors of ours aren't hidden."""
    config = magneto.config
    before = config.recompile_limit, config.raise_internal_errors
    config.recompile_limit, config.raise_internal_errors = 64, True
    try:
        yield
    finally:
        config.recompile_limit, config.raise_internal_errors = before


def try_seed(
    seed: int, calls: int = 12, data: bool = False, unbacked: bool = False
) -> str:
    """What differs for the program of a seed; empty if nothing. With `data`,
    sizes come out of tensors; with `unbacked`, those of its inputs are marked
    as such.
    """
    with strict():
        return difference(seed, calls, data, unbacked)


def difference(seed: int, calls: int, data: bool, unbacked: bool) -> str:
    """The same, where each call may compile."""
    rng = random.Random(seed)
    source = write(rng, rng.randint(2, 9), data)
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile(source, f"<shapes {seed}>", "exec"), namespace)
    program = namespace["f"]
    magneto.reset()
    compiled = magneto.compile(
        program, backend="eager", dynamic=rng.choice((None, True))
    )
    ranks = rng.randint(1, 3), rng.randint(1, 3)
    for number in range(calls):
        arguments = draw(rng, ranks)
        if unbacked and rng.random() < 0.7:
            for tensor in arguments[:2]:
                mark_unbacked(tensor, list(range(tensor.dim())))
        expected = run(program, arguments)
        actual = run(compiled, arguments)
        try:
            compare(expected, actual, where=f"call {number}")
        except Difference as error:
            shapes = [tuple(each.shape) for each in arguments[:2]]
            return (
                f"seed {seed}: {error}\n{source}"
                f"called with {shapes}, n = {arguments[2]}"
            )
    return ""


def try_data(seed: int) -> str:
    """Such programs over sizes and numbers that come out of tensors."""
    return try_seed(seed, data=True)


def try_unbacked(seed: int) -> str:
    """Such programs with inputs whose sizes are marked as unbacked."""
    return try_seed(seed, unbacked=True)
