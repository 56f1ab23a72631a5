# SPDX-License-Identifier: BSD-3-Clause
"""Fake tensors against real ones of a GPU, over PyTorch's operator database."""

import pytest

from support.operator_samples import (
    LAYOUTS,
    OPERATORS,
    check_inplace,
    check_op,
    dtypes_of,
    names,
)

pytestmark = pytest.mark.cuda

# Where fakes are known to have other strides than a GPU's results, and why.
EMPTY = "of results without items"
BY_PYTORCH = "PyTorch's own rule for fakes, which answers for GPUs, isn't exact"
KNOWN = {
    "nn.functional.logsigmoid": EMPTY,
    "nn.functional.rms_norm": EMPTY,
    "nonzero_static": EMPTY,
    "svd_lowrank": BY_PYTORCH,
    "pca_lowrank": BY_PYTORCH,
    "torch.ops.aten._efficient_attention_forward": BY_PYTORCH,
    # Of PyTorch before 2.13.
    **{
        f"fft.{name}": BY_PYTORCH
        for kind in ("fft", "ifft", "rfft", "irfft", "ihfft")
        for name in (f"{kind}2", f"{kind}n")
    },
}

ON_GPU = [
    op
    for op in OPERATORS
    if dtypes_of(op, 1, "cuda") and names(op) not in KNOWN
]


def differences(problems):
    """Those that matter: what only the real call refuses, the graph does."""
    return [each for each in problems if not each.endswith("fake None")]


@pytest.mark.parametrize("op", ON_GPU, ids=names)
def test_operator_on_fakes_gives_what_the_gpu_gives(op):
    problems = check_op(op, dtypes=2, samples=6, layouts=LAYOUTS, device="cuda")
    assert differences(problems) == []


@pytest.mark.parametrize(
    "op", [op for op in ON_GPU if op.inplace_variant], ids=names
)
def test_inplace_operator_on_fakes_gives_what_the_gpu_gives(op):
    problems = check_inplace(op, samples=3, device="cuda")
    assert differences(problems) == []
