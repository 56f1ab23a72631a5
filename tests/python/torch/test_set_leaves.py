# SPDX-License-Identifier: BSD-3-Clause
"""requires_grad_() of what the graph computes."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import magneto
from magneto.backends import lookup_backend
from magneto.testing import check_calls

IDS = torch.tensor([0, 1, 2])


class Frozen(nn.Module):
    """An embedding that isn't trained, and layers that are, as for adapters."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(5, 3).requires_grad_(False)
        self.linear = nn.Linear(3, 3)

    def hidden(self, ids):
        return self.embedding(ids)


class Summed(Frozen):
    def forward(self, ids):
        hidden = self.hidden(ids)
        hidden.requires_grad_(True)
        return self.linear(hidden).sum()


class Assigned(Frozen):
    def forward(self, ids):
        hidden = self.hidden(ids)
        hidden.requires_grad = True
        assert hidden.requires_grad
        assert hidden.is_leaf
        return self.linear(hidden).sin()


class Checkpointed(Frozen):
    """What transformers' `gradient_checkpointing_enable()` makes of a model."""

    def __init__(self):
        super().__init__()
        self.embedding.register_forward_hook(
            lambda module, args, output: output.requires_grad_(True)
        )

    def forward(self, ids):
        return checkpoint(
            self.linear, self.hidden(ids), use_reentrant=True
        ).sum()


class Given(Frozen):
    def forward(self, ids):
        hidden = self.hidden(ids).requires_grad_()
        return hidden, self.linear(hidden)


class GivenByAnother(Frozen):
    def forward(self, ids):
        self.linear.requires_grad_(False)
        return self.hidden(ids).requires_grad_() * 2


class KeptOverABreak(Frozen):
    def forward(self, ids):
        hidden = self.hidden(ids).requires_grad_()
        magneto.graph_break()
        return self.linear(hidden).sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", [Summed, Assigned, Checkpointed])
def test_in_one_graph(kind, backend):
    check_calls(
        kind(),
        [((IDS,), {})] * 2,
        backend=lookup_backend(backend),
        graphs=1,
        fullgraph=True,
        backward=True,
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", [Given, GivenByAnother, KeptOverABreak])
def test_a_graph_gives_no_such_tensor(kind, backend):
    """It ends in front of `requires_grad_()`: its callers' gradients end at the
    tensor that plain Python made a leaf.
    """
    module, plain = kind(), kind()
    out = magneto.compile(module, backend=backend)(IDS)
    expected = plain(IDS)
    if not isinstance(out, tuple):
        out, expected = (out,), (expected,)
    for a, b in zip(out, expected, strict=True):
        assert torch.equal(a, b)
        assert a.requires_grad == b.requires_grad
        assert a.is_leaf == b.is_leaf
    out[-1].sum().backward()
    if len(out) == 2:
        assert out[0].grad is not None


def test_an_input_is_left_to_plain_python():
    def program(x):
        x.requires_grad_()
        return x * 2

    x = torch.ones(2)
    out = magneto.compile(program, backend="aot_eager")(x)
    out.sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 2.0))
