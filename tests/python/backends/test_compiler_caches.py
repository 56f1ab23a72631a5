# SPDX-License-Identifier: BSD-3-Clause
"""The caches on disk of PyTorch's compilers: a second process finds there what
a first one has compiled.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys

import torch

import magneto
from torch._dynamo.utils import counters


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2)
        self.register_buffer("mean", torch.ones(8))

    def forward(self, x, scale):
        h = torch.relu(self.first(x)) - self.mean
        return self.second(h) * x.shape[0] * scale


torch.manual_seed(0)
net = Net()
compiled = magneto.compile(net, backend=sys.argv[1])
train = sys.argv[2] == "train"
with torch.set_grad_enabled(train):
    for size, scale in ((3, 2), (5, 2), (6, 3), (7, 4)):
        x = torch.arange(4.0 * size).reshape(size, 4)
        expected, result = net(x, scale), compiled(x, scale)
        torch.testing.assert_close(result, expected)
        if train:
            result.sum().backward()
found = counters["aot_autograd"]
print({name: found[name] for name in (
    "total", "autograd_cache_hit", "autograd_cache_miss",
    "autograd_cache_bypass")})
"""


def counts(folder, *arguments, program=PROGRAM):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ
        | {
            "TORCHINDUCTOR_CACHE_DIR": str(folder),
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_second_process_finds_what_the_first_has_compiled(tmp_path, mode):
    first = counts(tmp_path, "inductor", mode)
    assert first["autograd_cache_bypass"] == 0
    assert first["autograd_cache_miss"] == first["total"] > 1
    second = counts(tmp_path, "inductor", mode)
    assert second["autograd_cache_hit"] == second["total"] == first["total"]


WRITES = """
import sys

import torch

import magneto
from torch._dynamo.utils import counters


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.norm(x) * 2


def into_first(a, b):
    a.copy_(a + b)
    return a * b


def into_view(a, b):
    a[:, 0] = b[:, 1]
    return a.sum() + b


def into_both(a, b):
    b.copy_(b * a)
    a.copy_(b + 1)


def tensors(size, kind):
    base = torch.arange(8.0 * size).reshape(size, 8)
    if kind == "apart":
        return base[:, :4].clone(), base[:, 4:].clone()
    if kind == "together":
        return base[:, :4], base[:, 2:6]
    return base, base


torch.manual_seed(0)
ours, theirs = Norm(), Norm()
theirs.load_state_dict(ours.state_dict())
compiled = magneto.compile(ours, backend="inductor")
for size in (3, 5, 6):
    x = torch.arange(4.0 * size).reshape(size, 4)
    torch.testing.assert_close(compiled(x), theirs(x))
    compiled(x).sum().backward()
    theirs(x).sum().backward()
    for mine, other in zip(
        [*ours.buffers(), *(p.grad for p in ours.parameters())],
        [*theirs.buffers(), *(p.grad for p in theirs.parameters())],
    ):
        torch.testing.assert_close(mine, other)
for f in (into_first, into_view, into_both):
    compiled = magneto.compile(f, backend="inductor", dynamic=False)
    for kind in ("apart", "together", "same", "apart"):
        mine, other = tensors(3, kind), tensors(3, kind)
        torch.testing.assert_close(compiled(*mine), f(*other))
        torch.testing.assert_close(mine, other)
found = counters["aot_autograd"]
print({name: found[name] for name in (
    "total", "autograd_cache_hit", "autograd_cache_miss",
    "autograd_cache_bypass")})
"""


def test_graphs_that_write_to_inputs_are_found_too(tmp_path):
    first = counts(tmp_path, program=WRITES)
    second = counts(tmp_path, program=WRITES)
    assert first["autograd_cache_miss"] == first["total"] > 4
    assert second["autograd_cache_hit"] == second["total"] == first["total"]
