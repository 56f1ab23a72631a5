# SPDX-License-Identifier: BSD-3-Clause
"""torch.use_deterministic_algorithms and torch.manual_seed in the compiled
function: the settings and the drawn numbers are plain Python's.
"""

import pytest
import torch

import magneto
from magneto.testing import compare
from support.compiled_calls import graphs_of
from support.under_backends import check_under

X = torch.arange(1.0, 7.0).reshape(2, 3)


def asks_for_determinism(x):
    torch.use_deterministic_algorithms(True)
    return x + torch.are_deterministic_algorithms_enabled()


def asks_to_warn(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    return x + torch.is_deterministic_algorithms_warn_only_enabled()


def filled(x):
    torch.use_deterministic_algorithms(True)
    made = torch.empty(3)
    torch.use_deterministic_algorithms(False)
    return x + 1, made.isnan()


@pytest.fixture
def restored():
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [asks_for_determinism, asks_to_warn, filled]
)
def test_determinism_is_asked_for(program, backend, restored):
    compiled = magneto.compile(program, backend=backend)
    for _ in range(3):
        results = []
        for function in (program, compiled):
            torch.use_deterministic_algorithms(False)
            results.append((function(X), torch.get_deterministic_debug_mode()))
        compare(*results)


@pytest.mark.parametrize("program", [asks_for_determinism, asks_to_warn])
def test_determinism_that_is_there_already(program, restored):
    program(X)
    assert graphs_of(program, (X,), (X + 1,), fullgraph=True) == 1


STATES = {
    "manual_seed": lambda x: (torch.manual_seed(3), x + torch.rand(2, 3))[1],
    "of torch.random": lambda x: (
        torch.random.manual_seed(3),
        x + torch.rand(2, 3),
        torch.rand(2),
    )[1:],
    "between draws": lambda x: (
        torch.rand(2),
        torch.manual_seed(5) and torch.rand(2),
        torch.rand(2) + x.sum(),
    ),
    "state": lambda x: (
        state := torch.get_rng_state(),
        torch.rand(2),
        torch.set_rng_state(state),
        torch.rand(2) * x.sum(),
    )[1::2],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", STATES.values(), ids=STATES)
def test_draws_behind_a_seed(program, backend):
    check_under(backend, program, X, calls=3)
