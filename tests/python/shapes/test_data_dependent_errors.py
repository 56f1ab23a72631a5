# SPDX-License-Identifier: BSD-3-Clause
"""Programs that fail for some data: the error is the program's own, at its
line, and nothing that is wrong is kept.

Every operator that a number or size comes out of, with each way to state what
must hold of it; and sizes out of data that no tensor can have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check_calls

t = torch.tensor

# Each makes a number of 0 to 6 out of six numbers: how many are above zero, or
# one of a size that is related to it.
NUMBERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "item": lambda x: (x > 0).sum().item(),
    "item-of-a-float": lambda x: x.clamp(0, 1).sum().item(),
    "tolist": lambda x: (x > 0).long().cumsum(0).tolist()[-1],
    "int": lambda x: int((x > 0).sum()),
    "float": lambda x: float((x > 0).sum()),
    "bool": lambda x: 4 * bool((x > 0).sum() > 3),
    "nonzero": lambda x: x.clamp(min=0).nonzero().shape[0],
    "nonzero-as-tuple": lambda x: len(torch.nonzero(x > 0, as_tuple=True)[0]),
    "argwhere": lambda x: torch.argwhere(x > 0).size(0),
    "where": lambda x: torch.where(x > 0)[0].numel(),
    "mask": lambda x: x[x > 0].shape[0],
    "mask-of-rows": lambda x: len(x.view(-1, 1).expand(-1, 2)[x > 0]),
    "masked-select": lambda x: x.masked_select(x > 0).numel(),
    "unique": lambda x: torch.unique(x.clamp(min=0)).shape[0] - 1,
    "unique-with-counts": lambda x: (
        torch.unique(x.clamp(min=0), return_counts=True)[1].shape[0] - 1
    ),
    "unique-rows": lambda x: (
        torch.unique(x.clamp(min=0).view(-1, 1), dim=0).shape[0] - 1
    ),
    "unique-consecutive": lambda x: (
        torch.unique_consecutive(x.clamp(min=0).sort().values).shape[0] - 1
    ),
    "repeat-interleave": lambda x: torch.repeat_interleave(
        (x > 0).long()
    ).shape[0],
    "repeat-interleave-of-values": lambda x: x.repeat_interleave(
        (x > 0).long(), dim=0
    ).shape[0],
    "bincount": lambda x: torch.bincount((x > 0).sum().view(1)).shape[0] - 1,
    "one-hot": lambda x: (
        torch.nn.functional.one_hot((x > 0).sum()).shape[-1] - 1
    ),
    "tensor-of-a-number": lambda x: torch.tensor((x > 0).sum().item()).item(),
    "size-of-a-constructor": lambda x: torch.ones((x > 0).sum().item()).size(0),
    "size-of-a-slice": lambda x: x[: (x > 0).sum().item()].shape[0],
}


def of_torch(n):
    torch._check(n < 4, lambda: f"{n} is too many")


def of_torch_without_a_text(n):
    torch._check(n < 4)


def of_a_value(n):
    torch._check_value(n < 4, lambda: "too many")


def as_a_branch(n):
    if n >= 4:
        raise OverflowError(f"{n} is too many")


STATEMENTS = [of_torch, of_torch_without_a_text, of_a_value, as_a_branch]


def with_numbers_above_zero(count: int) -> torch.Tensor:
    return t([float(i + 1) if i < count else -1.0 for i in range(6)])


@pytest.mark.parametrize("state", STATEMENTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_stated_of_data(
    name: str, state: Callable[[Any], None]
) -> None:
    number = NUMBERS[name]

    def program(x):
        n = number(x)
        state(n)
        return x * n, torch.ones(3).sum() + n

    magneto.reset()
    calls = [((with_numbers_above_zero(n),), {}) for n in (2, 3, 5, 0, 4, 1, 6)]
    report = check_calls(
        program, calls, fullgraph=True, recompiles=0, rtol=1e-6
    )
    assert len(report.graphs) == 1


# Sizes of which some are negative, or don't fit.
SIZES: dict[str, Callable[[torch.Tensor, int], Any]] = {
    "zeros": lambda x, n: torch.zeros(n),
    "ones": lambda x, n: torch.ones(2, n),
    "empty": lambda x, n: torch.empty(n, 2).fill_(1.0),
    "full": lambda x, n: torch.full((n,), 7),
    "randn": lambda x, n: torch.randn(n, 3),
    "eye": lambda x, n: torch.eye(n),
    "arange": lambda x, n: torch.arange(1, n),
    "linspace": lambda x, n: torch.linspace(0, 1, n),
    "new_zeros": lambda x, n: x.new_zeros(n),
    "repeat": lambda x, n: x.repeat(n),
    "expand": lambda x, n: x.view(1, -1).expand(n, -1),
    "view": lambda x, n: x.view(n, -1) + 1,
    "reshape": lambda x, n: x.reshape(2, n) + 1,
    "narrow": lambda x, n: x.narrow(0, 0, n) + 1,
    "narrow-from": lambda x, n: x.narrow(0, n, 1) + 1,
    "split": lambda x, n: x.split([n, 6 - n]),
    "select": lambda x, n: x.select(0, n) + 1,
    "item-of-a-list": lambda x, n: [1, 2, 3][n],
    "subscript": lambda x, n: x[n] + 1,
    "slice": lambda x, n: x[n:] + 1,
    "index_select": lambda x, n: x.index_select(0, torch.tensor(n)),
    "one_hot": lambda x, n: torch.nn.functional.one_hot(x.long() * 0, n),
    "pad": lambda x, n: torch.nn.functional.pad(x, (n, 0)),
    "roll": lambda x, n: x.roll(n),
    "cat": lambda x, n: torch.cat([x, torch.ones(n)]),
    "matmul": lambda x, n: torch.ones(2, n) @ torch.ones(3, 2),
    "add": lambda x, n: x + torch.ones(n),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_no_tensor_has(name: str) -> None:
    make = SIZES[name]

    def program(x, n):
        return x * 2, make(x, n.item())

    magneto.reset()
    torch.manual_seed(0)
    x = torch.arange(6.0)
    calls = [((x, t(n)), {}) for n in (3, -1, 2, 6, -3, 1, 9, 3)]
    check_calls(program, calls, rtol=1e-6)


STATE = {"scale": torch.ones(4)}


def test_a_size_that_is_named_by_a_key() -> None:
    """Rules of tensors name it in a message, while Python is unlocked."""

    def program(x):
        y = x[x > 0]
        y.mul_(STATE["scale"])
        return y

    x = t([1.0, 2.0, 3.0, 4.0, -1.0])
    check_calls(program, [((x,), {}), ((-x,), {})], dynamic=True)
