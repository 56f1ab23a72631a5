# SPDX-License-Identifier: BSD-3-Clause
"""torch.Tensor(...) and the like, which take a torch.Size for a size and a
tuple for data.
"""

from __future__ import annotations

import pytest
import torch

import magneto
from support.varying_calls import x

TYPES = (
    "Tensor",
    "FloatTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "LongTensor",
    "IntTensor",
    "ShortTensor",
    "ByteTensor",
    "CharTensor",
    "BoolTensor",
)

ARGUMENTS = {
    "size": lambda t: (t.size(),),
    "shape": lambda t: (t.shape,),
    "part of a size": lambda t: (t.shape[:1],),
    "sum of sizes": lambda t: (t.size() + t.size(),),
    "size made of numbers": lambda t: (torch.Size([t.shape[0] * 2, 3]),),
    "no size": (lambda t: (t.shape[:0],)),
    "size in reverse": lambda t: (torch.Size(reversed(t.size())),),
    "numbers": lambda t: tuple(t.size()),
    "number": lambda t: (t.shape[0],),
    "tuple": lambda t: (tuple(t.size()),),
    "list": lambda t: ([t.shape[0], 5],),
}
DATA = {"tuple", "list"}


def check_shapes(program, backend, is_data=False):
    """What such a tensor holds is left to chance, unless it is given data."""
    compiled = magneto.compile(program, backend=backend)
    for sizes in ((2, 3), (4, 3), (5, 3), (4, 3)):
        given = x(*sizes)
        expected, got = program(given), compiled(given)
        assert got.shape == expected.shape
        assert got.dtype == expected.dtype
        if is_data:
            torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", TYPES)
def test_legacy_constructor_of_a_size_that_varies(name, arguments):
    make, arguments_of = getattr(torch, name), ARGUMENTS[arguments]
    check_shapes(lambda t: make(*arguments_of(t)), "eager", arguments in DATA)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_under_pytorchs_compilers(arguments, backend):
    arguments_of = ARGUMENTS[arguments]
    check_shapes(
        lambda t: torch.Tensor(*arguments_of(t)), backend, arguments in DATA
    )


def test_under_inductor():
    check_shapes(lambda t: torch.LongTensor(t.size()), "inductor")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("arguments", ["size", "numbers", "part of a size"])
def test_method_new(arguments, backend):
    arguments_of = ARGUMENTS[arguments]
    program = lambda t: t.long().new(*arguments_of(t))
    check_shapes(program, backend)
    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    before = magneto.stats()["compilations"]
    for n in (2, 4, 5, 6):
        assert compiled(x(n, 3)).shape == program(x(n, 3)).shape
    assert magneto.stats()["compilations"] - before <= 2


def test_one_compilation_for_all_sizes():
    compiled = magneto.compile(
        lambda t: torch.Tensor(t.size()), backend="eager", fullgraph=True
    )
    before = magneto.stats()["graphs"]
    for n in (2, 4, 5, 6, 7):
        assert compiled(x(n, 3)).shape == (n, 3)
    assert magneto.stats()["graphs"] - before == 2
