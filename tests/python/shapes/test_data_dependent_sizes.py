# SPDX-License-Identifier: BSD-3-Clause
"""Operators over a size that comes out of a tensor: one graph for all sizes,
zero and one among them. Where an operator has a way of its own for these, the
graph asserts that it isn't needed, and plain Python computes where it is.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import magneto
from magneto.testing import check_calls

# Of `y`, a vector whose length only data tells.
EXPRESSIONS = """
torch.outer(y, y).tril()
torch.outer(y, y).triu(1)
torch.outer(y, y).diagonal()
torch.outer(y, y).trace()
torch.eye(len(y))
F.dropout(y, .5)
F.gelu(y)
F.softmax(y, 0)
F.layer_norm(y[:, None], (1, ))
F.normalize(y, dim=0)
F.cosine_similarity(y, y, dim=0)
y.cumsum(0)
y.cummax(0)
y.diff()
y.logcumsumexp(0)
y.unfold(0, 1, 1)
torch.linalg.norm(y)
torch.linalg.vector_norm(y)
torch.linalg.inv(torch.eye(3)*len(y))
y.to(torch.float64)
y.expand(2, -1)
y.repeat(2)
y.tile(3)
y.unsqueeze(0)
y[::2]
y[:2]
y[-1:]
y.narrow(0, 0, 1)
y.sum(0, keepdim=True)
y.mean()
y.prod()
y.nanmean()
y.aminmax()
y.view(-1, 1).squeeze(1)
y.squeeze()
y.flatten()
torch.atleast_2d(y)
y.movedim(0, 0)
y.swapaxes(0, 0)
y.view(1, -1).swapaxes(0, 1)
torch.broadcast_tensors(y, torch.ones(1))
torch.tril(y[:, None])
y.index_select(0, torch.tensor([0]))
y.gather(0, torch.tensor([0]))
y.take(torch.tensor([0]))
torch.take_along_dim(y, torch.tensor([0]))
F.one_hot(y.long())
F.relu6(y)
F.log_softmax(y, -1)
F.linear(y, torch.ones(2, y.shape[0]))
F.embedding(y.long(), torch.ones(9, 3))
F.conv1d(torch.ones(1, 1, 9), y[None, None])
F.max_pool1d(y[None], 1)
F.avg_pool1d(y[None], 1)
F.adaptive_avg_pool1d(y[None], 1)
F.interpolate(y[None, None], size=3)
F.interpolate(y[None, None], scale_factor=2)
F.pad(y, (1, 1))
F.pad(y[None], (1, 1), mode='replicate')
F.unfold(y[None, None, None], (1, 1))
F.pixel_shuffle(y[None, None, :, None].expand(1, 4, -1, 2), 2)
F.glu(torch.cat([y, y]))
F.local_response_norm(y[None, None], 2)
F.group_norm(y[None, :].expand(2, -1).t(), 1)
F.rms_norm(y[:, None], (1, ))
F.batch_norm(y[:, None], torch.zeros(1), torch.ones(1))
F.nll_loss(torch.stack([y, y], 1).log_softmax(1), torch.zeros_like(y).long())
F.kl_div(y, y)
F.cross_entropy(torch.stack([y, y], 1), torch.zeros_like(y).long())
F.triplet_margin_loss(y[:, None], y[:, None], y[:, None])
F.pairwise_distance(y[:, None], y[:, None])
torch.cdist(y[:, None], y[:, None])
y.count_nonzero()
torch.any(y>0), torch.all(y>0)
y.max(0), y.min(0), y.sort()
y.argsort(), y.argmin()
y.masked_select(y>1).sum()
torch.kron(y, y)
torch.trapezoid(y)
torch.fft.fft(y)
torch.special.expit(y)
torch.repeat_interleave(y, 2)
torch.rot90(torch.outer(y, y))
torch.fliplr(torch.outer(y, y))
torch.logaddexp(y, y), torch.addcmul(y, y, y), torch.lerp(y, y, .5)
torch.addmm(torch.ones(1), y[:, None], y[None])
torch.dot(y, y), torch.vdot(y, y), torch.inner(y, y)
torch.tensordot(y[:, None], y[:, None], dims=([0], [0]))
torch.bincount(y.long())
torch.clone(y), y.contiguous(), y.detach()
y.new_empty(y.shape).fill_(1), torch.empty_like(y).zero_()
y.fill_(2.), y.add_(1), y.mul_(y)
y.index_add(0, torch.tensor([0]), torch.ones(1)), y.index_copy(0, torch.tensor([0]), torch.ones(1))
y.put(torch.tensor([0]), torch.ones(1))
y.scatter_reduce(0, torch.zeros_like(y).long(), y, 'sum')
F.scaled_dot_product_attention(y[None, :, None], y[None, :, None], y[None, :, None])
F.instance_norm(torch.stack([y, y + 1], 1)[None])
F.embedding_bag(y.long(), torch.ones(9, 2), torch.tensor([0]))
F.pdist(torch.stack([y, y * 2], 1))
F.interpolate(y[None, None, :, None].expand(-1, -1, -1, 4), scale_factor=2.0)
F.conv1d(torch.stack([y, y])[None], torch.ones(3, 2, 2))
F.conv1d(torch.stack([y, y])[None], torch.ones(3, 2, 2), padding=1)
F.max_pool1d(y[None], 2)
F.adaptive_avg_pool1d(y[None], 2)
F.group_norm(torch.stack([y, y, y, y], 1), 2)
y.topk(1), y.kthvalue(1), y.median(), y.mode()
torch.einsum("i, j->ij", y, y)
y.view(1, 1, -1).squeeze()
torch.addmm(torch.ones(1), y[:, None], y[None])
torch.stft(torch.cat([y, torch.ones(64)]), 16, return_complex=True, window=torch.ones(16))
F.grid_sample(torch.ones(1, 1, 2, 2), y[None, :, None, None].expand(-1, -1, 1, 2), align_corners=False)
y.quantile(0.5)
torch.quantile(torch.stack([y, y]), torch.tensor([0.2, 0.9]), dim=-1, keepdim=True)
torch.nanquantile(y, 0.1)
""".strip().splitlines()

# How many are above zero: 4, 6, 1, 0, 2, 3.
ROWS = [
    [3.0, 0, 1, -2, 5, 1],
    [1.0, 1, 1, 1, 1, 1],
    [-1.0, 2, -1, -1, -1, -3],
    [-1.0, -1, 0, -1, -1, -3],
    [-1.0, 2, -1, -1, -1, 3],
    [-1.0, 2, -1, 3, 2, -3],
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_graph_for_all_sizes(expression: str) -> None:
    operator = eval(f"lambda y: ({expression})", {"torch": torch, "F": F})

    def program(x):
        return operator(x[x > 0])

    magneto.reset()
    torch.manual_seed(0)
    report = check_calls(
        program,
        [((torch.tensor(row),), {}) for row in ROWS],
        fullgraph=True,
        recompiles=0,
        rtol=1e-5,
        atol=1e-6,
    )
    assert len(report.graphs) == 1
