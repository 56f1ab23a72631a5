# SPDX-License-Identifier: BSD-3-Clause
"""Functions of torch.jit.script: what TorchScript makes of their arguments, and
where they come from.
"""

import functools
import importlib.util
import warnings
from typing import Dict, List, Optional, Tuple  # noqa: UP035

import pytest
import torch

import magneto
from magneto.testing import check
from support.under_backends import check_under

with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def times(x: torch.Tensor, n: int):
        return x * n

    @torch.jit.script
    def scaled(x: torch.Tensor, k: float = 2, n: Optional[float] = None):  # noqa: UP045
        if n is not None:
            x = x + n
        return x * k

    @torch.jit.script
    def grown(x: torch.Tensor, sizes: List[int]):  # noqa: UP006
        sizes.append(1)
        return x.view(sizes), sizes

    @torch.jit.script
    def weighted(x: torch.Tensor, w: List[float]):  # noqa: UP006
        return x * w[0], x * w[1]

    @torch.jit.script
    def paired(x: torch.Tensor, p: Tuple[int, float]):  # noqa: UP006
        return x * p[0], x * p[1]

    @torch.jit.script
    def looked_up(x: torch.Tensor, d: Dict[str, int]):  # noqa: UP006
        return x * d["a"]

    @torch.jit.script
    def chosen(x: torch.Tensor, is_on: bool, mode: str = "sum"):
        if is_on:
            x = x + 1
        return x.sum() if mode == "sum" else x.mean()

    @torch.jit.script
    def converted(x: torch.Tensor, dtype: torch.dtype):
        return x.to(dtype)

    @torch.jit.script
    def untyped(x, y):
        return x * y + 1

    @torch.jit.script
    def halved(x: torch.Tensor, n: int) -> int:
        return x.size(0) // n

    @torch.jit.script
    def outer(x: torch.Tensor, n: int):
        return times(x, n) + n

    traced = torch.jit.trace(lambda x: x * 2, torch.ones(4))

X = torch.arange(4)

WHOLE = {
    "an int": lambda x: times(x, 3),
    "by name": lambda x: times(n=3, x=x),
    "an int for a float": lambda x: scaled(x, 3),
    "a bool for a float": lambda x: scaled(x, True),
    "a default of another type": lambda x: scaled(x),
    "one behind a default": lambda x: scaled(x, n=3),
    "an optional float": lambda x: scaled(x, 2.5, 1),
    "None": lambda x: scaled(x, 2.5, None),
    "a bool for an int": lambda x: times(x > 1, True),
    "a size": lambda x: times(x, x.size(0)),
    "a list of ints": lambda x: grown(x, [2, 2]),
    "a list is copied": lambda x: (lambda s: (grown(x, s), s))([2, 2]),
    "a torch.Size": lambda x: grown(x, x.size()),
    "a tuple for a list": lambda x: grown(x, (2, 2)),
    "a list of floats": lambda x: weighted(x, [2, 0.5]),
    "a tuple": lambda x: paired(x, (2, 3)),
    "flags and texts": lambda x: chosen(x.float(), True, mode="mean"),
    "a dtype": lambda x: converted(x, torch.float64),
    "two tensors": lambda x: untyped(x, x + 1),
    "a number comes back": lambda x: x + halved(x, 2),
    "one in another": lambda x: outer(x, 3),
    "partial": lambda x: functools.partial(times, n=3)(x),
    "mapped": lambda x: [*map(traced, [x, x + 1])],
    "__call__": lambda x: (
        times.__call__(x, 3),
        type(times).__call__(x=x, n=3, *[times]),
    ),  # noqa: B026
    "what it is": lambda x: (
        x + 1,
        isinstance(times, torch.jit.ScriptFunction),
    ),
    "of a dict": lambda x: {"a": times}["a"](x, 2),
    "with a star": lambda x: times(*(x, 3)),
}


def error(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except RuntimeError as caught:
        return str(caught).split("\n")[0]


REFUSED = {
    "a float for an int": lambda x: error(times, x, 2.5),
    "a number for a tensor": lambda x: error(untyped, x, 3),
    "a text for a float": lambda x: error(scaled, x, "a"),
    "too many": lambda x: error(times, x, 3, 4),
    "too few": lambda x: error(times, x),
    "an unknown name": lambda x: error(times, x, m=3),
    "a tensor for an int": lambda x: times(x, x.sum()),
    "a dict": lambda x: looked_up(x, {"a": 3}),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_graphs(name):
    check(WHOLE[name], X, graphs=1, graph_breaks=0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_script_refuses_or_converts_at_the_call(name):
    look = REFUSED[name]
    check(lambda x: (look(x), x + 1), X)


@pytest.mark.parametrize("name", WHOLE)
def test_under_aot_eager(name):
    check_under("aot_eager", WHOLE[name], X)


@pytest.mark.parametrize("name", ["an int for a float", "a list of floats"])
def test_under_inductor(name):
    check_under("inductor", WHOLE[name], X)


def test_numbers_that_vary():
    def program(x, n):
        return scaled(x, n), times(x, n)

    compiled = magneto.compile(program, backend="eager")
    recompiles = magneto.stats()["recompiles"]
    for n in range(2, 7):
        for one, other in zip(compiled(X, n), program(X, n), strict=True):
            assert one.dtype == other.dtype
            assert torch.equal(one, other)
    assert magneto.stats()["recompiles"] - recompiles == 1


SOURCE = """
import torch

@torch.jit.script
def fused(x: torch.Tensor, n: int, k: float = 1):
    return x * n + k


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fused = fused

    def forward(self, x):
        return self.fused(x, 2) + fused(x, x.shape[0], 3)
"""


def test_of_a_module_that_was_loaded_by_path(tmp_path):
    path = tmp_path / "loaded_by_path.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("nowhere_else", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check(lambda x: module.fused(x, 3), X, graphs=1, graph_breaks=0)
    model = module.Model()
    magneto.reset()
    explanation = magneto.explain(model)(X)
    assert len(explanation.graphs) == 1
    assert not explanation.breaks
    assert torch.equal(explanation.result, model(X))
