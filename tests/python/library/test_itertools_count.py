# SPDX-License-Identifier: BSD-3-Clause
"""itertools.count with numbers of more than 64 bits."""

import itertools

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.ones(1)
LARGEST = 2**63 - 1


@pytest.mark.parametrize("n", [5, LARGEST - 1, LARGEST])
def test_number_out_of_a_tensor(n):
    def program(x, t):
        counter = itertools.count(t.item())
        return next(counter), next(counter), x * 2

    check(program, X, torch.tensor(n))


def test_number_of_the_callers():
    def program(x, n):
        magneto.graph_break()
        return list(zip("ab", itertools.count(n), strict=False)), x * 2

    compiled = magneto.compile(program, backend="eager")
    for n in [*range(12), LARGEST, LARGEST + 1]:
        assert compiled(X, n) == program(X, n)


# CPython itself doesn't copy a counter that is at the largest number.
@pytest.mark.parametrize("n", [5, LARGEST - 5, LARGEST + 1])
def test_counter_of_the_callers(n):
    def program(x, counter):
        next(counter)
        return next(counter), x + 1

    check(program, X, itertools.count(n))


def test_counter_that_comes_to_the_largest_number():
    def program(x, counter):
        return [next(counter) for _ in range(3)], x + 1

    compiled = magneto.compile(program, backend="eager")
    counter = itertools.count(LARGEST - 10)
    numbers = []
    for _ in range(6):
        numbers += compiled(X, counter)[0]
    assert numbers == [LARGEST - 10 + i for i in range(18)]
