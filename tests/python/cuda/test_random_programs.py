# SPDX-License-Identifier: BSD-3-Clause
"""A slice of the generators of random programs, with a GPU as the device on
which tensors are made."""

import pytest
import torch

from tests.fuzz import backends, draws, library, modules, shapes, tensors
from tests.fuzz.running import difference, write

pytestmark = pytest.mark.cuda


@pytest.fixture(autouse=True)
def made_on_gpu():
    torch.set_default_device("cuda")
    yield
    torch.set_default_device(None)


@pytest.mark.parametrize("first", range(0, 600, 20))
def test_random_programs_do_what_they_do_in_plain_python(first):
    for seed in range(first, first + 20):
        source = write(seed, size=20)
        assert difference(source) == "", f"seed {seed}\n{source}"


@pytest.mark.parametrize("first", range(0, 200, 20))
@pytest.mark.parametrize(
    "generator",
    [backends, draws, library, modules, tensors],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_programs_over_one_thing(generator, first):
    for seed in range(first, first + 20):
        assert generator.try_seed(seed) == ""


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_programs_over_sizes(first):
    for seed in range(first, first + 20):
        assert shapes.try_program(seed, calls=12) is None
