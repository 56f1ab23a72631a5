# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that vary, under PyTorch's compilers: what these ask of
sizes, and numbers whose symbols have no operation for a function, which are
computed in front of the graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import magneto
from magneto import _C
from magneto.backends.symbols import FloatForm, GraphSymbols
from magneto.testing import compare

FUNCTIONS = (
    "exp",
    "log",
    "log2",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "asinh",
    "atanh",
    "log10",
    "log1p",
    "exp2",
    "expm1",
    "cbrt",
    "erf",
    "erfc",
    "fabs",
    "degrees",
    "radians",
)

# How a number comes to vary: what the program takes it from, and three calls.
NUMBERS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "size": (lambda x, n: x.shape[0] / 16, [(4, 0), (6, 0), (7, 0)]),
    "int": (lambda x, n: n / 16, [(4, 3), (4, 5), (4, 7)]),
    "float": (lambda x, n: n, [(4, 0.3), (4, 0.5), (4, 0.7)]),
    "two of them": (lambda x, n: x.shape[0] * n / 64, [(4, 3), (6, 5), (7, 9)]),
}

# What becomes of the function's value.
USES: dict[str, Callable[..., Any]] = {
    "factor": lambda x, v: x * v,
    "computed with": lambda x, v: x * (v + 1) / (v * v + 2),
    "returned": lambda x, v: (x + 1, v, [v * 2]),
    "filled": lambda x, v: torch.full((2,), v) + x.sum(),
    "keyword": lambda x, v: torch.add(x, x, alpha=v),
    "decides": lambda x, v: x + 1 if v > -100 else x - 1,
    "size": lambda x, v: x.new_zeros(int(abs(v) * 3) + 1) + x.sum(),
}


def run_calls(program, calls, backend):
    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    before = magneto.stats()["graphs"]
    for size, number in calls:
        x = torch.arange(1.0, size + 1)
        compare(program(x, number), compiled(x, number), rtol=1e-6, atol=1e-6)
    return magneto.stats()["graphs"] - before


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_a_number_that_varies_is_compiled_once_more(
    name, kind, backend
):
    number_of, calls = NUMBERS[kind]
    function = getattr(math, name)

    def program(x, n):
        return x * function(number_of(x, n))

    assert run_calls(program, calls, backend) == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_whatever_becomes_of_it(name, use, backend):
    function = getattr(math, name)

    def program(x, n):
        return USES[use](x, function(x.shape[0] / 16))

    run_calls(program, [(4, 0), (6, 0), (7, 0), (4, 0)], backend)


@pytest.mark.parametrize("name", ["exp", "log", "sin"])
def test_under_inductor(name):
    function = getattr(math, name)

    def program(x, n):
        return x * function(x.shape[0]), x + function(n)

    assert run_calls(program, [(4, 2.5), (6, 3.5), (7, 4.5)], "inductor") == 2


def test_number_out_of_a_tensor_gives_what_eager_gives():
    def program(x):
        return x * math.log(x.sum().item()) + math.exp(x[0].item())

    for backend in ("eager", "aot_eager"):
        compiled = magneto.compile(program, backend=backend)
        for start in (1.0, 2.0, 3.0):
            x = torch.arange(start, start + 4)
            compare(program(x), compiled(x), rtol=1e-6, atol=1e-6)


OTHERS = {
    "acosh": lambda v: math.acosh(v + 1),
    "atan2": lambda v: math.atan2(v, -2),
    "atan2 of two": lambda v: math.atan2(v, v - 1),
    "copysign": lambda v: math.copysign(2, v - 0.4),
    "pow": lambda v: math.pow(v, 1.5),
    "pow of an int": lambda v: math.pow(v, 2),
    "exponent": lambda v: math.pow(2, v),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_other_numbers(name, kind, backend):
    number_of, calls = NUMBERS[kind]
    function = OTHERS[name]
    program = lambda x, n: x * function(number_of(x, n))
    graphs = run_calls(program, calls, backend)
    # PyTorch's symbols decide what the base of a power is, as for `**`.
    assert graphs == 2 or (backend == "aot_eager" and name.startswith("pow"))


# A function, where it is defined, and where it isn't or is too large.
EDGES = {
    "log10": ([0.5, 2.5], [0.0, -1.0]),
    "log1p": ([0.5, -0.5], [-1.0, -2.0]),
    "asin": ([0.5, 1.0, -1.0], [1.5, -1.5]),
    "acos": ([0.5, 1.0, -1.0], [1.5, -1.5]),
    "acosh": ([1.5, 1.0], [0.5]),
    "atanh": ([0.5, -0.5], [1.0, -1.0, 2.0]),
    "exp2": ([0.5, -2000.0], [2000.0]),
    "expm1": ([0.5, -2000.0], [2000.0]),
    "erfc": ([0.5, 2000.0, -2000.0, math.inf, math.nan], []),
    "asinh": ([0.5, -0.0, math.inf, math.nan], []),
    "cbrt": ([0.5, -27.0, math.inf, math.nan], []),
    "fabs": ([-0.5, -0.0, -math.inf], []),
    "degrees": ([0.5, 1e308, -math.inf, math.nan], []),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", EDGES)
def test_where_a_function_is_defined(name, backend):
    function = getattr(math, name)

    def program(x, n):
        try:
            value = function(n)
        except (ValueError, OverflowError) as error:
            return x - 1, str(error)
        return x * value, value, math.copysign(1, value)

    x = torch.ones(3, dtype=torch.float64)
    compiled = magneto.compile(program, backend=backend)
    defined, others = EDGES[name]
    for n in (0.75 if name != "acosh" else 1.75, *defined, *others, *defined):
        compare(program(x, n), compiled(x, n), rtol=1e-12, atol=1e-12)


def test_where_the_function_raises_for_a_later_number():
    def program(x, n):
        return x * math.log(n)

    for backend in ("eager", "aot_eager"):
        compiled = magneto.compile(program, backend=backend)
        x = torch.ones(3)
        for n in (0.5, 1.5, 2.5):
            compare(program(x, n), compiled(x, n), rtol=1e-6, atol=1e-6)
        with pytest.raises(ValueError, match="math domain error"):
            compiled(x, -1.0)


OPERANDS = {
    "ints": (7, 3),
    "floats": (0.75, 0.25),
    "floats from 1": (1.75, 1.25),
    "bools": (True, False),
}
TAKES = {
    "Acosh": "floats from 1",
    "TrueDivide": "floats",
    "BitAnd": "ints",
    "BitOr": "ints",
    "BitXor": "ints",
    "ShiftLeft": "ints",
    "ShiftRight": "ints",
    "ToFloat": "ints",
    "ToInteger": "bools",
    "And": "bools",
    "Or": "bools",
    "Not": "bools",
}
INTEGERS = {"Add", "Multiply", "FloorDivide", "Modulo", "Power", "Minimum"}
INTEGERS |= {"Maximum", "Absolute", "Equal", "Less", "LessEqual"}


@pytest.mark.parametrize("form", [FloatForm.Symbol, FloatForm.Constant])
@pytest.mark.parametrize("operation", sorted(_C._tensor.number_functions()))
def test_each_operation_has_a_form_of_pytorchs(operation, form):
    """A row of operations.def is a number to PyTorch's symbols, with the value
    that the operation has."""
    kind = "ints" if operation in INTEGERS else TAKES.get(operation, "floats")
    values = OPERANDS[kind]
    leaves = [
        ("Less", ("Symbol", i, int(value), 0, 9), 1)
        if kind == "bools"
        else ("Symbol", i, value, 0, 9)[: 5 if kind == "ints" else 3]
        for i, value in enumerate(values)
    ]
    if kind == "bools":
        values = tuple(value < 1 for value in values)
    path, _ = _C._tensor.number_functions()[operation]
    module, _, name = path.rpartition(".")
    function = {"_operator": operator, "math": math}.get(module)
    symbols = GraphSymbols([], [], form)
    symbols.adopt_inputs()
    binary = operation not in {"ToFloat", "ToInteger", "Not", "Absolute"} and (
        not kind.startswith("floats")
        or operation in ("TrueDivide", "CopySign", "Atan2")
    )
    count = 2 if binary else 1
    made = symbols._evaluate((operation, *leaves[:count]))
    if function is not None:
        expected = getattr(function, name)(*values[:count])
        got = made.node.hint if hasattr(made, "node") else made
        assert got == pytest.approx(expected)
    assert made is not None


def padded(n, m):
    """The compilers slice the kernel, up to the largest number of 64 bits."""
    x = torch.arange(float(6 * n * m)).view(2, 3, n, m)
    return (
        lambda x, w: F.conv2d(x, w, padding="same"),
        x,
        torch.ones(4, 3, 3, 3),
    )


def scaled(n, m):
    """The factor is a float of a size that no tensor in their graph has."""
    x = torch.arange(float(24 * n * m)).view(2, 3, 2 * n, 2 * m)
    return lambda x: F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0), x


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("make", [padded, scaled])
def test_sizes_that_vary(make, dynamic, backend):
    program = make(5, 8)[0]
    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for n, m in [(5, 8), (6, 9), (7, 7), (8, 13)]:
        inputs = make(n, m)[1:]
        compare(program(*inputs), compiled(*inputs), rtol=1e-5, atol=1e-5)


KINDS = {
    "conjugate": lambda x: x.conj(),
    "negative": torch._neg_view,
    "both": lambda x: torch._neg_view(x.conj()),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", KINDS)
def test_views_that_stand_for_others_numbers(kind, backend):
    def program(x):
        return x.imag, x * 2, x.is_conj(), x.is_neg()

    compiled = magneto.compile(program, backend=backend, dynamic=True)
    for size in (2, 3, 5):
        x = KINDS[kind](torch.ones(size, 2) * (1 + 2j))
        compare(program(x), compiled(x))
