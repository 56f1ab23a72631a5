# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own samples of its operators, on real tensors and on fakes."""

import itertools
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from support.fake_tensor_checks import compare, copy_tensors

DTYPES = (
    torch.float32,
    torch.int64,
    torch.complex64,
    torch.bool,
    torch.bfloat16,
    torch.int32,
)

# Sparse tensors can't be traced.
SPARSE = ["sparse.sampled_addmm", "sparse.mm"]
OPERATORS = [op for op in op_db if op.name not in SPARSE]


def names(op):
    variant = op.variant_test_name
    return f"{op.name}-{variant}" if variant else op.name


def dtypes_of(op, limit, device="cpu"):
    supported = [d for d in DTYPES if op.supports_dtype(d, device)]
    return supported[:limit]


def samples_of(op, dtype, limit, device="cpu"):
    grad = dtype.is_floating_point and op.supports_autograd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = op.sample_inputs(device, dtype, requires_grad=grad)
        yield from itertools.islice(samples, limit)


def permuted(tree):
    """The same tensors laid out in the opposite order of dimensions."""

    def move(t):
        if t.layout != torch.strided or t.dim() < 2:
            return t
        dims = tuple(range(t.dim()))[::-1]
        with torch.no_grad():
            out = t.permute(dims).contiguous().permute(dims)
        return out.detach().requires_grad_(t.requires_grad)

    return pytree.tree_map_only(torch.Tensor, move, tree)


def channels_last(tree):
    """The same tensors, images in channels-last format."""

    def move(t):
        if t.layout != torch.strided or t.dim() not in (4, 5):
            return t
        form = torch.channels_last if t.dim() == 4 else torch.channels_last_3d
        with torch.no_grad():
            out = t.contiguous(memory_format=form)
        return out.detach().requires_grad_(t.requires_grad)

    return pytree.tree_map_only(torch.Tensor, move, tree)


def strided(tree):
    """The same tensors with holes between the elements."""

    def move(t):
        if t.layout != torch.strided or t.dim() == 0:
            return t
        with torch.no_grad():
            out = torch.stack([t, t], dim=-1)[..., 0]
        return out.detach().requires_grad_(t.requires_grad)

    return pytree.tree_map_only(torch.Tensor, move, tree)


LAYOUTS = (lambda tree: tree, permuted, channels_last, strided)


def check_op(op, *, dtypes, samples, layouts, device="cpu"):
    problems = []
    for dtype in dtypes_of(op, dtypes, device):
        for i, sample in enumerate(samples_of(op, dtype, samples, device)):
            args = [sample.input, *sample.args]
            for layout in layouts:
                moved, kwargs = layout((args, sample.kwargs))
                result = compare(op.op, moved, kwargs)
                if result:
                    problems.append(f"{dtype} sample {i}: {result}")
    return problems


def check_inplace(op, *, samples, device="cpu"):
    problems = []
    inplace = op.inplace_variant
    (dtype,) = dtypes_of(op, 1, device)
    for i, sample in enumerate(samples_of(op, dtype, samples, device)):
        if sample.broadcasts_input:
            continue
        args, kwargs = copy_tensors(
            ([sample.input, *sample.args], sample.kwargs)
        )
        if not isinstance(args[0], torch.Tensor):
            continue

        def call(first, *rest, **named):
            # Leaves that require grad can't be written; a copy of one can.
            return inplace(first.clone(), *rest, **named)

        result = compare(call, args, kwargs)
        if result:
            problems.append(f"sample {i}: {result}")
    return problems
