# SPDX-License-Identifier: BSD-3-Clause
"""Attributes of torch.Tensor that somebody overwrites count from then on, and
no longer than the patch is there.
"""

import pytest
import torch

import magneto

X = torch.arange(4.0).view(2, 2)


@pytest.mark.parametrize(
    ("name", "patch", "program"),
    [
        ("shape", property(lambda x: (7,)), lambda x: (x + 1, x.shape)),
        ("size", lambda x: 11, lambda x: (x + 1, x.size())),
        ("dtype", property(lambda x: "d"), lambda x: (x + 1, x.dtype)),
        ("dim", lambda x: 5, lambda x: (x * x.dim(), 0)),
        ("T", property(lambda x: x * 3), lambda x: (x.T, 0)),
        ("relu", lambda x: x * 3, lambda x: (x.relu() + 1, 0)),
        ("__len__", lambda x: 9, lambda x: (x + 1, len(x))),
        ("__getitem__", lambda x, i: x + i, lambda x: (x[1] + 1, 0)),
        ("__add__", lambda x, y: x * 3, lambda x: (x + 1, 0)),
    ],
)
def test_patched(monkeypatch, name, patch, program):
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        for value in (None, patch):
            with monkeypatch.context() as patching:
                if value is not None:
                    patching.setattr(torch.Tensor, name, value, raising=False)
                expected, got = program(X), compiled(X)
            assert torch.equal(got[0], expected[0])
            assert got[1] == expected[1]
