# SPDX-License-Identifier: BSD-3-Clause
"""One compiled function, called with tensors of every type and layout, in any
order: what is not dense runs in plain Python, also where something else was
compiled.
"""

import random

import pytest
import torch

import magneto
from magneto.testing import compare


def complex_numbers():
    return torch.view_as_complex(torch.arange(8.0).view(2, 2, 2))


def numbers():
    return torch.arange(4.0).view(2, 2)


class Derived(torch.Tensor):
    pass


KINDS = {
    "dense": numbers,
    "wide": lambda: torch.arange(6.0).view(2, 3),
    "complex": complex_numbers,
    "conjugate": lambda: complex_numbers().conj(),
    "negative": lambda: complex_numbers().conj().imag,
    "imaginary part": lambda: complex_numbers().imag,
    "zero": lambda: torch._efficientzerotensor((2, 2)),
    "mkldnn": lambda: numbers().to_mkldnn(),
    "sparse": lambda: numbers().to_sparse(),
    "compressed": lambda: numbers().to_sparse_csr(),
    "blocks": lambda: numbers().to_sparse_bsr((1, 1)),
    "quantized": lambda: torch.quantize_per_tensor(
        numbers(), 0.1, 0, torch.qint8
    ),
    "meta": lambda: torch.empty(2, 2, device="meta"),
    "derived": lambda: numbers().as_subclass(Derived),
    "parameter": lambda: torch.nn.Parameter(numbers()),
    "half": lambda: numbers().half(),
    "bool": lambda: numbers() > 1,
    "nested": lambda: torch.nested.nested_tensor([numbers(), numbers() + 1]),
    "jagged": lambda: torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged
    ),
}


def doubled(x):
    return x * 2


def with_its_sum(x):
    return x + x.sum()


def real_numbers(x):
    return x.imag if x.is_complex() else x.abs()


def about(x):
    return x.layout, x.device, x.dtype, x.dim(), x.is_conj(), x.is_neg()


def written(x):
    x.mul_(2)
    return x + 1


def rows(x):
    return [row * 2 for row in x]


def outcome(call, make):
    x = make()
    try:
        result = call(x)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return [shown(each) for each in (result, x)]


def shown(value):
    if isinstance(value, list):
        return [shown(each) for each in value]
    if not isinstance(value, torch.Tensor):
        return value
    about = (type(value), value.dtype, value.layout, value.requires_grad)
    if value.is_nested:
        return about, [each.tolist() for each in value.unbind()]
    if value.is_meta or value._is_zerotensor():
        return about, value.shape
    dense = value if value.layout is torch.strided else value.to_dense()
    if dense.is_quantized:
        dense = dense.dequantize()
    return about, dense.resolve_conj().tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "program", [doubled, with_its_sum, real_numbers, about, written, rows]
)
def test_kinds(program, dynamic, seed):
    kinds = [*KINDS, *KINDS]
    random.Random(seed).shuffle(kinds)
    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for kind in kinds:
        expected = outcome(program, KINDS[kind])
        compare(expected, outcome(compiled, KINDS[kind]))


@pytest.mark.parametrize("dynamic", [None, True])
def test_texts_of_tensors_without_data(dynamic):
    """A text's `%` takes the tensor itself, not what stands for it."""

    def program(x):
        return "%s" % x, "%r|%s" % (x, x), f"{x}", str(x)

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for size in (2, 3, 4):
        x = torch.ones(size, device="meta")
        assert compiled(x) == program(x)
        parameter = torch.nn.Parameter(x)
        assert compiled(parameter) == program(parameter)
