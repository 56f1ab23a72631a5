# SPDX-License-Identifier: BSD-3-Clause
"""Fake tensors against real ones of a GPU, over PyTorch's operator database."""

import pytest
from operator_samples import (
    LAYOUTS,
    OPERATORS,
    check_inplace,
    check_op,
    dtypes_of,
    names,
)

pytestmark = pytest.mark.cuda

ON_GPU = [op for op in OPERATORS if dtypes_of(op, 1, "cuda")]


@pytest.mark.parametrize("op", ON_GPU, ids=names)
def test_operator_on_fakes_gives_what_the_gpu_gives(op):
    problems = check_op(op, dtypes=2, samples=6, layouts=LAYOUTS, device="cuda")
    assert problems == []


@pytest.mark.parametrize(
    "op", [op for op in ON_GPU if op.inplace_variant], ids=names
)
def test_inplace_operator_on_fakes_gives_what_the_gpu_gives(op):
    assert check_inplace(op, samples=3, device="cuda") == []
