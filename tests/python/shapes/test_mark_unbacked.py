# SPDX-License-Identifier: BSD-3-Clause
"""Sizes that are marked as unbacked: one compilation for all of them, zero and
one included, that asks nothing of them.
"""

import pytest
import torch
from torch._dynamo.decorators import mark_unbacked

import magneto
from magneto.testing import check_calls

SIZES = (3, 0, 1, 2, 7)


def x(*sizes):
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes)


def marked(*sizes, dims=(0,), **options):
    tensor = x(*sizes)
    for dim in dims:
        mark_unbacked(tensor, dim, **options)
    return tensor


# -- programs that take any size, with the shape that they get ------------------


def pointwise(t):
    return torch.relu(t - 3) * 2 + t


def sizes_are_returned(t):
    return t.shape, t.size(0), t.numel(), len(t), t.stride(), t.dim()


def size_alone(t):
    return t.size(0)


def arithmetic_on_sizes(t):
    n = t.shape[0]
    return n * 2 + 1, n // 2, n % 3, -n, t * n


def reductions(t):
    return t.sum(), t.sum(0), t.sum(1), t.mean(-1), t.prod(0)


def views(t):
    return (
        t.reshape(-1),
        t.view(-1, 2, 2),
        t.flatten(),
        t.t(),
        t.transpose(0, 1),
    )


def broadcast_with_one(t):
    return t + torch.ones(1, 4), t * torch.ones(4), t - torch.ones(())


def broadcast_with_itself(t):
    return t + t.sum(1, keepdim=True), t - t.sum(0), t[:, None] * t[None]


def products(t):
    return t @ torch.ones(4, 2), t.t() @ t, torch.ones(3, 4) @ t.t()


def concatenation(t):
    return (
        torch.cat([t, t]),
        torch.cat([t, torch.ones(2, 4)]),
        torch.stack([t, t]),
    )


def new_tensors(t):
    n = t.size(0)
    return torch.zeros(n), torch.arange(n), torch.full((n, 2), 3), t.new_ones(n)


def expanded(t):
    return torch.ones(4).expand(t.size(0), 4), t.unsqueeze(1).expand(-1, 2, 4)


def softmax_and_norm(t):
    return t.softmax(-1), torch.nn.functional.layer_norm(t, (4,))


def written_to(t):
    t.add_(1)
    t[:, 1] = 5
    return t


def linear(t):
    return torch.nn.functional.linear(t, torch.ones(3, 4), torch.ones(3))


def indexed(t):
    return t[:, 1], t[..., 0], t[:, 1:3], t[:, [0, 2]]


def masked(t):
    return t[t > 2], torch.where(t > 2, t, 0.0)


def checked(t):
    torch._check(t.size(0) < 1000)
    return t * 2 if t.size(0) < 1000 else t


def in_a_list(t):
    return [each.shape[0] + 1 for each in (t, t * 2)], {"n": t.size(0)}


ROWS = [
    pointwise,
    sizes_are_returned,
    size_alone,
    arithmetic_on_sizes,
    reductions,
    views,
    broadcast_with_one,
    broadcast_with_itself,
    products,
    concatenation,
    new_tensors,
    expanded,
    softmax_and_norm,
    written_to,
    linear,
    indexed,
    masked,
    checked,
    in_a_list,
]


def calls_of(*tensors):
    return [((tensor,), {}) for tensor in tensors]


@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("fn", ROWS, ids=lambda fn: fn.__name__)
def test_one_compilation_for_all_sizes(fn, first):
    magneto.reset()
    tensors = [marked(first, 4), *(x(n, 4) for n in SIZES)]
    check_calls(fn, calls_of(*tensors), fullgraph=True, recompiles=0)


def column_sums(t):
    return t.sum(0), t.sum(1), t * 2, t.reshape(-1), t.contiguous().stride()


@pytest.mark.parametrize("first", SIZES)
def test_the_inner_dimension(first):
    magneto.reset()
    tensors = [marked(4, first, dims=(1,)), *(x(4, n) for n in SIZES)]
    check_calls(column_sums, calls_of(*tensors), fullgraph=True, recompiles=0)


@pytest.mark.parametrize("first", [(3, 2), (0, 1), (1, 0), (1, 1), (0, 0)])
def test_both_dimensions(first):
    magneto.reset()
    shapes = [first, (5, 4), (0, 3), (3, 0), (1, 6), (6, 1)]
    first, *others = (x(*shape) for shape in shapes)
    mark_unbacked(first, [0, 1])
    check_calls(
        column_sums, calls_of(first, *others), fullgraph=True, recompiles=0
    )


def product_with_itself(t):
    return t.expand(3, *t.shape), t.T @ t


def strides_of_results(t):
    y = t * 2
    return y.stride(), y.stride(0), y.stride(-1), y[::2].contiguous().stride()


def layout_of_a_sum(t):
    y = t + t[:1]
    return y.stride(), torch.cat([t, t]) if y.is_contiguous() else t.sum()


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize(
    "program", [product_with_itself, strides_of_results, layout_of_a_sum]
)
def test_sizes_of_one_and_zero_have_kernels_of_their_own(program):
    magneto.reset()
    first = marked(4, 4, 4, dims=(0, 1, 2))
    shapes = [(4, 4, 1), (3, 0, 1), (1, 4, 4), (0, 2, 3), (1, 1, 1), (2, 2, 2)]
    check_calls(program, calls_of(first, *(x(*shape) for shape in shapes)))


def test_training():
    def f(t):
        return (t.sin() @ torch.ones(4, 2)).sum()

    magneto.reset()
    tensors = [marked(3, 4), *(x(n, 4) for n in SIZES)]
    for tensor in tensors:
        tensor.requires_grad_()
    check_calls(
        f, calls_of(*tensors), fullgraph=True, backward=True, recompiles=0
    )


# -- what can't be decided ------------------------------------------------------


def branches(t):
    if t.size(0) > 4:
        return t * 2
    return t + 1


def needs_the_number(t):
    return [t + i for i in range(t.size(0))]


def splits(t):
    return t.split(2)


UNDECIDED = [
    (
        branches,
        r"t\.size\(0\) >= 5 depends on a size that is marked as "
        r"unbacked.*torch\._check",
    ),
    (needs_the_number, r"t\.size\(0\) depends on a size that is marked"),
    (splits, r"t\.size\(0\)"),
]


@pytest.mark.parametrize(
    ("fn", "said"), UNDECIDED, ids=[fn.__name__ for fn, _ in UNDECIDED]
)
def test_what_cant_be_decided_breaks_or_raises(fn, said):
    magneto.reset()
    tensors = [marked(3, 4), *(x(n, 4) for n in SIZES)]
    check_calls(fn, calls_of(*tensors))
    magneto.reset()
    compiled = magneto.compile(fn, backend="eager", fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported, match=said) as caught:
        compiled(marked(3, 4))
    assert caught.value.user_stack[-1].filename == __file__
    assert caught.value.user_stack[-1].name == fn.__name__


def decided_by_a_check(t):
    torch._check(t.size(0) > 4)
    if t.size(0) > 2:
        return t * 2
    return t + 1


def test_a_check_decides():
    magneto.reset()
    calls = calls_of(marked(7, 4), x(9, 4))
    check_calls(decided_by_a_check, calls, fullgraph=True, recompiles=0)
    # Plain Python says what is wrong.
    check_calls(decided_by_a_check, calls_of(marked(3, 4), x(0, 4)))


def only_for_five(t):
    return t + torch.ones(5, 1)


def test_an_operator_that_needs_one_size_checks_it_itself():
    magneto.reset()
    tensors = [marked(5, 4), x(5, 4), x(1, 4), x(3, 4), x(0, 4)]
    check_calls(only_for_five, calls_of(*tensors))


# -- bounds, groups, contradictions ----------------------------------------------


def at_least_two(t):
    return t * 2 if t.size(0) >= 2 else t


def test_bounds_are_guards():
    magneto.reset()
    first = marked(3, 4, min=2, max=6)
    calls = calls_of(first, x(6, 4), x(2, 4))
    check_calls(at_least_two, calls, fullgraph=True, recompiles=0)
    check_calls(
        at_least_two, calls_of(first, x(7, 4), x(1, 4), x(0, 4), x(4, 4))
    )
    # A call outside of its own bounds.
    check_calls(at_least_two, calls_of(marked(1, 4, min=2), x(3, 4)))


def sum_of_two(t, u):
    return torch.cat([t + u, t]) if t.size(0) == u.size(0) else t


def test_sizes_of_one_group_are_equal():
    magneto.reset()

    def pair(n, m=None):
        return (
            (
                marked(n, 4, shape_id="batch"),
                marked(m or n, 4, shape_id="batch"),
            ),
            {},
        )

    check_calls(
        sum_of_two,
        [pair(3), pair(0), pair(1), pair(8)],
        fullgraph=True,
        recompiles=0,
    )
    check_calls(sum_of_two, [pair(3), pair(3, 2), pair(1)])


def as_static(t):
    mark_unbacked(t, 0)
    torch._dynamo.mark_static(t, 0)


def as_nothing(t):
    mark_unbacked(t, 0, min=8, max=4)


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (as_static, "as unbacked and as static"),
        (as_nothing, "as unbacked between 8 and 4"),
    ],
)
def test_marks_that_contradict_each_other(mark, said):
    magneto.reset()
    compiled = magneto.compile(pointwise, backend="eager")
    mark(given := x(5, 4))
    for _ in range(2):
        with pytest.raises(
            magneto.exc.SizeNotDynamic,
            match=rf"t\.size\(0\) of pointwise .* is marked {said}: no call",
        ):
            compiled(given)
    assert torch.equal(compiled(x(5, 4)), pointwise(x(5, 4)))


@pytest.mark.parametrize("strict", [False, True])
def test_strict_marks(strict):
    magneto.reset()
    tensors = [marked(3, 4, strict=strict), *(x(n, 4) for n in SIZES)]
    check_calls(pointwise, calls_of(*tensors), fullgraph=True, recompiles=0)


# -- backends --------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("fn", [pointwise, products, reductions, branches])
def test_compilers_of_pytorch(fn, backend):
    magneto.reset()
    compiled = magneto.compile(fn, backend=backend)
    for tensor in (marked(3, 4), *(x(n, 4) for n in SIZES)):
        torch.testing.assert_close(compiled(tensor), fn(tensor.clone()))


def test_explanations_show_them():
    found = magneto.explain(pointwise)(marked(3, 4))
    ((symbol,),) = found.symbols
    assert (symbol.name, symbol.source) == ("u0", "t.size(0)")
    assert (symbol.value, symbol.least, symbol.equals) == (None, 0, None)
    assert found.shape_guards == [[]]
