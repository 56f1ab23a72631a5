# SPDX-License-Identifier: BSD-3-Clause
"""Fake tensors against real ones, over PyTorch's own operator database.

Eager on the CPU is the oracle: shape, stride, dtype, device, storage offset,
aliasing, requires_grad, version. A few samples of each operator run by default;
`pytest -m slow` runs all of them, in all layouts.
"""

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from support.operator_samples import (
    LAYOUTS,
    OPERATORS,
    SPARSE,
    check_inplace,
    check_op,
    names,
)


@pytest.mark.parametrize("op", OPERATORS, ids=names)
def test_operator_on_fakes_gives_what_eager_gives(op):
    assert check_op(op, dtypes=2, samples=3, layouts=LAYOUTS[:1]) == []


@pytest.mark.parametrize(
    "op", [op for op in op_db if op.name in SPARSE], ids=names
)
def test_sparse_tensors_are_refused(op):
    with pytest.raises(RuntimeError, match="its layout isn't strided"):
        check_op(op, dtypes=1, samples=1, layouts=LAYOUTS[:1])


@pytest.mark.parametrize(
    "op", [op for op in op_db if op.inplace_variant], ids=names
)
def test_inplace_operator_on_fakes_gives_what_eager_gives(op):
    assert check_inplace(op, samples=3) == []


@pytest.mark.slow
@pytest.mark.parametrize("op", OPERATORS, ids=names)
def test_all_samples_in_all_layouts(op):
    assert check_op(op, dtypes=6, samples=60, layouts=LAYOUTS) == []


@pytest.mark.slow
@pytest.mark.parametrize("op", OPERATORS, ids=names)
def test_operator_in_inference_mode(op):
    with torch.inference_mode():
        assert check_op(op, dtypes=1, samples=4, layouts=LAYOUTS[:2]) == []
