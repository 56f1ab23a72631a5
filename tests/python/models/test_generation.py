# SPDX-License-Identifier: BSD-3-Clause
"""Token by token with a cache that grows: three graphs at most, and none again
for the same shapes, whatever registers a virtual subclass in between."""

from __future__ import annotations

import collections.abc

import pytest
import torch
from torch._dynamo.backends.registry import lookup_backend

import magneto
from magneto.testing import RecordingBackend
from support.zoo import BY_NAME

ROWS = ("gpt2", "llama", "bloom", "qwen3")
BACKENDS = [
    "eager",
    "aot_eager",
    pytest.param("inductor", marks=pytest.mark.slow),
]


@torch.no_grad()
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ROWS)
def test_generation_compiles_three_graphs_and_none_again(name, backend):
    magneto.reset()
    row = BY_NAME[name]
    model = row.build().eval()
    ids = row.arguments()["input_ids"]

    def generate(count=8):
        return model.generate(ids, max_new_tokens=count, do_sample=False)

    expected = generate()
    recorded = RecordingBackend(lookup_backend(backend))
    model.forward = magneto.compile(model.forward, backend=recorded)
    assert torch.equal(generate(), expected)
    assert len(recorded.graphs) <= 3
    before = len(recorded.graphs)

    class Registered:
        pass

    collections.abc.Sequence.register(Registered)
    collections.abc.Mapping.register(Registered)
    assert torch.equal(generate(), expected)
    assert len(recorded.graphs) == before
    assert generate(12).shape[1] == ids.shape[1] + 12
    assert len(recorded.graphs) == before
