# SPDX-License-Identifier: BSD-3-Clause
"""Operators that PyTorch's mode of fake tensors answers for keep sizes that
vary: the program's own, and those of PyTorch that have no shape rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import magneto
from magneto import _C
from magneto.testing import compare
from support.fake_tensor_checks import fake_mode


@torch.library.custom_op("sizes_that_vary::scale", mutates_args=())
def scale(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k


@scale.register_fake
def _(x, k):
    return torch.empty_like(x)


@torch.library.custom_op("sizes_that_vary::add_to", mutates_args=("x",))
def add_to(x: torch.Tensor, k: int) -> None:
    x.add_(k)


@torch.library.custom_op("sizes_that_vary::parts", mutates_args=())
def parts(x: torch.Tensor, n: int) -> list[torch.Tensor]:
    return [x[:n].clone(), x[n:].clone()]


@parts.register_fake
def _(x, n):
    return [
        x.new_empty(n, *x.shape[1:]),
        x.new_empty(x.shape[0] - n, *x.shape[1:]),
    ]


@torch.library.custom_op("sizes_that_vary::flat", mutates_args=())
def flat(xs: list[torch.Tensor], size: list[int]) -> torch.Tensor:
    return torch.cat([x.reshape(-1) for x in xs]).reshape(size).clone()


@flat.register_fake
def _(xs, size):
    total = sum(x.numel() for x in xs)
    torch._check(total > 0)
    return xs[0].new_empty(size)


LIBRARY = torch.library.Library("sizes_that_vary_too", "DEF")
LIBRARY.define("joined(Tensor x) -> Tensor")
LIBRARY.impl("joined", lambda x: torch.cat([x, x]), "CompositeExplicitAutograd")
LIBRARY.define("padded(Tensor x, SymInt n) -> (Tensor, Tensor)")
LIBRARY.impl(
    "padded",
    lambda x, n: (torch.cat([x, x.new_zeros(n, *x.shape[1:])]), x + n),
    "CompositeExplicitAutograd",
)


@torch.library.register_fake("sizes_that_vary_too::joined")
def _(x):
    assert x.shape[0] >= 0
    return x.new_empty((x.shape[0] * 2, *x.shape[1:]))


@torch.library.register_fake("sizes_that_vary_too::padded")
def _(x, n):
    return x.new_empty((x.shape[0] + n, *x.shape[1:])), torch.empty_like(x)


def written(x):
    y = x + 1
    add_to(y, x.shape[0])
    return y * 2


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "scale": lambda x: scale(x, 2.0) + 1,
    "scale of a view": lambda x: scale(x[1:].t(), 0.5) + 1,
    "written": written,
    "parts": lambda x: [part + 1 for part in parts(x, x.shape[0] // 2)],
    "list": lambda x: flat([x, x + 1], [x.shape[0] * 2, 3]) + 1,
    "joined": lambda x: torch.ops.sizes_that_vary_too.joined(x) + 1,
    "joined twice": lambda x: (
        torch.ops.sizes_that_vary_too.joined(
            torch.ops.sizes_that_vary_too.joined(x)
        )
        + x.shape[0]
    ),
    "padded": lambda x: torch.ops.sizes_that_vary_too.padded(x, x.shape[0]),
    "fake_quantize_per_tensor_affine": lambda x: (
        torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255) + 1
    ),
    "fake quantization by tensors": lambda x: (
        torch.fake_quantize_per_tensor_affine(
            x, torch.tensor(0.1), torch.tensor(0, dtype=torch.int32), 0, 255
        )
        + 1
    ),
    "fake_quantize_per_channel_affine": lambda x: (
        torch.fake_quantize_per_channel_affine(
            x,
            torch.full((3,), 0.1),
            torch.zeros(3, dtype=torch.int32),
            1,
            0,
            255,
        )
        + 1
    ),
    "segment_reduce": lambda x: (
        torch.segment_reduce(x, "sum", lengths=torch.tensor([x.shape[0]])) + 1
    ),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_compilation_for_all_sizes(name, backend):
    program = PROGRAMS[name]
    graphs = []

    def counted(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = magneto.compile(
        program, backend=counted if backend == "eager" else backend
    )
    before = magneto.stats()["graphs"]
    for length in (8, 5, 6, 7):
        x = torch.rand(length, 3)
        compare(compiled(x), program(x))
    assert magneto.stats()["graphs"] - before == 2


def test_under_inductor():
    for name in ("scale", "joined"):
        compiled = magneto.compile(PROGRAMS[name])
        for length in (8, 5, 6):
            x = torch.rand(length, 3)
            torch.testing.assert_close(compiled(x), PROGRAMS[name](x))


# The kernel can only be computed for sizes that are known: each gets a piece.
@torch.library.custom_op("sizes_that_vary::even", mutates_args=())
def even(x: torch.Tensor) -> torch.Tensor:
    return x[::2].clone() if x.shape[0] % 2 == 0 else x.clone()


@even.register_fake
def _(x):
    return torch.empty_like(x[::2] if x.shape[0] % 2 == 0 else x)


def test_what_the_fake_asks_of_sizes_is_guarded():
    compiled = magneto.compile(lambda x: even(x) + 1, backend="eager")
    before = magneto.stats()["graphs"]
    for length in (8, 5, 6, 7, 10, 9):
        x = torch.rand(length, 3)
        torch.testing.assert_close(compiled(x), even(x) + 1)
    assert magneto.stats()["graphs"] - before == 3


SHAPES = [(4, 3), (1, 3), (2, 3, 2)]
QUANTIZED = {
    "per tensor": lambda x: (
        torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(
            x, 0.1, 0, 0, 255
        )
    ),
    "per channel": lambda x: (
        torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
            x,
            torch.full((x.shape[1],), 0.1),
            torch.zeros(x.shape[1], dtype=torch.int32),
            1,
            0,
            255,
        )
    ),
    "by tensors": lambda x: (
        torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            x,
            torch.tensor(0.1),
            torch.tensor(0, dtype=torch.int32),
            torch.tensor(1, dtype=torch.int64),
            0,
            255,
        )
    ),
}


def facts(result: Any) -> Iterator[Any]:
    for t in result:
        yield tuple(t.shape), tuple(t.stride()), t.dtype, t.device


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", QUANTIZED)
def test_rules_of_fake_quantization(name, shape, dtype):
    run = QUANTIZED[name]
    for x in (
        torch.rand(shape, dtype=dtype),
        torch.rand(shape, dtype=dtype).transpose(0, 1),
    ):
        _C._tensor.reset_fallback_counts()
        try:
            expected = list(facts(run(x)))
        except RuntimeError:
            continue
        with fake_mode():
            got = list(facts(run(_C._tensor.make_fake(x))))
        assert got == expected
        assert not _C._tensor.fallback_counts()
