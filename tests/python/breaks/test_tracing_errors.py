# SPDX-License-Identifier: BSD-3-Clause
"""Errors that only tracing meets: a graph break with a reason, and an error
with fullgraph=True.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import magneto
from magneto.testing import compare


def resized_to_tensors(x, mask):
    """As ViLT resizes its position embeddings to each image's own size."""
    heights = mask.sum(dim=1)[:, 0]
    widths = mask.sum(dim=2)[:, 0]
    return torch.cat(
        [
            F.pad(
                F.interpolate(
                    x, size=(h, w), mode="bilinear", align_corners=True
                ),
                (0, 4 - w, 0, 4 - h),
            )
            for h, w in zip(heights, widths)
        ]
    )


def mask():
    made = torch.ones(2, 4, 4, dtype=torch.long)
    made[0, 3:] = 0
    return made


X = torch.arange(16.0).reshape(1, 1, 4, 4)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_in_tensors(backend):
    compiled = magneto.compile(resized_to_tensors, backend=backend)
    for _ in range(2):
        compare(compiled(X, mask()), resized_to_tensors(X, mask()), rtol=1e-6)


@torch.library.custom_op("only_while_tracing::half", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@half.register_fake
def _(x):
    raise RuntimeError("this kernel says no")


def refused_by_a_fake(x):
    y = x + 1
    return half(y) * 2


def within_a_callee(x):
    return refused_by_a_fake(x) + 1


@pytest.mark.parametrize("program", [refused_by_a_fake, within_a_callee])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_call_that_only_fakes_refuse_breaks_the_graph(program, backend):
    x = torch.ones(3)
    compiled = magneto.compile(program, backend=backend)
    for _ in range(2):
        compare(compiled(x), program(x))
    if backend == "eager":
        found = magneto.explain(program)(x)
        assert [b.reason for b in found.breaks] == ["refused-call"]
        assert "this kernel says no" in str(found.breaks[0])
        assert __file__ in str(found.breaks[0])
        assert not found.skips


@pytest.mark.parametrize("program", [refused_by_a_fake, within_a_callee])
def test_with_fullgraph_that_is_an_error(program):
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        with pytest.raises(
            magneto.exc.Unsupported, match="this kernel says no"
        ) as raised:
            compiled(torch.ones(3))
        assert raised.value.reason == "refused-call"


TRIED = []


@torch.compiler.allow_in_graph
def raises_once(x):
    TRIED.append(1)
    if len(TRIED) == 1:
        raise ValueError("this is the first time")
    return x + 1


def test_what_only_the_trace_raises_is_an_error_with_fullgraph():
    compiled = magneto.compile(
        lambda x: raises_once(x) * 2, backend="eager", fullgraph=True
    )
    TRIED.clear()
    for _ in range(2):
        with pytest.raises(
            magneto.exc.Unsupported, match="this is the first time"
        ) as raised:
            compiled(torch.ones(3))
        assert raised.value.reason == "refused-call"
        assert raised.value.filename == __file__


def wrong_shapes(x):
    y = x + 1
    return y @ torch.ones(7, 7)


def raises(x):
    raise LookupError("no " + str(x.shape))


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("program", [wrong_shapes, raises])
def test_the_programs_own_errors_stay_its_own(program, fullgraph):
    x = torch.ones(3)
    with pytest.raises(
        (RuntimeError, LookupError), match="shape|size|vec|no "
    ) as plain:
        program(x)
    compiled = magneto.compile(program, backend="eager", fullgraph=fullgraph)
    for _ in range(2):
        with pytest.raises(type(plain.value)) as raised:
            compiled(x)
        assert str(raised.value) == str(plain.value)
        frames = [entry.name for entry in raised.traceback]
        assert frames[1:] == [entry.name for entry in plain.traceback][1:]


def handled(x, log):
    try:
        return half(x)
    finally:
        log.append(1)


def test_effects_of_a_refused_call_come_once():
    log = []
    compiled = magneto.compile(handled, backend="eager")
    compare(compiled(torch.ones(3), log), torch.ones(3) / 2)
    assert log == [1]
