# SPDX-License-Identifier: BSD-3-Clause
"""The architectures of the zoo on a GPU: one graph, and eager's results."""

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, compare
from support.zoo import ARCHITECTURES, run_step

pytestmark = pytest.mark.cuda

ROWS = [
    pytest.param(row, training, id=f"{row.name}-{kind}")
    for row in ARCHITECTURES
    for training, kind in ((False, "inference"), (True, "training"))
    if kind in row.captured
]


@pytest.mark.parametrize("half", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize(("row", "training"), ROWS)
def test_model(row, training, half):
    arguments = {
        name: value.cuda() if isinstance(value, torch.Tensor) else value
        for name, value in row.arguments(training=training).items()
    }
    eager = row.build(training=training).cuda()
    model = row.build(training=training).cuda()
    backend = RecordingBackend()
    fullgraph = not training or row.training_graphs == 1
    compiled = magneto.compile(model, backend=backend, fullgraph=fullgraph)
    # Gradients of gathered rows are added up in no particular order.
    close = dict(rtol=1e-2, atol=1e-2) if half else dict(rtol=1e-4, atol=1e-5)
    for number in range(2):
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            expected = run_step(eager, eager, arguments, training)
            actual = run_step(compiled, model, arguments, training)
        compare(expected, actual, where=f"call {number}", **close)
    # The second call may find the config changed by the first.
    assert len(backend.graphs) <= 2 * row.training_graphs
