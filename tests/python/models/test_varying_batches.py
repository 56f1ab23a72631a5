# SPDX-License-Identifier: BSD-3-Clause
"""Layers in training behind PyTorch's compilers, with a batch that varies: one
compilation for its first size and one for all others; results, gradients and
buffers equal to eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch._dynamo.backends.registry import lookup_backend

import magneto
from magneto.testing import RecordingBackend, compare

Program = tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor]]


def rows(*shape: int) -> Callable[[int], torch.Tensor]:
    """Inputs with `batch` items of a shape."""
    return lambda batch: torch.randn(batch, *shape)


def indices(*shape: int) -> Callable[[int], torch.Tensor]:
    """Indices below 10, so many."""
    return lambda batch: torch.randint(10, (batch, *shape))


class Loss(nn.Module):
    """A loss of what a layer gives."""

    def __init__(self, loss: nn.Module, classes: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.loss = loss
        self.classes = classes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, 4) to ()."""
        y = self.layer(x)
        if self.classes:
            return self.loss(y, x.argmax(dim=1))
        return self.loss(y, x.sigmoid())


class Statistics(nn.Module):
    """What divides by sizes, and by sizes less one."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, 4) to whatever the function gives."""
        return self.function(x * self.weight)


class Counting(nn.Module):
    """Buffers that the forward writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, 4) to (batch, 4)."""
        self.seen += x.shape[0]
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return self.norm(x) - self.mean


class Attention(nn.Module):
    """Self-attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape: (batch, length, 8) to the same."""
        return self.attention(x, x, x)[0]


LAYERS: dict[str, Program] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), rows(4)),
    "BatchNorm1d-3d": (lambda: nn.BatchNorm1d(4), rows(4, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), rows(3, 4, 4)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(3), rows(3, 2, 2, 2)),
    "BatchNorm-plain": (
        lambda: nn.BatchNorm1d(4, affine=False, track_running_stats=False),
        rows(4),
    ),
    "InstanceNorm2d": (
        lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        rows(3, 4, 4),
    ),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), rows(4, 3)),
    "LayerNorm": (lambda: nn.LayerNorm(4), rows(3, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4), rows(3, 4)),
    "Counting": (Counting, rows(4)),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3), rows(3, 8)),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), rows(3, 8, 8)),
    "Conv2d-norm-pool": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(4, 2),
        ),
        rows(3, 8, 8),
    ),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3), rows(3, 4, 4)),
    "AvgPool2d": (
        lambda: nn.Sequential(nn.Conv2d(3, 3, 1), nn.AvgPool2d(2)),
        rows(3, 8, 8),
    ),
    "Upsample": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 3, 1), nn.Upsample(scale_factor=2, mode="bilinear")
        ),
        rows(3, 4, 4),
    ),
    "Linear-GELU": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)),
        rows(4),
    ),
    "Bilinear": (
        lambda: Statistics(lambda x: nn.functional.bilinear(
            x, x, torch.ones(2, 4, 4)
        )),
        rows(4),
    ),
    "Embedding": (lambda: nn.Embedding(10, 4), indices(3)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(10, 4, mode="mean"), indices(3)),
    "MultiheadAttention": (Attention, rows(5, 8)),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, batch_first=True
        ),
        rows(5, 8),
    ),
    "CrossEntropyLoss": (
        lambda: Loss(nn.CrossEntropyLoss(), classes=True), rows(4),
    ),
    "NLLLoss-smooth": (
        lambda: Loss(
            nn.CrossEntropyLoss(label_smoothing=0.1), classes=True
        ),
        rows(4),
    ),
    "MSELoss": (lambda: Loss(nn.MSELoss()), rows(4)),
    "SmoothL1Loss": (lambda: Loss(nn.SmoothL1Loss()), rows(4)),
    "BCEWithLogitsLoss": (lambda: Loss(nn.BCEWithLogitsLoss()), rows(4)),
    "KLDivLoss": (lambda: Loss(nn.KLDivLoss(reduction="batchmean")), rows(4)),
    "mean": (lambda: Statistics(lambda x: x.mean()), rows(4)),
    "var": (lambda: Statistics(lambda x: x.var(0)), rows(4)),
    "std": (lambda: Statistics(lambda x: x.std()), rows(4)),
    "var_mean": (
        lambda: Statistics(lambda x: torch.var_mean(x, 0)[0]), rows(4),
    ),
    "cov": (lambda: Statistics(lambda x: torch.cov(x.T)), rows(4)),
    "size-in-float": (
        lambda: Statistics(lambda x: x * (x.shape[0] / (x.shape[0] - 1))),
        rows(4),
    ),
    "size-root": (
        lambda: Statistics(lambda x: x / x.shape[0] ** 0.5), rows(4),
    ),
    "softmax-batch": (lambda: Statistics(lambda x: x.softmax(0)), rows(4)),
    "norm": (lambda: Statistics(lambda x: x.norm(dim=0)), rows(4)),
    "weight_norm": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
        rows(4),
    ),
    "spectral_norm": (
        lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
        rows(4),
    ),
}  # fmt: skip

# The ones whose batch is in numbers that inductor computes with.
WITH_INDUCTOR = [
    "BatchNorm1d", "BatchNorm2d", "Counting", "InstanceNorm2d",
    "Conv2d-norm-pool", "CrossEntropyLoss", "MSELoss", "var", "mean",
    "size-in-float",
]  # fmt: skip

# Inductor computes another gradient, of torch.compile's graph as well.
DIFFERS_IN_INDUCTOR = {"spectral_norm"}


def train(call, module: nn.Module, x: torch.Tensor):
    """One step: output, gradients and buffers."""
    module.zero_grad()
    if x.is_floating_point():
        x = x.clone().requires_grad_()
    y = call(x)
    y.square().sum().backward()
    gradients = [each.grad for each in module.parameters()]
    return y.detach(), x.grad, gradients, list(module.buffers())


def check(name: str, backend: str, sizes: tuple[int, ...]) -> None:
    """Trains with those batches."""
    magneto.reset()
    build, inputs = LAYERS[name]
    torch.manual_seed(0)
    ours = build()
    theirs = copy.deepcopy(ours)
    recorded = RecordingBackend(lookup_backend(backend))
    compiled = magneto.compile(ours, backend=recorded, fullgraph=True)
    for size in sizes:
        x = inputs(size)
        torch.manual_seed(1)
        expected = train(theirs, theirs, x)
        torch.manual_seed(1)
        result = train(compiled, ours, x)
        compare(expected, result, rtol=1e-4, atol=1e-5)
    assert len(recorded.graphs) == 2


@pytest.mark.parametrize("name", LAYERS)
def test_training_behind_aot_eager(name):
    check(name, "aot_eager", (3, 5, 6, 4, 8))


@pytest.mark.parametrize("name", WITH_INDUCTOR)
def test_training_behind_inductor(name):
    check(name, "inductor", (3, 5, 6))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(LAYERS.keys() - set(WITH_INDUCTOR) - DIFFERS_IN_INDUCTOR)
)
def test_training_of_the_others_behind_inductor(name):
    check(name, "inductor", (3, 5, 6))
