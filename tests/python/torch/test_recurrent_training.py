# SPDX-License-Identifier: BSD-3-Clause
"""An LSTM on a CPU in training: one graph, except for backends that cannot
differentiate it, which get what is around it.
"""

import copy

import pytest
import torch
from torch import nn

import magneto
from magneto.testing import RecordingBackend

X = torch.arange(40.0).reshape(2, 5, 4) / 40


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(4, 4)
        self.layer = nn.LSTM(
            4, 3, num_layers=2, bidirectional=True, batch_first=True
        )
        self.after = nn.Linear(6, 2)

    def forward(self, x):
        states, (hidden, _) = self.layer(torch.relu(self.before(x)))
        return self.after(states).tanh(), hidden


class Stepwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 4)

    def forward(self, x):
        state = None
        for step in x.unbind(1):
            out, state = self.layer(step[None], state)
        return out * 2, state[0]


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True)
        out, (hidden, _) = self.layer(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[
            0
        ], hidden


def steps(model, call):
    """Outputs, gradients and what training makes of the parameters."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        x = X.clone().requires_grad_()
        outputs = call(x)
        sum(o.square().sum() for o in outputs).backward()
        found += [
            *outputs,
            x.grad,
            *(p.grad.clone() for p in model.parameters()),
        ]
        optimizer.step()
    with torch.no_grad():
        found += call(X)
    return found


def compared(make, backend, **options):
    torch.manual_seed(0)
    model = make()
    other = copy.deepcopy(model)
    magneto.reset()
    compiled = magneto.compile(other, backend=backend, **options)
    torch.testing.assert_close(steps(other, compiled), steps(model, model))


@pytest.mark.parametrize("make", [Tagger, Stepwise])
def test_one_graph(make):
    backend = RecordingBackend()
    compared(make, backend, fullgraph=True)
    # With gradients, and without.
    assert len(backend.graphs) == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("make", [Tagger, Stepwise, Packed])
def test_steps_of_training(make, backend):
    compared(make, backend)


@pytest.mark.parametrize("make", [Tagger, Stepwise])
def test_a_whole_graph_runs_uncompiled(make):
    compared(make, "aot_eager", fullgraph=True)


def test_under_inductor():
    compared(Tagger, "inductor")


def test_what_is_around_it_is_compiled():
    """AOTAutograd gets a graph before it and one behind it."""
    from torch._dynamo.backends.common import aot_autograd

    sizes = []

    def compiler(gm, inputs):
        sizes.append(len(gm.graph.nodes))
        return gm.forward

    compared(Tagger, aot_autograd(fw_compiler=compiler))
    assert len(sizes) >= 4


def test_without_gradients_it_is_compiled():
    torch.manual_seed(0)
    model = Tagger().eval()
    compiled = magneto.compile(model, backend="aot_eager")
    breaks = magneto.stats()["graph_breaks"]
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), model(X))
    assert magneto.stats()["graph_breaks"] == breaks
