# SPDX-License-Identifier: BSD-3-Clause
"""NumPy: its numbers, which are constants as Python's own are, and arrays that
a program makes of tensors for what they say without their data.
"""

import math
import warnings

import numpy as np
import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.expressions import check_error, check_expression, lines
from support.under_backends import check_under

X = torch.arange(12.0).reshape(3, 4)


def written_behind(x):
    y = x * 2
    a = y.numpy()
    y.add_(1)
    return y + a.shape[0], a.sum()


def shown(x):
    a = (x + 1).numpy()
    return x * a.shape[1], a


WHOLE = {
    "its shape": lambda x: x + x.numpy().shape[0],
    "of what is computed": lambda x: x * (x @ x.t()).numpy().shape[1],
    "its length": lambda x: x + len(x.detach().cpu().numpy()),
    "what it says": lambda x: (
        x + 1,
        (a := x.numpy()).ndim,
        a.size,
        a.nbytes,
        a.itemsize,
        isinstance(a, np.ndarray),
        a is None,
    ),
    "handed on": shown,
    "an argument's": lambda x: (x.numpy(), x + 1),
    "twice": lambda x: (x + 1, x.numpy() is x.numpy()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_graphs(name):
    check(WHOLE[name], X, graph_breaks=0)


@pytest.mark.parametrize("name", WHOLE)
def test_under_aot_eager(name):
    check_under("aot_eager", WHOLE[name], X)


def test_under_inductor():
    check_under("inductor", WHOLE["of what is computed"], X)


def error(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError) as caught:
        return type(caught).__name__, str(caught)


OTHERS = {
    "its dtype": lambda x: (x.long().numpy().dtype == np.int64, x + 1),
    "its data": lambda x: x + float(x.numpy().sum()),
    "an item": lambda x: x + float(x.numpy()[1, 2]),
    "computed with": lambda x: (x + 1, x.numpy() + 1, np.exp(x.numpy())),
    "written to": lambda x: (x.numpy().fill(3), x + 1),
    "back to a tensor": lambda x: torch.from_numpy((x + 1).numpy()) * 2,
    "made a tensor of": lambda x: torch.tensor((x + 1).numpy()) * 2,
    "written behind": written_behind,
    "with gradients": lambda x: (
        x + 1,
        error((x * torch.nn.Parameter(torch.ones(4))).numpy),
    ),
    "of complex numbers": lambda x: (
        x,
        error(x.to(torch.complex64).conj().numpy),
    ),
    "no dtype of NumPy's": lambda x: (x, error(x.bfloat16().numpy)),
    "of a number": lambda x: (x, error(len, x.sum().numpy())),
    "by force": lambda x: x + x.numpy(force=True).shape[0],
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_needs_the_data(name):
    check(OTHERS[name], X.clone())


def test_sizes_that_vary():
    def program(x):
        a = x.numpy()
        return x * a.shape[0] + len(a)

    compiled = magneto.compile(program, backend="eager")
    recompiles = magneto.stats()["recompiles"]
    for n in range(2, 8):
        x = torch.ones(n, 2)
        assert torch.equal(compiled(x), program(x))
    assert magneto.stats()["recompiles"] - recompiles == 1


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
