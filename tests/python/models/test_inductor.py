# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's own compiler behind magneto: the results of torch.compile.

Both compilers hand inductor the same graphs, so results are equal bit by bit,
gradients and updated weights included.
"""

import torch

from magneto.testing import compare
from support.zoo import BY_NAME

INFERENCE = ("llama", "resnet")
TRAINING = ("gpt2",)


def pytest_generate_tests(metafunc):
    names = TRAINING if "training" in metafunc.function.__name__ else INFERENCE
    rows = [
        BY_NAME[name]
        for name in names
        if metafunc.config.getoption("all_models")
        or "inductor" in BY_NAME[name].captured
    ]
    metafunc.parametrize("row", rows, ids=lambda row: row.name)


def infer(compile, row):
    model = compile(row.build(), backend="inductor")
    with torch.no_grad():
        return model(**row.arguments())


def test_inference_with_inductor_equals_torch_compiles(row):
    import magneto

    expected = infer(torch.compile, row)
    torch._dynamo.reset()
    compare(expected, infer(magneto.compile, row))


def train(compile, row, steps=2):
    """Losses, weights and moments after steps of AdamW; dropout is off, since
    inductor draws random numbers of its own."""
    model = row.build(training=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    call = compile(model, backend="inductor")
    losses = []
    for _ in range(steps):
        loss = call(**row.arguments(training=True)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return losses, dict(model.named_parameters()), optimizer.state_dict()


def test_training_step_with_inductor_equals_torch_compiles(row):
    import magneto

    expected = train(torch.compile, row)
    torch._dynamo.reset()
    compare(expected, train(magneto.compile, row))
