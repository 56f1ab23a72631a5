# SPDX-License-Identifier: BSD-3-Clause
"""Wrong calls of every operator in PyTorch's operator database: what the
program catches is the operator's own error, also behind a write to an input.
"""

import copy
import itertools
import warnings

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo
from torch.utils._pytree import tree_map_only

import magneto

DTYPES = [torch.bool, torch.int64, torch.complex64, torch.float16, torch.uint8]
KINDS = [torch.bool, torch.int64, torch.float32, torch.complex64]
# Called with a plain number in place of a tensor.
NOT_OF_TENSORS = {"__rdiv__"}

WITH_ERRORS = [op for op in op_db if op.error_inputs_func is not None]


def name_of(op):
    return op.name + (op.variant_test_name and "." + op.variant_test_name)


def outcome(call, operator, sample):
    """What is caught, of which kind, or None; and what was written before."""
    written = torch.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(operator, written, *sample), written.tolist()
        except Exception as error:
            return "left by", type(error), str(error), written.tolist()


def catching(operator, written, input, args, kwargs):
    written.add_(1)
    try:
        operator(input, *args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return None


def check_error(operator, make_sample):
    """Compare; what doesn't fail in plain Python isn't of interest."""
    sample = make_sample()
    expected = outcome(catching, operator, sample)
    if expected[0] is None or expected[0] == "left by":
        return
    magneto.reset()
    compiled = magneto.compile(catching, backend="eager")
    assert outcome(compiled, operator, make_sample()) == expected, sample


@pytest.mark.parametrize("op", WITH_ERRORS, ids=name_of)
def test_wrong_arguments(op):
    if op.name in NOT_OF_TENSORS:
        return
    for error in op.error_inputs("cpu"):
        each = error.sample_input
        parts = (each.input, each.args, each.kwargs)
        check_error(op.op, lambda parts=parts: copy.deepcopy(parts))


def converted(sample, dtype, which):
    """The sample with all tensors, the first, or all others in a dtype."""
    count = itertools.count()

    def convert(tensor):
        first = next(count) == 0
        chosen = which == "all" or (which == "first") == first
        return tensor.detach().to(dtype) if chosen else tensor.detach()

    parts = (sample.input, sample.args, sample.kwargs)
    return tree_map_only(torch.Tensor, convert, parts)


@pytest.mark.slow
@pytest.mark.parametrize("op", op_db, ids=name_of)
def test_dtypes_that_no_kernel_has(op):
    if op.name in NOT_OF_TENSORS:
        return
    samples = list(itertools.islice(op.sample_inputs("cpu", torch.float32), 4))
    for sample, dtype, which in itertools.product(
        samples, DTYPES, ["all", "first", "rest"]
    ):
        try:
            converted(sample, dtype, which)
        except RuntimeError:
            continue
        check_error(
            op.op, lambda s=sample, d=dtype, w=which: converted(s, d, w)
        )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a: a - a,
        lambda a: a - True,
        lambda a: 1 - a,
        lambda a: torch.rsub(a, a),
        lambda a: torch.add(a.int(), a, alpha=1.5),
        lambda a: torch.add(a.int(), 1, alpha=True),
    ],
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sums_and_differences_of_bools(wrong, backend):
    mask = torch.tensor([True, False])
    with pytest.raises(RuntimeError) as expected:
        wrong(mask)
    with pytest.raises(RuntimeError) as error:
        magneto.compile(wrong, backend=backend)(mask)
    assert str(error.value) == str(expected.value)


ELEMENTWISE = [
    op for op in op_db if type(op) in (UnaryUfuncInfo, BinaryUfuncInfo)
]


class Failures:
    """A backend that notes what its graphs raise."""

    def __init__(self):
        self.raised = []

    def __call__(self, graph, inputs):
        def run(*args):
            try:
                return graph(*args)
            except Exception as error:
                self.raised.append(error)
                raise

        return run


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=name_of)
def test_kinds_of_numbers_that_kernels_refuse(op, dtype):
    """Nothing runs that raises for any numbers of the kind."""
    count = 2 if type(op) is BinaryUfuncInfo else 1
    inputs = [torch.ones(4).to(dtype) for _ in range(count)]
    sample = inputs[0], tuple(inputs[1:]), {}
    magneto.reset()
    failures = Failures()
    compiled = magneto.compile(catching, backend=failures)
    expected = outcome(catching, op.op, sample)
    assert outcome(compiled, op.op, sample) == expected
    assert not failures.raised
