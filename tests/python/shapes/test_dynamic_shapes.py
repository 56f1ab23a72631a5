# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that vary: symbols instead of new compilations."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._guards import detect_fake_mode
from torch.fx.experimental.sym_node import SymNode

import magneto
from magneto.testing import check_calls
from support.varying_calls import calls_of, x

# -- programs over one tensor of sizes [varying, 4] ---------------------------


def pointwise(t):
    return (t * 2 + 1).relu()


def returns_sizes(t):
    return t + 1, t.shape, t.size(0), t.numel(), len(t), t.stride()


def size_arithmetic(t):
    n = t.shape[0]
    return t * n, n + 1, n - 1, 2 * n, n // 2, n % 3, -n, n**2, n / 2, 7 - n


def flatten(t):
    return t.view(-1), t.reshape(t.shape[0] * 4), t.flatten() + t.numel()


def view_by_size(t):
    b, d = t.shape
    return t.view(b, 2, d // 2).transpose(1, 2).reshape(b, d)


def reductions(t):
    return (
        t.sum(0),
        t.mean(),
        t.max(dim=0).values,
        t.softmax(0),
        t.sum() / len(t),
    )


def products(t):
    w = torch.ones(4, 3)
    return t @ w, t @ t.T, torch.nn.functional.linear(t, w.T)


def factories(t):
    n = t.size(0)
    return (
        torch.zeros(n, 2),
        torch.arange(n),
        torch.ones(n + 1),
        torch.full((n,), 3.0),
        torch.zeros_like(t),
        t.new_zeros(n),
        torch.eye(n),
    )


def concatenation(t):
    return (
        torch.cat([t, t]),
        torch.stack([t, t + 1]),
        torch.cat([t, t.new_ones(1, 4)]),
    )


def slicing(t):
    n = len(t)
    return t[1:], t[:-1], t[: n // 2], t[n // 2 :], t[::2], t[-1], t[0]


def broadcasting(t):
    return t + torch.ones(4), t + torch.ones(t.size(0), 1), t[:, None] * t[None]


def masks(t):
    n = t.size(0)
    mask = torch.arange(n)[:, None] >= torch.arange(n)[None, :]
    return torch.where(mask, t @ t.T, torch.tensor(float("-inf")))


def branches_on_size(t):
    if t.shape[0] > 100:
        return t * 2
    return t * 3


def loops_over_rows(t):
    total = t[0]
    for row in t[:2]:
        total = total + row
    return total


def size_as_key(t):
    return {t.shape[0]: t + 1}


def expands(t):
    return (
        t[:, :1].expand(-1, 5),
        t.expand(2, *t.shape),
        t.unsqueeze(0).repeat(2, 1, 1),
    )


def norms(t):
    return torch.nn.functional.layer_norm(t, (4,)), torch.nn.functional.gelu(t)


def embeds(t):
    index = torch.arange(t.size(0)) % 3
    return torch.nn.functional.embedding(index, torch.ones(3, 2)), t[index % 2]


def attends(t):
    q = t.view(1, -1, 2, 2).transpose(1, 2)
    return torch.nn.functional.scaled_dot_product_attention(q, q, q)


def builtin_functions(t):
    n = t.shape[0]
    return (
        t + 1,
        int(n),
        float(n),
        bool(n),
        abs(-n),
        min(n, 3),
        max(n, 3),
        round(n / 2),
        math.ceil(n / 2),
        math.floor(n / 2),
        math.sqrt(n),
        divmod(n, 2),
    )


def chunks(t):
    return t.unbind(1), t.split(2, dim=1), t.chunk(2, dim=1)


ONE_TENSOR = [
    pointwise,
    returns_sizes,
    size_arithmetic,
    flatten,
    view_by_size,
    reductions,
    products,
    factories,
    concatenation,
    slicing,
    builtin_functions,
    broadcasting,
    masks,
    branches_on_size,
    loops_over_rows,
    expands,
    norms,
    embeds,
    attends,
    chunks,
]

# Programs that ask for the number itself, and are compiled for each.
SPECIALIZED = [size_as_key]


@pytest.mark.parametrize("program", ONE_TENSOR, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dynamic", [None, True])
def test_one_varying_size_costs_one_recompilation(program, dynamic):
    magneto.reset()
    check_calls(
        program,
        calls_of(*(x(n, 4) for n in (5, 6, 7, 9, 12, 3, 2))),
        recompiles=0 if dynamic else 1,
        dynamic=dynamic,
        fullgraph=True,
    )


@pytest.mark.parametrize("program", SPECIALIZED, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dynamic", [None, True])
def test_programs_that_need_the_number(program, dynamic):
    magneto.reset()
    check_calls(
        program,
        calls_of(*(x(n, 4) for n in (5, 6, 7, 9))),
        dynamic=dynamic,
        fullgraph=True,
    )


@pytest.mark.parametrize(
    "program", ONE_TENSOR + SPECIALIZED, ids=lambda p: p.__name__
)
def test_sizes_0_and_1_have_entries_of_their_own(program: Callable[..., Any]):
    magneto.reset()
    check_calls(
        program, calls_of(*(x(n, 4) for n in (5, 6, 1, 7, 1, 0, 8, 0, 1, 9)))
    )


def view_and_base(view, base):
    return view * 2, base.numel(), base.shape, base.size(0) + view.size(0)


def base_and_view(base, view):
    return view_and_base(view, base)


def inputs_of_one_storage(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    base = x(n, 6)
    return base, base.reshape(3, -1)


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_view_and_its_base(dynamic):
    pairs = [inputs_of_one_storage(n) for n in (5, 6, 7, 9, 12)]
    check_calls(base_and_view, calls_of(*pairs), dynamic=dynamic)
    reversed_pairs = [(view, base) for base, view in pairs]
    check_calls(view_and_base, calls_of(*reversed_pairs), dynamic=dynamic)


def large_numbers(t, n):
    return t * 2, -n, n * n, n + 1, abs(n), n - 1, n // 2


@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_of_more_than_64_bits(dynamic):
    numbers = [3, 5, -(2**63), 2**40, 2**63 - 1, 2**70, -(2**62), 7]
    check_calls(
        large_numbers,
        calls_of(*((x(2, 3), n) for n in numbers)),
        dynamic=dynamic,
        fullgraph=True,
    )


def test_static_when_told():
    check_calls(
        pointwise,
        calls_of(*(x(n, 4) for n in (5, 6, 7))),
        recompiles=2,
        dynamic=False,
    )


# -- two tensors --------------------------------------------------------------


def test_sizes_that_must_agree_are_related():
    def f(a, b):
        return a + b

    report = check_calls(
        f,
        calls_of((x(3), x(3)), (x(4), x(4)), (x(5), x(5)), (x(6), x(6))),
        recompiles=1,
        fullgraph=True,
    )
    assert len(report.graphs) == 2


def test_unrelated_sizes_stay_unrelated():
    def f(a, b):
        return a * 2, b * 3

    check_calls(
        f,
        calls_of((x(3), x(3)), (x(4), x(5)), (x(7), x(6)), (x(6), x(6))),
        recompiles=1,
        fullgraph=True,
    )


def test_a_relation_that_fails_is_compiled_anew():
    def f(a, b):
        return a @ b if a.shape[1] == b.shape[0] else a.sum() + b.sum()

    check_calls(
        f,
        calls_of(
            (x(3, 4), x(4, 5)),
            (x(4, 6), x(6, 3)),
            (x(4, 6), x(7, 3)),
            (x(5, 8), x(8, 2)),
            (x(5, 9), x(3, 2)),
        ),
        recompiles=2,
        fullgraph=True,
    )


# -- graphs -------------------------------------------------------------------


def test_symbols_are_inputs_and_sizes_computed_only_where_needed():
    def f(t):
        return t.view(t.shape[0] * t.shape[1]), t.shape[0] + 5

    magneto.reset()
    report = check_calls(f, calls_of(x(3, 4)), dynamic=True)
    (gm,) = report.graphs
    placeholders = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
    assert sorted(placeholders) == ["l_t_", "s0", "s1"]
    calls = [n for n in gm.graph.nodes if n.op.startswith("call")]
    assert [n.name for n in calls] == ["mul", "view"]


def test_sizes_of_used_tensors_are_inputs():
    """PyTorch's compilers look for them there."""

    def f(t, unused, square):
        return t * square, unused.shape[0] * 0

    magneto.reset()
    report = check_calls(
        f, calls_of((x(3, 4), x(5), x(7, 1)[:3, 0:])), dynamic=True
    )
    (gm,) = report.graphs
    names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
    assert names == ["l_t_", "l_square_", "s0", "s1"]
    assert not any(n.users for n in gm.graph.nodes if n.name in ("s0", "s1"))


# -- marks --------------------------------------------------------------------


def test_a_marked_dimension_is_a_symbol_from_the_start():
    compiled = magneto.compile(pointwise, backend="eager", fullgraph=True)
    first = x(3, 4)
    torch._dynamo.mark_dynamic(first, 0)
    before = magneto.stats()["recompiles"]
    for n in (3, 4, 5):
        given = first if n == 3 else x(n, 4)
        assert torch.equal(compiled(given), pointwise(given))
    assert magneto.stats()["recompiles"] == before


def test_a_mark_is_a_promise():
    def f(t):
        return t + torch.ones(5, 1)  # only for five rows

    given = x(5, 4)
    torch._dynamo.mark_dynamic(given, 0)
    compiled = magneto.compile(f, backend="eager")
    with pytest.raises(
        magneto.exc.SizeNotDynamic,
        match=r"t\.size\(0\) is marked as dynamic, .* t\.size\(0\) == 5, "
        r"because of .*test_dynamic_shapes\.py:\d+ in .*f\. Change",
    ):
        compiled(given)
    # Without a promise, it is compiled for what it is.
    torch._dynamo.maybe_mark_dynamic(again := x(5, 4), 0)
    assert torch.equal(compiled(again), f(again))


def test_a_mark_has_bounds():
    compiled = magneto.compile(pointwise, backend="eager", fullgraph=True)
    first = x(3, 4)
    torch._dynamo.mark_dynamic(first, 0, min=2, max=6)
    before = magneto.stats()["recompiles"]
    for n in (3, 6, 2):
        given = first if n == 3 else x(n, 4)
        assert torch.equal(compiled(given), pointwise(given))
    assert magneto.stats()["recompiles"] == before
    assert torch.equal(compiled(x(7, 4)), pointwise(x(7, 4)))
    assert magneto.stats()["recompiles"] == before + 1


def marked_twice(t):
    torch._dynamo.mark_dynamic(t, 0)
    torch._dynamo.mark_static(t, 0)


def marked_empty(t):
    torch._dynamo.mark_dynamic(t, 0, min=8, max=4)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (marked_twice, "as dynamic and as static"),
        (marked_empty, "as dynamic between 8 and 4"),
    ],
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_marks_that_contradict_each_other(mark, said, dynamic):
    magneto.reset()
    compiled = magneto.compile(pointwise, backend="eager", dynamic=dynamic)
    mark(given := x(5, 4))
    for _ in range(2):
        with pytest.raises(
            magneto.exc.SizeNotDynamic,
            match=rf"^t\.size\(0\) of pointwise \(.*test_dynamic_shapes\.py:\d+"
            rf"\) is marked {said}: no call can be both\. Remove one mark$",
        ):
            compiled(given)
    # Nothing is left of it.
    for n in (5, 6, 7):
        assert torch.equal(compiled(x(n, 4)), pointwise(x(n, 4)))


def test_marked_static():
    compiled = magneto.compile(pointwise, backend="eager", dynamic=True)
    before = magneto.stats()["recompiles"]
    for n in (3, 4, 5):
        torch._dynamo.mark_static(given := x(n, 4), 0)
        assert torch.equal(compiled(given), pointwise(given))
    assert magneto.stats()["recompiles"] - before == 2


# -- what strides and storage say ---------------------------------------------


def test_strides_follow_sizes():
    def f(t):
        return t.T.contiguous(), t.is_contiguous(), t.transpose(0, 1).stride()

    check_calls(
        f,
        calls_of(
            x(3, 4), x(5, 4), x(6, 4), x(6, 8)[:, ::2], x(7, 4).T.contiguous().T
        ),
    )


def test_strides_of_what_is_expanded_and_flipped():
    def f(t):
        flipped = t.expand(4, *t.shape).flip(0)
        return flipped, flipped.stride(), flipped.is_contiguous()

    check_calls(f, calls_of(x(3, 4), x(5, 4), x(6, 1), x(0, 3)), dynamic=True)


def test_numbers_by_way_of_floats():
    def f(t, n):
        return t.reshape(int(n / 4), -1), round(n / 2), int(n / 3) + 1

    check_calls(
        f, calls_of(*((x(24), n) for n in (8, 12, 16, 13, 5, 3))), dynamic=True
    )


def test_slices_of_a_larger_tensor():
    data = x(20, 4)
    check_calls(
        pointwise,
        calls_of(*(data[i : i + n] for i, n in enumerate((5, 6, 7, 3)))),
        recompiles=1,
        fullgraph=True,
    )


def test_the_miss_is_explained_with_sizes():
    def f(a, b):
        return a + b

    (guards,) = magneto.explain(f, dynamic=True)(x(3), x(3)).guards
    assert "a.size(0) == b.size(0)" in guards
    assert "a.size(0) >= 2" in guards


# -- backends of PyTorch's own -------------------------------------------------


def mixed(t, w, n):
    rows = t.shape[0]
    z = (t.view(rows * 2, -1) @ w) * n
    if rows > 3:
        z = z + torch.ones(rows * 2, 1) * t.numel()
    return z.relu(), rows + 1, t.size(0) // 2, t.sum(0)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_pytorchs_compilers_get_symbols(backend):
    magneto.reset()
    compiled = magneto.compile(mixed, backend=backend)
    w = torch.ones(2, 3, requires_grad=True)
    before = magneto.stats()["recompiles"]
    for rows, n in ((4, 7), (5, 7), (6, 9), (7, 8), (8, 11), (3, 2), (2, 5)):
        got, expected = compiled(x(rows, 4), w, n), mixed(x(rows, 4), w, n)
        torch.testing.assert_close(got, expected)
        gradients = [
            torch.autograd.grad(result[0].sum(), w)
            for result in (got, expected)
        ]
        torch.testing.assert_close(*gradients)
    assert magneto.stats()["recompiles"] - before == 3


# What a backend may do with an example number, and what comes out.
LOOKS = {
    "isinstance": (lambda n: isinstance(n.node, SymNode), True),
    "hint": (lambda n: n.node.hint, 5),
    "range": (lambda n: bool(n >= 2), True),
    "copy": (lambda n: bool(copy.copy(n) == n), True),
    "sum": (lambda n: (n + 1 + n).node.hint, 11),
    "comparison": (lambda n: (n == 7).node.hint, False),
    "sym_max": (lambda n: torch.sym_max(n, 9).node.hint, 9),
    "sizes": (
        lambda n: (
            detect_fake_mode()
            .from_tensor(torch.ones(3))
            .new_ones(n, 2)
            .shape[0]
            .node.hint
        ),
        5,
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_backend_looks_at_example_numbers(name):
    look, expected = LOOKS[name]
    seen = []

    def backend(gm, inputs):
        # That of the argument `n` comes before the tensor's size.
        seen.append(look([n for n in inputs if isinstance(n, torch.SymInt)][0]))
        return gm.forward

    magneto.reset()
    compiled = magneto.compile(
        lambda t, n: t * n, backend=backend, dynamic=True, fullgraph=True
    )
    assert torch.equal(compiled(x(4), 5), x(4) * 5)
    assert seen == [expected]
    assert torch.equal(compiled(x(6), 7), x(6) * 7)
    assert len(seen) == 1


def test_a_backend_that_doesnt_look_pays_for_no_environment(monkeypatch):
    def refuse():
        raise AssertionError("nobody has asked for a fake mode")

    monkeypatch.setattr("magneto.backends.context.make_fake_mode", refuse)
    magneto.reset()
    compiled = magneto.compile(
        lambda t, n: t * n,
        backend=lambda gm, inputs: gm.forward,
        dynamic=True,
        fullgraph=True,
    )
    assert torch.equal(compiled(x(4), 5), x(4) * 5)


def test_what_a_backend_decides_is_guarded():
    def backend(gm, inputs):
        rows, _columns = (n for n in inputs if isinstance(n, torch.SymInt))
        return gm.forward if rows % 2 == 0 else lambda *_: (torch.zeros(1),)

    def f(t):
        return t * t.shape[0]

    magneto.reset()
    compiled = magneto.compile(f, backend=backend, dynamic=True)
    assert torch.equal(compiled(x(4, 2)), f(x(4, 2)))
    assert torch.equal(compiled(x(5, 2)), torch.zeros(1))
    assert torch.equal(compiled(x(6, 2)), f(x(6, 2)))
    assert torch.equal(compiled(x(7, 2)), torch.zeros(1))


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compilers_see_that_inputs_share_memory(backend, dynamic):
    def program(x, y):
        y.add_(3)
        return x * 1, x

    def run(call, size, part):
        y = torch.arange(float(size))
        return *call(part(y), y), y

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for size in (4, 6, 8):
        for part in (lambda y: y[1:], lambda y: y.view(2, -1), torch.clone):
            ours, eagers = run(compiled, size, part), run(program, size, part)
            assert all(map(torch.equal, ours, eagers))
