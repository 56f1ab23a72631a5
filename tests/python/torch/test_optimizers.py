# SPDX-License-Identifier: BSD-3-Clause
"""Training steps compiled as a whole: torch's optimizers, learning rates that
change, clipped gradients.

Optimizers ask whether they are being compiled and then count steps in tensors,
so results differ from eager's by rounding, as they do under torch.compile.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

import magneto

INPUT = torch.linspace(-1, 1, 40).reshape(8, 5)
TARGET = torch.arange(8) % 3

# Those that take what a tensor holds as a condition, for each parameter.
IN_PIECES = ["ASGD", "Adafactor", "RAdam"]
WHOLE = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "RMSprop",
    "Rprop",
    "SGD",
]


def make(name: str):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 3))
    parameters = [
        p for p in model.parameters() if name != "Muon" or p.ndim == 2
    ]
    # One learning rate is for one half of them.
    half = len(parameters) // 2
    groups = [
        {"params": parameters[:half], "lr": 0.02},
        {"params": parameters[half:]},
    ]
    optimizer = getattr(torch.optim, name)(groups, lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    return model, optimizer, scheduler


def step(model, optimizer, scheduler):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(INPUT), TARGET)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    return loss.detach()


def train(call, made, count):
    return [call(*made) for _ in range(count)], list(made[0].parameters())


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("name", WHOLE + IN_PIECES)
def test_compiled_training_steps_are_those_of_eager(name) -> None:
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = magneto.compile(step, backend=backend)
    ours, theirs = make(name), make(name)
    expected = train(step, theirs, 5)
    torch.testing.assert_close(
        train(compiled, ours, 5), expected, rtol=1e-4, atol=1e-5
    )
    if name in WHOLE:
        # The first step makes the optimizer's state, in the second the learning
        # rate is seen to vary.
        met = len(graphs)
        assert met <= 8
        expected = train(step, theirs, 3)
        torch.testing.assert_close(
            train(compiled, ours, 3), expected, rtol=1e-4, atol=1e-5
        )
        assert len(graphs) == met


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("name", WHOLE + IN_PIECES)
def test_new_optimizers_behind_a_learning_rate_that_varied(name) -> None:
    compiled = magneto.compile(step, backend="aot_eager")
    for count in (3, 2):
        expected = train(step, make(name), count)
        torch.testing.assert_close(
            train(compiled, make(name), count), expected, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("name", WHOLE)
def test_the_step_of_an_optimizer_is_one_graph(name) -> None:
    # torch._dynamo marks methods of the optimizers that it computes itself.
    torch.compile(lambda x: x + 1, backend="eager")(INPUT)
    model, optimizer, _ = make(name)
    nn.functional.cross_entropy(model(INPUT), TARGET).backward()
    optimizer.step()
    found = magneto.explain(lambda: optimizer.step())()
    assert len(found.graphs) == 1
    # Torch asks for these around the step.
    assert {each.reason for each in found.breaks} <= {"asked-for"}


def test_groups_of_tensors_are_those_of_torch() -> None:
    from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

    def program(tensors, others, with_indices):
        groups = _group_tensors_by_device_and_dtype(
            [tensors, others, []], with_indices
        )
        return [
            (device, dtype, one, other, nothing, indices)
            for (device, dtype), (
                (one, other, nothing),
                indices,
            ) in groups.items()
        ]

    types = [torch.float32, torch.float64, torch.int64, torch.float64]
    tensors = [torch.ones(i + 1, dtype=t) for i, t in enumerate(types)]
    others = [None, *tensors[:3]]
    for with_indices in (True, False):
        magneto.testing.check(
            program, tensors, others, with_indices, fullgraph=True
        )


@pytest.mark.parametrize(
    "nested", [[], [[]], [[torch.ones(1)], []], [[None]], [[3]]], ids=repr
)
def test_groups_of_what_are_no_lists_of_tensors(nested) -> None:
    from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

    magneto.testing.check(
        lambda x: (_group_tensors_by_device_and_dtype(nested), x + 1),
        torch.ones(2),
    )
