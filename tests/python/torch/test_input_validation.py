# SPDX-License-Identifier: BSD-3-Clause
"""Functions that look at their input's data only to check it: no graph break,
and the result has the layout that it has when the graph runs.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import magneto
from magneto.testing import check, check_calls

SQUARE = torch.tensor([[0.1, 0.7, 0.3], [0.9, 0.2, 0.4]])
SOME = torch.tensor([0.25, 0.5, 1.0])

CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "quantile": lambda x: x.quantile(0.5),
    "quantile-keepdim": lambda x: torch.quantile(x, 0.5, keepdim=True),
    "quantile-of-rows": lambda x: torch.quantile(x, 0.3, dim=1),
    "quantile-of-columns": lambda x: x.quantile(0.3, 0, True),
    "quantiles": lambda x: x.quantile(SOME),
    "quantiles-of-rows": lambda x: x.quantile(SOME, dim=-1, keepdim=True),
    "quantiles-of-columns": lambda x: x.t().quantile(SOME[:2], dim=1),
    "quantile-of-a-number": lambda x: x[0, 0].quantile(0.5, dim=0),
    "quantile-of-doubles": lambda x: x.double().quantile(
        SOME[0].double(), interpolation="nearest"
    ),
    "nanquantile": lambda x: torch.nanquantile(x, SOME, dim=0),
    "cov": torch.cov,
    "cov-of-a-vector": lambda x: x[0].cov(correction=0),
    "cov-of-a-number": lambda x: x[0, 0].cov(),
    "cov-of-ints": lambda x: (x * 9).int().cov(),
    "cov-weighted": lambda x: torch.cov(
        x, fweights=torch.tensor([1, 2, 3]), aweights=SOME
    ),
    "corrcoef": torch.corrcoef,
    "corrcoef-of-a-vector": lambda x: x[1].corrcoef(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("has_gradient", [False, True])
def test_no_break_and_the_right_layout(name: str, has_gradient: bool) -> None:
    call = CALLS[name]

    def program(x):
        y = call(x)
        layout = y.shape, y.stride(), y.dtype, y.device, y.requires_grad
        return y, layout

    x = SQUARE.clone().requires_grad_(has_gradient)
    report = check_calls(
        program, [((x,), {})] * 2, fullgraph=True, rtol=1e-6, atol=1e-6
    )
    assert len(report.graphs) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.quantile(1.5),
        lambda x: x.int().quantile(0.5),
        lambda x: x.quantile(SOME.view(1, 3)),
        lambda x: x.quantile(0.5, interpolation="odd"),
        lambda x: x[:0].quantile(0.5),
        lambda x: x.quantile(0.5, dim=4),
        lambda x: x.view(1, 2, 3).cov(),
        lambda x: torch.cov(x, fweights=torch.tensor([-1, 2, 3])),
    ],
)
def test_errors_are_those_of_torch(call: Callable[..., torch.Tensor]) -> None:
    magneto.reset()
    check_calls(call, [((SQUARE,), {})] * 2)


def test_messages_of_checks_that_hold():
    def program(x):
        try:
            torch._check(x.sum().item() > 3, "text")
            return x + 1
        except TypeError as error:
            return str(error)

    check(program, torch.ones(4))
    check(program, torch.zeros(4))
