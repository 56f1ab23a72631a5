# SPDX-License-Identifier: BSD-3-Clause
"""A slice of the generators of random programs, with a GPU as the device on
which tensors are made."""

import pytest
import torch

from tests.fuzz.general.programs import differs, write
from tests.fuzz.generators import load

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
        assert differs(source) == "", f"seed {seed}\n{source}"


@pytest.mark.parametrize("first", range(0, 200, 20))
@pytest.mark.parametrize(
    "name",
    [
        "classes.library",
        "modules.layers",
        "sizes.draws",
        "sizes.shapes",
        "tensors.backends",
        "tensors.views",
    ],
)
def test_programs_over_one_thing(name, first):
    try_seed = load(name).try_seed
    for seed in range(first, first + 20):
        assert try_seed(seed) == ""
