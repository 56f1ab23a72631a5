# SPDX-License-Identifier: BSD-3-Clause
"""Higher-order operators of PyTorch (torch.cond and its kin): called eagerly
they compile themselves with PyTorch's own compiler; in a compiled function they
run in plain Python.
"""

import functools

import pytest
import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as map_over
from torch.nn.attention.flex_attention import (
    create_block_mask,
    flex_attention,
)

import magneto
from magneto.testing import compare
from support.compiled_calls import compiled

X = torch.arange(1.0, 4.0)
Y = torch.ones(3)
Q = torch.ones(1, 1, 16, 16) * torch.arange(16.0)


@pytest.fixture
def installed():
    magneto.install()
    yield
    magneto.uninstall()


def cond(x):
    return torch.cond(x.sum() > 100, lambda x: x + 1, lambda x: x - 1, [x])


def cond_of_trees(x):
    return torch.cond(
        x.sum() > 100,
        lambda a, b: a[0] + b["k"],
        lambda a, b: a[1] - b["k"],
        ((x, x + 1), {"k": x * 2}),
    )


def cond_of_nested_trees(x):
    return torch.cond(
        x.sum() > 100, lambda t: t[0][0] + 1, lambda t: t[0][0] - 1, ((([x],),))
    )


def cond_of_closures(x):
    y = x * 3
    return torch.cond(x.sum() > 0, lambda: y + x, lambda: y - x, ())


def cond_within_cond(x):
    return torch.cond(
        x.sum() > 0,
        lambda x: torch.cond(x[0] > 5, torch.sin, torch.cos, [x]),
        lambda x: x - 1,
        [x],
    )


def cond_of_a_number(x):
    return torch.cond(x.dim() == 1, lambda x: x + 1, lambda x: x - 1, [x])


def mapped(x):
    return map_over(lambda a, b: a + b, x, x * 2)


def mapped_trees(x):
    return map_over(
        lambda a: (a["k"] + 1, a["l"] * a["k"]), {"k": x, "l": x * 2}
    )


def looped(x):
    return while_loop(lambda a: a.sum() < 10, lambda a: (a + 1,), (x,))


def scanned(x):
    return scan(lambda c, a: (c + a, c * a), torch.zeros(()), x, dim=0)


def scanned_associatively(x):
    return associative_scan(torch.add, x, 0, combine_mode="generic")


def attended(x):
    return flex_attention(Q + x[0], Q, Q)


def attended_with_a_score(x):
    return flex_attention(Q, Q, Q, lambda score, b, h, q, k: score + (q - k))


def attended_with_a_mask(x):
    mask = create_block_mask(
        lambda b, h, q, k: q >= k, 1, 1, 16, 16, device="cpu"
    )
    return flex_attention(Q + x[0], Q, Q, block_mask=mask)


OPERATORS = [
    cond,
    cond_of_trees,
    cond_of_nested_trees,
    cond_of_closures,
    cond_within_cond,
    cond_of_a_number,
    mapped,
    mapped_trees,
    looped,
    scanned,
    scanned_associatively,
    attended,
    attended_with_a_score,
    attended_with_a_mask,
]


@functools.cache
def expected_of(program):
    assert not magneto.heard_settings.is_installed
    return program(X)


@pytest.mark.filterwarnings("ignore:flex_attention called")
@pytest.mark.parametrize("program", OPERATORS)
def test_eager_calls_are_as_without_magneto(program, request):
    expected = expected_of(program)
    request.getfixturevalue("installed")
    compare(expected, program(X))


@pytest.mark.filterwarnings("ignore:flex_attention called")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize("program", OPERATORS)
def test_in_a_compiled_function_they_run_as_eager_calls(
    program, is_installed, backend, request
):
    expected = expected_of(program)
    if is_installed:
        request.getfixturevalue("installed")

    def around(x):
        return program(x * 1), x.sin()

    call = magneto.compile(around, backend=backend)
    for _ in range(2):
        compare((expected, X.sin()), call(X))


@pytest.mark.parametrize("program", [cond, scanned])
def test_they_run_between_graphs_of_inductors(program, installed):
    call = torch.compile(lambda x: program(x * 1))
    compare(program(X), call(X))


def test_gradients_go_through_them(installed):
    grads = []
    for call in (cond_of_trees, compiled(cond_of_trees)):
        x = X.clone().requires_grad_()
        call(x).sum().backward()
        grads.append(x.grad)
    compare(*grads)


@pytest.mark.filterwarnings("ignore:flex_attention called")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("is_installed", [False, True])
def test_they_are_compiled_as_they_are(is_installed, backend, request):
    pairs = ((X, X + 1), {"k": X * 2})
    functions = (lambda a, b: a[0] + b["k"]), (lambda a, b: a[1] - b["k"])
    expected = torch.cond(X.sum() > 0, *functions, pairs)
    attention = flex_attention(Q, Q, Q + 1)
    if is_installed:
        request.getfixturevalue("installed")
    call = magneto.compile(torch.cond, backend=backend)
    compare(expected, call(X.sum() > 0, *functions, pairs))
    call = magneto.compile(flex_attention, backend=backend)
    compare(attention, call(Q, Q, Q + 1))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_region_that_is_compiled_once_is_part_of_the_graph(backend):
    @torch.compiler.nested_compile_region
    def layer(x, w):
        return torch.relu(x * w), torch.compiler.is_compiling()

    def model(x, w):
        for _ in range(3):
            x, is_compiled = layer(x, w)
        return x.sum(), is_compiled

    call = magneto.compile(model, backend=backend, fullgraph=True)
    expected, _ = model(X, Y * 2)
    compare((expected, True), call(X, Y * 2))
    alone = magneto.compile(layer, backend=backend, fullgraph=True)
    compare((layer(X, Y)[0], True), alone(X, Y))


def test_what_the_program_compiles_is_magnetos(installed):
    layer = torch.nn.Linear(3, 3)
    layer.compile(backend="eager")
    before = magneto.stats()["graphs"]
    layer(X)
    assert magneto.stats()["graphs"] == before + 1
    assert type(torch.compile(cond)).__module__ == "magneto._C"
    assert type(torch.compiler.compile(cond)).__module__ == "magneto._C"
