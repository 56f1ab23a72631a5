# SPDX-License-Identifier: BSD-3-Clause
"""Dataclasses that the compiled function makes and gives to functions marked
with torch.compiler.allow_in_graph.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch

import magneto
from magneto.testing import compare
from support.compiled_calls import graphs_of

X = torch.arange(1.0, 7.0).reshape(2, 3)


class Plain:
    pass


@dataclasses.dataclass(frozen=True)
class Scale:
    a: torch.Tensor
    b: int = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    a: torch.Tensor
    b: int = 2


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Scale
    items: list
    by_name: dict = dataclasses.field(kw_only=True)


@dataclasses.dataclass(frozen=True)
class Computed:
    a: torch.Tensor
    b: int = 2

    def __post_init__(self):
        object.__setattr__(self, "c", self.b * 2)


@dataclasses.dataclass
class Changing:
    a: torch.Tensor
    b: int = 2


class Derived(Scale):
    pass


@torch.compiler.allow_in_graph
def scaled(scale, x):
    return scale.a * scale.b + x


@torch.compiler.allow_in_graph
def of_nested(outer):
    return outer.inner.a * outer.items[0] + outer.by_name["x"]


@torch.compiler.allow_in_graph
def writes(scale):
    scale.a.add_(1)
    return scale.a * 1


@torch.compiler.allow_in_graph
def same(scale):
    return scale


@torch.compiler.allow_in_graph
def another(scale):
    return Scale(scale.a * 2, scale.b)


@torch.compiler.allow_in_graph
def holder(x):
    made = Plain()
    made.value = [x * 2]
    return made


CALLERS = Scale(torch.ones(2, 3), 5)


WHOLE = {
    "made": lambda x: scaled(Scale(x, 3), x),
    "default": lambda x: scaled(Scale(x * 2), x),
    "keyword": lambda x: scaled(x=x, scale=Scale(a=x)),
    "slots": lambda x: scaled(Slots(x), x),
    "size": lambda x: scaled(Scale(x, x.shape[0]), x),
    "nested": lambda x: of_nested(
        Outer(Scale(x, 1), [x + 1, 2], by_name={"x": x})
    ),
    "of the caller": lambda x: scaled(CALLERS, x),
    "given back": lambda x: same(Scale(x, 3)).a + 1,
    "written to": lambda x: (writes(Scale(x.clone(), 3)), x),
}


BROKEN = {
    "another given": lambda x: another(Scale(x, 3)).a + 1,
    "object given": lambda x: holder(x).value[0] + 1,
    "with a method behind": lambda x: scaled(Computed(x), x),
    "that changes": lambda x: scaled(Changing(x), x),
    "derived": lambda x: scaled(Derived(x), x),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", WHOLE.values(), ids=WHOLE)
def test_frozen_dataclass_for_a_marked_function(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


@pytest.mark.parametrize("program", BROKEN.values(), ids=BROKEN)
def test_other_objects_end_the_graph(program):
    graphs_of(program, (X,), (X + 1,))


def test_gradients_through_a_dataclass():
    def program(x):
        return scaled(Scale(x * 2, 3), x).sum()

    for backend in ("eager", "aot_eager"):
        results = []
        for function in (program, magneto.compile(program, backend=backend)):
            x = X.clone().requires_grad_()
            function(x).backward()
            results.append(x.grad)
        compare(*results)
