# SPDX-License-Identifier: BSD-3-Clause
"""min() and max() of tensors: one graph where nothing tells that the result is
one of the two, else a graph break where one is chosen.
"""

import pytest
import torch

import magneto
from magneto.testing import compare

BACKENDS = ["eager", "aot_eager", "inductor"]


def smaller(x, y):
    return min(x.max(), y.max()) * 2


def larger(x, y):
    return max(x.sum(), y.sum()) + x


def of_a_list(x, y):
    return min([x.max(), y.max(), (x + y).min()]) - 1


def of_three(x, y):
    return max(x.sum(), y.sum(), (x * y).sum()), x + 1


def nested(x, y):
    return x.clamp(min(x.max(), y.max()), max(x.max(), y.max()) + 1)


def with_one_dimension(x, y):
    return min(x[:1] + 1, y[:1] * 2) + x


def of_integers(x, y):
    return max(x.long().sum(), y.long().sum()) + 1


def not_a_number(x, y):
    nan = x.sum() * float("nan")
    return min(nan, y.sum()), max(y.sum(), nan), min(y.sum(), nan)


def zeros(x, y):
    return torch.copysign(x, min(x.sum() * 0.0, x.sum() * -0.0))


def item(x, y):
    return x * min(x.max(), y.max()).item()


def in_a_loop(x, y):
    best = x.sum()
    for i in range(3):
        best = max(best, (y * i).sum())
    return x - best


CAPTURED = [
    smaller, larger, of_a_list, of_three, nested, with_one_dimension,
    of_integers, not_a_number, zeros, item, in_a_loop,
]  # fmt: skip


def both_given(x, y):
    a, b = x.max(), y.max()
    return a, b, min(a, b)


def one_given(x, y):
    a = x.max()
    return a, max(a, y.max())


def a_view_given(x, y):
    a = x.max()
    return a[None], max(a, y.max())


def written(x, y):
    a, b = x.max(), y.max()
    smallest = min(a, b)
    smallest.add_(1)
    return x * a + b


def one_is_written(x, y):
    a, b = x.max(), y.max()
    smallest = min(a, b)
    a.add_(1)
    return smallest + x


def compared(x, y):
    a, b = x.max(), y.max()
    return x + 1 if min(a, b) is a else x - 1


def looked_for(x, y):
    a, b = x.max(), y.max()
    return {a: 1, b: 2}[max(a, b)] + x


def written_to_a_dict(x, y):
    a, b = x.max(), y.max()
    counts = {a: 1}
    counts[max(a, b)] = 2
    return x + len(counts)


def in_a_set(x, y):
    a, b = x.max(), y.max()
    return x + len({a, b, max(a, b)}), max(a, b) in {a}


def in_a_list(x, y):
    a, b = x.max(), y.max()
    return [a, b].index(max(a, b)) + x


def marked(x, y):
    a, b = x.max(), y.max()
    max(a, b).mark = 1
    return x + hasattr(a, "mark")


def kept_across_a_break(x, y):
    a, b = x.max(), y.max()
    smallest = min(a, b)
    torch._dynamo.graph_break()
    a.add_(1)
    return smallest + x


def of_the_callers(x, y):
    return min(x[0], y[0]) + x, max(x[:1], y[:1]) is y


def of_other_dtypes(x, y):
    return min(x.sum(), y.long().sum()) + x


def of_other_shapes(x, y):
    return min(x.sum(), y.sum()[None]) + x


def with_a_key(x, y):
    return min(x.sum(), y.sum(), key=lambda t: -t) + x


def of_a_number(x, y):
    return min(x.sum(), 3) * x


BREAKING = [
    both_given, one_given, a_view_given, written, one_is_written, compared,
    looked_for, written_to_a_dict, in_a_set, in_a_list, marked, kept_across_a_break, of_the_callers,
    of_other_dtypes, of_other_shapes, with_a_key, of_a_number,
]  # fmt: skip

OPERANDS = [(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (-1.0, 0.0)]


def run(call, a, b, requires_grad=False):
    x = torch.arange(3.0).mul(a).requires_grad_(requires_grad)
    y = torch.arange(3.0).add(b).requires_grad_(requires_grad)
    result = call(x, y)
    first = result[0] if isinstance(result, tuple) else result
    if first.requires_grad:
        first.sum().backward()
    if not isinstance(result, tuple):
        return result, x.grad, y.grad
    same = [[one is other for one in result] for other in result]
    return *result, x.grad, y.grad, same


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", CAPTURED, ids=lambda f: f.__name__)
def test_one_graph(f, backend):
    magneto.reset()
    call = magneto.compile(f, backend=backend, fullgraph=True)
    before = magneto.stats()["graphs"]
    for a, b in OPERANDS:
        compare(run(f, a, b), run(call, a, b))
    assert magneto.stats()["graphs"] - before == 1


@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize("f", BREAKING, ids=lambda f: f.__name__)
def test_where_it_shows_the_graph_breaks(f, backend):
    magneto.reset()
    call = magneto.compile(f, backend=backend)
    for a, b in OPERANDS:
        compare(run(f, a, b), run(call, a, b))
    with pytest.raises(magneto.exc.Unsupported):
        magneto.compile(f, backend=backend, fullgraph=True)(
            torch.ones(3), torch.ones(3)
        )


WRITING = {written, one_is_written, kept_across_a_break}


@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize(
    "f",
    [f for f in CAPTURED + BREAKING if f not in WRITING],
    ids=lambda f: f.__name__,
)
def test_gradients_go_to_the_one_that_is_chosen(f, backend):
    magneto.reset()
    call = magneto.compile(f, backend=backend)
    for a, b in OPERANDS:
        expected, got = run(f, a, b, True), run(call, a, b, True)
        if backend != "eager":
            # Of a graph's results, PyTorch's compilers give one that isn't used
            # a gradient of zeros.
            expected, got = map(with_zeros, (expected, got))
        compare(expected, got)


def with_zeros(results):
    return [torch.zeros(3) if each is None else each for each in results]
