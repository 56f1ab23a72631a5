# SPDX-License-Identifier: BSD-3-Clause
"""A mixture of experts with a balance of loads, and a moving average."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class Expert(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.up = nn.Linear(size, hidden)
        self.down = nn.Linear(hidden, size)
        self.down.weight = nn.Parameter(self.up.weight.detach().t().clone())

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class Mixture(nn.Module):
    def __init__(self, size=4, experts=3, top=2):
        super().__init__()
        self.gate = nn.Linear(size, experts, bias=False)
        self.experts = nn.ModuleList(
            Expert(size, 2 * size) for _ in range(experts)
        )
        self.top = top
        self.register_buffer("loads", torch.zeros(experts))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.top)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row, place = (chosen == number).nonzero(as_tuple=True)
            if len(row) == 0:
                continue
            out.index_add_(0, row, expert(x[row]) * weights[row, place, None])
            self.loads[number] += len(row)
        return out / weights.sum(-1, keepdim=True)


def program(x, steps):
    torch.manual_seed(1)
    net = Mixture()
    average = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        loss = (
            net(x) - x.roll(step, 0)
        ).square().mean() + 0.01 * net.gate.weight.norm()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(
                average.parameters(), net.parameters(), strict=True
            ):
                kept.lerp_(new, 0.25)
        losses.append(loss.detach())
    return (
        torch.stack(losses),
        average(x),
        net.loads,
        {k: v.shape for k, v in average.state_dict().items()},
    )


CALLS = [(torch.linspace(-1, 1, 20).reshape(5, 4), 2), (torch.ones(2, 4), 1)]
TOLERANCE = 1e-4
