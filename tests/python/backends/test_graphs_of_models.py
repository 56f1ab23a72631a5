# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of whole models, as torch.compile captures them, through our graph."""

import copy

import pytest
import torch
from torch import nn

from magneto import backends
from support.graph_recorder import from_fx


class Attention(nn.Module):
    """A small decoder with a loss: embeddings, attention, a gated MLP."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8, bias=False)
        self.gate = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 11)

    def forward(self, ids, labels):
        x = self.embedding(ids)
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        mask = torch.full((ids.shape[1],) * 2, float("-inf")).triu(1)
        scores = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5 + mask
        x = x + self.out(scores.softmax(-1) @ v)
        gate, up = self.gate(x), self.gate(x)[..., :16]
        x = x + self.down(nn.functional.silu(gate) * up)
        with torch.no_grad():
            scale = x.detach().abs().amax()
        logits = self.head(x / scale)
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten()
        )


class Convolution(nn.Module):
    """Convolutions with batch normalization in training mode: buffers are
    written."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 5)

    def forward(self, images, labels):
        x = nn.functional.relu(self.norm(self.conv(images)), inplace=True)
        x = nn.functional.max_pool2d(x, 2)
        logits = self.head(x.mean((2, 3)))
        return nn.functional.cross_entropy(logits, labels)


def attention():
    ids = torch.randint(0, 11, (2, 6))
    return Attention(), (ids, torch.randint(0, 11, (2, 6)))


def convolution():
    images = torch.randn(4, 3, 8, 8).contiguous(
        memory_format=torch.channels_last
    )
    return Convolution(), (images, torch.randint(0, 5, (4,)))


def captured(model, batch, backend):
    """`model` whose graph is compiled by ours, and its GraphModule's calls."""
    handles = []

    def through_magneto(gm, inputs):
        handle = from_fx(gm, inputs)
        handles.append((handle, gm))
        return backends.compile_graph(
            backends.lookup_backend(backend), handle, inputs
        )

    compiled = torch.compile(model, backend=through_magneto, fullgraph=True)
    compiled(*batch)
    ((handle, gm),) = handles
    calls = [n.target for n in gm.graph.nodes if n.op.startswith("call")]
    assert handle.call_count == len(calls)
    return compiled


@pytest.mark.parametrize(
    ("maker", "backend"),
    [
        (attention, "eager"),
        (attention, "aot_eager"),
        (convolution, "eager"),
        (convolution, "aot_eager"),
        (convolution, "inductor"),
    ],
)
def test_training_step_equals_eager(maker, backend):
    model, batch = maker()
    reference = copy.deepcopy(model)
    compiled = captured(copy.deepcopy(model), batch, backend)
    compiled.load_state_dict(
        {f"_orig_mod.{k}": v.clone() for k, v in model.state_dict().items()}
    )
    losses = []
    for candidate in (compiled, reference):
        optimizer = torch.optim.SGD(candidate.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            loss = candidate(*batch)
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
    torch.testing.assert_close(*losses)
    ours = compiled._orig_mod.state_dict()
    torch.testing.assert_close(
        ours, reference.state_dict(), rtol=1e-4, atol=1e-5
    )
