# SPDX-License-Identifier: BSD-3-Clause
"""Floats that vary, for backends that take no symbolic ones: tensors of which
the graph takes `item()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import magneto
from magneto.testing import compare

P = torch.tensor([0.7, -1.3, 2.1])
Q = torch.tensor([1.1, 0.4, -0.9])


def added_in_place(p, q, s):
    p.add_(q, alpha=-s)
    return p + 1


def scaled(p, q, s):
    return p * (1 - s * 0.1)


def many(p, q, s):
    torch._foreach_add_([p, q], [q, p], alpha=-s)
    torch._foreach_mul_([p], 1 - s)
    return p + 1


def divided(p, q, s):
    return p.addcdiv(q, q + 1, value=-s), p.addcmul(q, q, value=s), p / s, s / p


def compared(p, q, s):
    return torch.where(p > s, p, q), p.clamp(-s, s), p.eq(s)


def powers(p, q, s):
    return p.abs() ** s, s**p


def filled(p, q, s):
    return torch.full((2,), s), p.fill_(s) + 1, torch.full_like(q, s * 2)


def activations(p, q, s):
    return F.leaky_relu(p, s), F.elu(p, s), F.softplus(p, s), F.hardshrink(p, s)


def numbers(p, q, s):
    return p * (s**2 + 3) / s, s * 2, -s, [s]


def decided(p, q, s):
    return p * s if s > 0.2 else q * s


# Tensors whose number is known, and what is computed of them and of the float.
def of_known_tensors(p, q, s):
    step = torch.tensor(0.0)
    step += 1
    size = s / (1 - 0.9**step)
    return p.addcdiv(q, q + 1, value=-size), size, step * 2


def written_to_known_tensors(p, q, s):
    known = torch.tensor(2.0)
    view = known.view(())
    whole = torch.tensor(3.0)
    view.add_(s)
    torch._foreach_mul_([whole], s)
    return p.add(q, alpha=known), q.add(p, alpha=whole), view


def of_data(p, q, s):
    size = torch.tensor(2.0) * (p.sum() * s).item()
    return p.add(q, alpha=size), size


PROGRAMS = [
    added_in_place,
    scaled,
    many,
    divided,
    compared,
    powers,
    filled,
    activations,
    numbers,
    decided,
    of_known_tensors,
    written_to_known_tensors,
    of_data,
]


def as_given(gm, inputs):
    return gm.forward


@pytest.mark.parametrize("backend", [as_given, "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_one_graph_for_all_floats(program: Callable[..., Any], backend) -> None:
    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    for number, s in enumerate((0.3, 0.5, 0.25, 1.5, 0.9)):
        results = [
            call(P.clone(), Q.clone(), s) for call in (program, compiled)
        ]
        compare(*results)
        if number == 1:
            before = magneto.stats()["graphs"]
    assert magneto.stats()["graphs"] == before


@pytest.mark.parametrize(
    "program",
    [added_in_place, scaled, divided, compared, numbers],
    ids=lambda each: each.__name__,
)
def test_inductor_compiles_once(program: Callable[..., Any]) -> None:
    compiled = magneto.compile(program, backend="inductor", dynamic=True)
    before = magneto.stats()["graphs"]
    for s in (0.3, 0.5, 0.25):
        torch.testing.assert_close(
            compiled(P.clone(), Q.clone(), s), program(P.clone(), Q.clone(), s)
        )
    assert magneto.stats()["graphs"] == before + 1


def test_the_graph_that_a_backend_gets() -> None:
    graphs = []

    def backend(gm, inputs):
        graphs.append((gm, inputs))
        return gm.forward

    compiled = magneto.compile(scaled, backend=backend, dynamic=True)
    compare(compiled(P, Q, 0.5), scaled(P, Q, 0.5))
    ((gm, inputs),) = graphs
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    assert [n.name for n in placeholders] == ["l_p_", "l_s_", "s1"]
    assert inputs[1].dtype == torch.float64
    assert inputs[1].shape == ()
    assert inputs[1].item() == 0.5
    assert isinstance(
        placeholders[1].meta["example_value"],
        torch._subclasses.fake_tensor.FakeTensor,
    )
    (item,) = placeholders[1].users
    assert (item.op, item.target) == ("call_method", "item")
    gm.graph.lint()


def test_a_backend_that_fails_for_them_compiles_for_each() -> None:
    seen = []

    def backend(gm, inputs):
        seen.append([type(each) for each in inputs])
        if any(n.target == "item" for n in gm.graph.nodes):
            raise NotImplementedError("a number out of a tensor")
        return gm.forward

    compiled = magneto.compile(scaled, backend=backend, dynamic=True)
    for s in (0.5, 0.25, 0.5, 0.25):
        compare(compiled(P, Q, s), scaled(P, Q, s))
    tensor = torch.Tensor
    size = torch.SymInt
    assert seen == [[tensor, tensor, size], [tensor, float, size]] * 2


def test_a_backend_that_always_fails_says_so() -> None:
    def backend(gm, inputs):
        raise NotImplementedError("nothing")

    compiled = magneto.compile(scaled, backend=backend, dynamic=True)
    with pytest.raises(magneto.exc.BackendCompilerFailed, match="nothing"):
        compiled(P, Q, 0.5)


def test_a_default_device_changes_nothing() -> None:
    compiled = magneto.compile(scaled, backend="aot_eager", dynamic=True)
    with torch.device("meta"):
        compare(compiled(P, Q, 0.5), scaled(P, Q, 0.5))
        compare(compiled(P, Q, 0.25), scaled(P, Q, 0.25))


def key(p, q, s):
    return p * s, {s * 2.5: 1}


def characters(p, q, s):
    return p * s, "5" in f"{s * 2.5:.4g}"


def chosen(p, q, s):
    return p * s, [p, q][int(s * 2.5) > 0]


@pytest.mark.parametrize(
    "program", [key, characters, chosen], ids=lambda each: each.__name__
)
def test_what_is_computed_of_them_may_have_to_be_known(
    program: Callable[..., Any],
) -> None:
    compiled = magneto.compile(program, backend=as_given)
    for s in (0.3, 0.5, 0.25, 0.0, -0.0, 1e300):
        compare(program(P, Q, s), compiled(P, Q, s))
