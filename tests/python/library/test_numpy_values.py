# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's numbers in a program: constants, as Python's own are."""

import math
import warnings

import numpy as np
import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.expressions import check_error, check_expression, lines

SCALE = np.sqrt(64)
NAMESPACE = {
    "np": np,
    "torch": torch,
    "math": math,
    "SCALE": SCALE,
    "HALF": np.float32(0.5),
    "COUNT": np.int64(3),
    "TINY": np.int8(100),
    "YES": np.bool_(True),
}


@pytest.mark.parametrize(
    "expression",
    lines("""
    # With tensors
    x / np.sqrt(64), x * SCALE, SCALE * x, HALF * x, x * HALF, x - COUNT, COUNT - x, x ** COUNT, x > HALF, HALF > x, x[COUNT - 1], x[: np.int32(2)], YES * x
    torch.full((2,), SCALE), torch.tensor(HALF), torch.tensor(SCALE), torch.tensor(COUNT), torch.tensor([HALF, SCALE]), x.clamp(min=HALF), torch.arange(COUNT), torch.zeros(COUNT, int(COUNT)), x.reshape(np.prod((1, 3)))
    # Functions
    np.sqrt(2), np.power(8, 1 / 3), np.ceil(2.5), np.floor(-2.5), np.log2(8), np.exp(1), np.sin(np.pi), np.hypot(3, 4), np.sign(-2), np.round(2.567, 2), np.clip(5, 0, 3), np.maximum(1, 2.5), np.isnan(math.nan), np.isclose(1, 1 + 1e-12)
    np.prod([2, 3]), np.prod(x.shape), np.sum((1, 2)), np.mean([1, 2]), np.max((3, 1)), np.argmax([1, 5, 2]), np.all([True, 1]), np.any((0, 0)), np.std([1.0, 3.0]), np.array_equal([1, 2], (1, 2)), np.allclose(1.0, 1.0)
    # Numbers among each other
    HALF + 1, HALF + SCALE, COUNT // 2, COUNT % 2, COUNT / 2, -HALF, +COUNT, ~COUNT, abs(-HALF), COUNT ** 2, 2 ** COUNT, COUNT << 1, COUNT & 1, YES | False, not YES, HALF == 0.5, COUNT != 3, HALF < COUNT, divmod(COUNT, 2), round(SCALE), round(HALF, 1)
    int(SCALE), float(HALF), bool(COUNT), complex(HALF), str(HALF), repr(SCALE), f"{HALF:.3f} {COUNT}", hash(COUNT), math.sqrt(SCALE), math.floor(HALF), list(range(COUNT)), [0, 1, 2, 3][COUNT], max(HALF, 1), min(COUNT, 2), sum([COUNT, 1]), sorted([COUNT, HALF, 1]), "a" * COUNT, {COUNT: 1}[3], COUNT in (1, 3)
    # Methods, attributes, classes
    HALF.item(), SCALE.item(), COUNT.item(), SCALE.is_integer(), HALF.dtype == np.float32, COUNT.bit_length() if hasattr(COUNT, "bit_length") else 0, COUNT.real, HALF.ndim, HALF.shape, np.float32(0.1), np.int8(7), np.bool_(0), np.complex64(1j), np.float64("1.5")
    isinstance(SCALE, float), isinstance(HALF, float), isinstance(COUNT, np.integer), isinstance(HALF, (np.floating, int)), type(HALF), issubclass(np.float32, np.floating)
    np.float64(-0.0), np.float32("nan"), math.copysign(1, np.float64(-0.0)), np.float16(1) / 3, np.uint8(200) + np.uint8(3)
    """),
)
def test_numbers_of_numpy(expression):
    check_expression(expression, NAMESPACE)


@pytest.mark.parametrize(
    "expression",
    lines("""
    np.sqrt("a")
    np.int8(1000)
    np.float32("a")
    np.mean("abc")
    COUNT["a"]
    HALF.nothing
    SCALE << 1
    """),
)
def test_errors_of_numpy(expression):
    check_error(expression, NAMESPACE)


@pytest.mark.parametrize(
    "expression",
    [
        "np.log(0.0)",
        "HALF / 0",
        "TINY + TINY",
        "np.float32(3e38) * 10",
        "np.array([1, 2])",
        "np.arange(3) + 1",
        "np.random.rand()",
    ],
)
def test_what_warns_or_makes_arrays_breaks_the_graph(expression):
    """Each call warns, as each call of plain Python does."""
    program = eval(f"lambda x: (x + 1, {expression})", dict(NAMESPACE))

    def warned(call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.random.seed(0)
            result = [call(torch.ones(2)) for _ in range(2)]
        return str(result), [str(warning.message) for warning in caught]

    assert warned(magneto.compile(program, backend="eager")) == warned(program)


class Scaled(torch.nn.Module):
    """As in many a paper's code."""

    def __init__(self):
        super().__init__()
        self.temperature = np.power(8, 0.5)
        self.shift = np.float32(0.25)

    def forward(self, q):
        n = np.sqrt(q.shape[-1])
        return torch.softmax(q @ q.T / self.temperature, -1) / n + self.shift


def test_attributes_of_a_module():
    check(Scaled(), torch.rand(3, 4), fullgraph=True, graphs=1)


def test_arguments_are_told_apart_by_their_bits():
    def program(x, n):
        return x * n, math.copysign(1, n), n != n

    numbers = [0.0, -0.0, math.nan, math.nan, 0.0]
    for kind in (np.float32, np.float64):
        calls = [((torch.ones(2), kind(n)), {}) for n in numbers]
        check_calls(program, calls)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, np.bool_])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_arguments_that_vary(kind, dynamic):
    def program(x, n):
        return x * n + 1

    calls = [((torch.ones(2), kind(n)), {}) for n in range(2, 20)]
    report = check_calls(program, calls, dynamic=dynamic)
    if dynamic is not False:
        # Not one for each.
        assert report.recompiles <= 4
