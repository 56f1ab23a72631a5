# SPDX-License-Identifier: BSD-3-Clause
"""torch.return_types: named results, made by operators and by the program."""

import pytest
import torch
from torch.utils import _pytree as pytree

from magneto.testing import check
from support.under_backends import check_under

X = torch.arange(12.0).reshape(3, 4)


def error(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError) as caught:
        return type(caught).__name__, str(caught)


def mapped(x):
    found = pytree.tree_map(lambda t: t + 1, torch.max(x, dim=0))
    return found.values, found


NAMED = {
    "mapped": mapped,
    "made": lambda x: torch.return_types.sort([x, x + 1]).indices,
    "of a generator": lambda x: torch.return_types.max(t for t in (x, x)),
    "too few": lambda x: (x + 1, error(torch.return_types.max, [x])),
    "no sequence": lambda x: (x + 1, error(torch.return_types.max, 3)),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_results(name):
    check(NAMED[name], X, graph_breaks=0)


@pytest.mark.parametrize("name", NAMED)
def test_named_results_under_aot_eager(name):
    check_under("aot_eager", NAMED[name], X)
