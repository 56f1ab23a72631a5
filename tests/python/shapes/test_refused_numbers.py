# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that vary past what an operator takes, behind a write and within a
`try`: the program sees the error that it sees in plain Python.
"""

import math

import pytest
import torch
import torch.nn.functional as F

import magneto

A = torch.arange(1.0, 17.0).reshape(4, 4) / 16
INTS = torch.arange(3)
MASK = torch.tensor([True, False, True])
BYTES = torch.zeros(2, dtype=torch.uint8)
HALVES = torch.zeros(2, dtype=torch.half)

# What takes a float that its type doesn't hold.
FLOATS = {
    "full": lambda v: torch.full((2,), v),
    "full of ints": lambda v: torch.full((2,), v, dtype=torch.int32),
    "full like": lambda v: torch.full_like(INTS, v),
    "fill": lambda v: A.clone().fill_(v),
    "fill bytes": lambda v: BYTES.clone().fill_(v),
    "fill halves": lambda v: HALVES.clone().fill_(v),
    "masked fill": lambda v: INTS.masked_fill(MASK, v),
    "item": lambda v: INTS.clone().__setitem__(0, v),
    "where": lambda v: torch.where(MASK, INTS, v),
    "clamp": lambda v: A.clamp(v, 1),
    "clamp ints": lambda v: INTS.clamp(v),
    "addcmul": lambda v: INTS.addcmul(INTS, INTS, value=v),
    "addmm": lambda v: A.addmm(A, A, beta=v),
    "lerp": lambda v: A.lerp(A, v),
    "linspace": lambda v: torch.linspace(0, v, 5),
    "logspace": lambda v: torch.logspace(0, v, 5),
    "base of logspace": lambda v: torch.logspace(2, 0, 1, v),
    "start of logspace": lambda v: torch.logspace(v, 0, 1),
    "elu": lambda v: F.elu(A, v),
    "leaky_relu": lambda v: F.leaky_relu(A, v),
    "threshold": lambda v: F.threshold(A, v, 0),
    "softplus": lambda v: F.softplus(A, v),
    "hardshrink": lambda v: F.hardshrink(A, v),
    "softshrink": lambda v: F.softshrink(A, v),
    "renorm": lambda v: A.renorm(2.0, 0, v),
    "cdist": lambda v: torch.cdist(A, A, v),
    "pdist": lambda v: torch.pdist(A, v),
    "arange": lambda v: torch.arange(0.0, v, 2.0),
    "lp_pool": lambda v: F.lp_pool1d(A[None], v, 2),
}
# What takes an int: sizes of more elements than 64 bits count, and others.
IMAGE, VOLUME = A.reshape(1, 2, 2, 4), A.reshape(1, 2, 2, 2, 2)
INTEGERS = {
    "expand": lambda n: A[None].expand(n, 4, 4),
    "broadcast": lambda n: torch.broadcast_to(A[:, :1], (n, 4, 5)),
    "pad": lambda n: F.pad(A, (n, 1)),
    "pool": lambda n: F.adaptive_avg_pool2d(IMAGE, (n, 2)),
    "conv": lambda n: F.conv2d(IMAGE, IMAGE, padding=(n, 1)),
    "transposed conv": lambda n: F.conv_transpose3d(
        VOLUME, VOLUME, stride=(3, 2, 1), output_padding=(0, 0, n), dilation=2
    ),
    "strides": lambda n: torch.as_strided_scatter(
        A, torch.ones(2, 2), (2, 2), (n, 1)
    ),
    "channels": lambda n: torch.native_group_norm(
        A.reshape(1, 4, 4), torch.ones(4), None, 1, n, 4, 1, 1e-5
    )[0],
    "channels of none": lambda n: torch.native_group_norm(
        A.reshape(1, 4, 4)[:0], None, None, 0, n, 4, 1, 1e-5
    )[0],
    "batches": lambda n: torch.native_group_norm(
        A.reshape(1, 4, 4), None, None, n, 4, 4, 1, 1e-5
    )[0],
    "pad of none": lambda n: F.pad(IMAGE[:0], (0, 2, n, 1), "replicate"),
    "pixels": lambda n: F.pixel_shuffle(A.reshape(1, 4, 2, 2), n),
    "fill bytes": lambda n: BYTES.clone().fill_(n),
    "triangle below": lambda n: torch.tril_indices(n, 3, n),
    "triangle above": lambda n: torch.triu_indices(n, n, -n),
}


def outcome(call, number):
    x, notes = torch.ones(2), []
    result = call(x, notes, number)
    if isinstance(result, torch.Tensor):
        result = (result.shape, result.dtype)  # it may be too large to look at
    return result, x.tolist(), notes


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize(
    ("refuses", "numbers"),
    [
        pytest.param(call, numbers, id=name)
        for table, numbers in [
            (FLOATS, (0.5, 0.25, math.nan, 1e308, -1.0, math.inf, 0.0)),
            (INTEGERS, (1, 2, 3, 300, -1, 10**18, 2**40, 0, 4)),
        ]
        for name, call in table.items()
    ],
)
def test_a_number_that_varies_past_what_is_taken(refuses, numbers):
    def program(x, notes, number):
        x.add_(1)
        notes.append("begun")
        try:
            result = refuses(number)
        except Exception as error:
            notes.append(str(error).split("\n")[0])
            result = type(error)
        return result

    compiled = magneto.compile(program, backend="eager")
    for number in numbers:
        expected = outcome(program, number)
        assert outcome(compiled, number) == expected


# What takes some of the ints that follow each other, and refuses others.
SMALL_NUMBERS = {
    "remainder in place": lambda a, n: a.remainder_(n),
    "fmod in place": lambda a, n: a.fmod_(n),
    "floor division in place": lambda a, n: a.floor_divide_(n),
    "rounded division": lambda a, n: torch.div(a, n, rounding_mode="trunc"),
    "remainder": lambda a, n: torch.remainder(a, n),
    "fmod": lambda a, n: torch.fmod(a, n),
    "of a number": lambda a, n: n % (a - a),
    "power in place": lambda a, n: a.pow_(n - 1),
    "power": lambda a, n: a ** (n - 1),
    "a view": lambda a, n: a.reshape(n, 1),
    "a position": lambda a, n: a.view(-1)[n],
    "a size": lambda a, n: torch.ones(n - 1),
    "an upper bound": lambda a, n: torch.randint(n, (2,)),
    "a step": lambda a, n: torch.arange(0, 4, n),
    "samples": lambda a, n: torch.multinomial(torch.ones(3), n),
    "classes": lambda a, n: F.one_hot(a * 0 + 1, n),
    "a window": lambda a, n: torch.ones(6).unfold(0, n, n),
    "a spread": lambda a, n: torch.ones(2).normal_(0, n - 1.0),
    "a rate": lambda a, n: torch.ones(2).exponential_(n),
    "a chance": lambda a, n: torch.ones(2).bernoulli_(n / 1.5),
    "groups": lambda a, n: F.group_norm(torch.ones(1, 4), n),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("refuses", SMALL_NUMBERS.values(), ids=SMALL_NUMBERS)
def test_a_number_that_varies_is_refused_behind_a_write(
    refuses, shape, dynamic
):
    def program(a, n):
        try:
            a += 1
            a = refuses(a, n)
        except Exception as error:
            return type(error), str(error)
        return a

    def run(call, n):
        torch.manual_seed(0)
        a = torch.full(shape, 7)
        return str(call(a, n)), str(a)

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for n in (2, 3, 1, 0, 4, 0, 5):
        assert run(compiled, n) == run(program, n)
