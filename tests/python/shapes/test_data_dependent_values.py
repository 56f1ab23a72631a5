# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and sizes that come out of tensors: one graph, for all values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support import asserting_programs
from support.releases import MINOR

t = torch.tensor


def mask(pattern: str) -> torch.Tensor:
    """Booleans: "x" is true."""
    return t([each == "x" for each in pattern])


# -- numbers ------------------------------------------------------------------


def item_is_returned(x):
    return x.item(), x.item() + 1, [2 * x.item()], {"n": -x.item()}


def item_in_arithmetic(x):
    n = x.item()
    return n + 3, n * n, n - 7, 3 - n, n * 0.5, n // 2, n % 3, abs(n), n**2


def item_scales(x):
    n = x.item()
    return torch.ones(3) * n, torch.ones(2) + n, torch.full((2,), n)


def comparisons(x):
    n = x.item()
    return n > 2, n == 3, n != 3, n <= 0, (n > 1) & (n < 4)


def conversions(x):
    return int(x), float(x), bool(x), int(x * 2), float(x + 1)


def minimum(x):
    n = x.item()
    return min(n, 5), max(n, 0, 2), min(max(n, 1), 4)


def item_of_flag(x):
    return (x > 2).item(), (x > 2).any().item(), bool(x > 100)


def sum_of_items(x):
    total = 0
    for each in x.tolist():
        total += each
    return total, x.sum().item()


def nested_lists(x):
    return x.tolist(), x.view(2, 2).tolist(), x[0].tolist()


def one_element(x):
    return x.view(1, 1, 1).item() + 1


def item_after_item(x):
    n = x.item()
    return torch.ones(2).mul(n).sum().item() + n


def rounding(x):
    n = x.item()
    return int(n), float(n), round(n), n / 2


# -- numbers as sizes ---------------------------------------------------------


def constructor(x):
    n = x.item()
    return torch.zeros(n), torch.ones(n, 2).sum(), torch.full((n,), 7)


def range_of_item(x):
    return torch.arange(x.item()) * 2


def size_is_known_afterwards(x):
    n = x.item()
    y = torch.ones(n, 3)
    return y.view(n * 3), y.reshape(-1), y.shape, y.numel(), y.t() @ y


def checked_size(x):
    n = x.item()
    torch._check(n >= 0)
    torch._check(n <= 4)
    y = torch.ones(12)
    return y[:n], y[n:], y[n : n + 2], y.narrow(0, n, 2)


def bound_of_a_slice(x):
    n = x.item()
    return torch.arange(5)[:n], torch.arange(5)[n:], torch.arange(5)[1:n]


def strides(x):
    y = torch.ones(x.item(), 3) * 2
    return y.stride(), y.stride(0), y.stride(dim=-1), y.t().stride()


def expanded(x):
    n = x.item()
    torch._check(n >= 0)
    return torch.ones(1, 2).expand(n, 2) * 2, torch.ones(2).repeat(n)


def new_tensors(x):
    n = x.item()
    return x.new_zeros(n), x.new_full((n, 2), 3), torch.empty(n).fill_(1.0)


def pieces(x):
    return torch.arange(6).split(x.tolist())


def added_to_itself(x):
    y = torch.ones(x.item(), 2)
    return y + y, (y * 3).sum(1), torch.cat([y, y]), torch.stack([y, y], 1)


def sizes_add_up(x):
    n = x.item()
    y = torch.cat([torch.zeros(n), torch.ones(2)])
    return y.shape, y, len(y)


def picked(x):
    n = x.item()
    torch._check(n >= 0)
    torch._check(n < 5)
    return torch.arange(5)[n], torch.arange(10).view(5, 2)[n]


def picked_among_others(x):
    n = x.item()
    torch._check(n >= 0)
    torch._check(n < 4)
    y = torch.arange(24).view(4, 3, 2)
    return y[n, 1:], y[..., n // 2], y[:, n // 2, 0], y[None, n, :, n // 3]


def written_at(x):
    n = x.item()
    torch._check(n >= 0)
    torch._check(n < 4)
    y = torch.zeros(4, 4)
    y[n] = 1
    y[:, n] += 2
    y[n, 0:2] = torch.tensor([5.0, 6.0])
    return y


def indexed_by_a_tensor(x):
    y = torch.arange(24).view(6, 4)
    return y[x], y[:, x % 4], y[x, 1:], y[x:], y[: x + 1], y[x % 2 : x, :]


# -- operators whose result has a size of its own -----------------------------


def nonzero(x):
    y = x.nonzero()
    return y, y.shape[0], y.shape, y.numel(), torch.ones(y.shape[0] * 2)


def argwhere(x):
    return torch.argwhere(x) + 1, torch.nonzero(x, as_tuple=True)[0] * 2


def where(x):
    (places,) = torch.where(x > 0)
    return places, x[places], places.shape


def masked(x):
    y = x[x > 0]
    return y, y * 2, y.sum(), y.shape, y + 1, y.relu().exp(), y.view(-1, 1)


def masked_rows(x):
    rows = x.view(-1, 1).expand(-1, 3)[x > 0]
    return rows, rows @ torch.ones(3, 2), rows.sum(0), rows.sum(1)


def masked_select(x):
    return torch.masked_select(x, x > 0) * 2, x.masked_select(x < 2).sum()


def masked_assignment(x):
    y = x.clone()
    y[x > 0] = 0
    y[y < 0] = y[y < 0] * 2
    return y


def two_masks(x):
    return torch.cat([x[x > 0], x[x <= 0]]), len(x[x > 0]) + len(x[x <= 0])


def same_mask_twice(x):
    keep = x > 0
    places = keep.nonzero().squeeze(1)
    return x[places] + (2 * x)[places]


def unique(x):
    values, places = torch.unique(x, return_inverse=True)
    return values, places, values[places], len(values)


def unique_counts(x):
    values, counts = x.unique(return_counts=True)
    return values * counts, counts.sum(), torch.unique_consecutive(x)


def unique_rows(x):
    y = torch.stack([x, x], 1)
    return torch.unique(y, dim=0), torch.unique(y, dim=1).shape


def repeated(x):
    n = x.abs().long()
    return torch.repeat_interleave(n), x.repeat_interleave(n, dim=0)


def counted(x):
    y = torch.bincount(x.abs().long(), minlength=3)
    return y, y.shape[0], y.sum()


def linear_of_rows(x):
    rows = torch.ones(len(x), 4)[x > 0]
    layer = torch.nn.functional.linear(rows, torch.ones(2, 4), torch.ones(2))
    return layer, layer.softmax(-1), layer.mean(0), layer.t()


def normalized_rows(x):
    rows = torch.ones(len(x), 4)[x > 0] * 3
    return torch.nn.functional.layer_norm(rows, (4,)), rows / rows.norm()


def embedded(x):
    places = (x > 0).nonzero().squeeze(-1)
    return torch.nn.functional.embedding(places, torch.ones(9, 2))


def sorted_rows(x):
    y = x[x > 0]
    return y.sort().values, y.argsort(), y.cumsum(0), y.flip(0)


def written_back(x):
    places = (x > 0).nonzero().squeeze(1)
    y = torch.zeros(len(x))
    y[places] = x[places]
    return y, torch.zeros(len(x)).index_add(0, places, x[places])


def loss_of_rows(x):
    keep = x > 0
    logits = torch.stack([x, -x], 1)[keep]
    return torch.nn.functional.cross_entropy(
        logits, torch.zeros(len(x), dtype=torch.long)[keep]
    )


def in_a_module_call(x):
    return torch.nn.Dropout(0.5).eval()(x[x > 0]), torch.nn.ReLU()(x[x < 0])


def batch_norm_of_rows(x):
    rows = torch.stack([x, x * 2], 1)[x > 0]
    mean, variance = torch.zeros(2), torch.ones(2)
    y = torch.nn.functional.batch_norm(rows, mean, variance)
    z = torch.nn.functional.batch_norm(
        rows, None, None, torch.ones(2), torch.zeros(2), training=True
    )
    return y, z, z.t()


def batch_norm_updates(x):
    rows = torch.stack([x, x * 2], 1)[x > 0]
    mean, variance = torch.zeros(2), torch.ones(2)
    y = torch.nn.functional.batch_norm(rows, mean, variance, training=True)
    return y, mean, variance


def distances(x):
    rows = torch.stack([x, x * 2], 1)[x > 0]
    return (
        torch.cdist(rows, rows),
        torch.cdist(rows, torch.ones(3, 2), p=1.0),
        torch.cdist(torch.ones(2, 3, 2), rows),
    )


def one_hot_of_data(x):
    return torch.nn.functional.one_hot(x.abs().long())


def one_hot_of_places(x):
    places = (x > 0).nonzero().squeeze(1)
    return torch.nn.functional.one_hot(places, num_classes=4) * 2


def spaced(x):
    n = x.item()
    return (
        torch.linspace(0, 1, n),
        torch.logspace(0, 1, steps=n, base=2.0, dtype=torch.float64),
        torch.linspace(0, n, 3),
    )


def tensor_of_a_number(x):
    n = x.item()
    return torch.tensor(n), torch.tensor([n, 2]) * 2, torch.tensor(float(n))


# -- errors of the program's own ------------------------------------------------


def checked_by_kind(x):
    n = x.item()
    torch._check_value(n != 0)
    torch._check_index(n < 9, lambda: "too far")
    torch._check_type(n > -5, lambda: f"not {n}")
    torch._check_with(KeyError, n != 4, lambda: "four")
    return torch.ones(2) * n


def raises_unless(x):
    n = x.item()
    if n < 0:
        raise ValueError(f"{n} is negative")
    if not n < 9:
        raise OverflowError("too far", n)
    return torch.zeros(n)


def raised_in_a_call(x):
    def positive(n, name="n"):
        if n > 0:
            return n
        else:
            raise ValueError("{} must be positive, not {}".format(name, n))

    return torch.zeros(positive(x.item()) + positive(int(x + 2), name="m"))


def raises_if_a_tensor_says(x):
    if (x > 900).any():
        raise OverflowError
    return x * 2


_INTS = [t(3), t(0), t(1), t(4), t(-2), t(1000)]
_SIZES = [t(3), t(0), t(1), t(7), t(2)]
_VECTORS = [
    t([3.0, 0, 1, -2]),
    t([0.0, 0, 0, 0]),
    t([1.0, 2, 3, 4]),
    t([-1.0, 5, -1, -1]),
    t([2.0, 2, 2, -2]),
]

PROGRAMS: dict[Callable[..., Any], list[torch.Tensor]] = {
    item_is_returned: _INTS,
    item_in_arithmetic: _INTS,
    item_scales: _INTS,
    comparisons: _INTS,
    conversions: _INTS,
    minimum: _INTS,
    item_of_flag: _INTS,
    sum_of_items: _VECTORS,
    nested_lists: _VECTORS,
    one_element: _INTS,
    item_after_item: _INTS,
    rounding: [t(2.5), t(-3.5), t(0.0), t(7.0)],
    constructor: _SIZES,
    range_of_item: _SIZES,
    size_is_known_afterwards: _SIZES,
    checked_size: _SIZES[:3] + [t(4), t(5), t(-1)],
    bound_of_a_slice: [*_SIZES, t(-1), t(-9)],
    strides: _SIZES,
    expanded: _SIZES,
    new_tensors: _SIZES,
    pieces: [t([1, 2, 3]), t([0, 6, 0]), t([2, 2, 2])],
    added_to_itself: _SIZES,
    sizes_add_up: _SIZES,
    picked: _SIZES,
    picked_among_others: [t(3), t(0), t(1), t(2)],
    written_at: [t(3), t(0), t(1), t(2)],
    indexed_by_a_tensor: [t(3), t(0), t(1), t(5), t(-2)],
    nonzero: _VECTORS,
    argwhere: _VECTORS,
    where: _VECTORS,
    masked: _VECTORS,
    masked_rows: _VECTORS,
    masked_select: _VECTORS,
    masked_assignment: _VECTORS,
    two_masks: _VECTORS,
    same_mask_twice: _VECTORS,
    unique: _VECTORS,
    unique_counts: _VECTORS,
    unique_rows: _VECTORS,
    repeated: _VECTORS,
    counted: _VECTORS,
    linear_of_rows: _VECTORS,
    normalized_rows: _VECTORS,
    embedded: _VECTORS,
    sorted_rows: _VECTORS,
    written_back: _VECTORS,
    loss_of_rows: _VECTORS,
    in_a_module_call: _VECTORS,
    batch_norm_of_rows: _VECTORS,
    batch_norm_updates: _VECTORS,
    distances: _VECTORS,
    one_hot_of_data: _VECTORS,
    one_hot_of_places: _VECTORS,
    spaced: [*_SIZES, t(-1)],
    tensor_of_a_number: _INTS,
    checked_by_kind: [*_INTS, t(4), t(-7)],
    raises_unless: _INTS,
    raised_in_a_call: _INTS,
    raises_if_a_tensor_says: _INTS,
    asserting_programs.with_a_message: _INTS,
    asserting_programs.of_a_tensor: _INTS,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_one_graph_for_all_data(program: Callable[..., Any]) -> None:
    calls = [((each,), {}) for each in PROGRAMS[program]]
    report = check_calls(program, calls, fullgraph=True)
    assert len(report.graphs) == 1


# -- PyTorch's compilers --------------------------------------------------------

# Those that PyTorch's compilers don't take in one graph: there, it breaks.
_REFUSED = {
    batch_norm_of_rows,
    batch_norm_updates,
    distances,
    one_hot_of_data,
    spaced,
}
if MINOR <= 13:
    _REFUSED.add(indexed_by_a_tensor)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_aot_autograd_compiles_it(program: Callable[..., Any]) -> None:
    magneto.reset()
    compiled = magneto.compile(program, backend="aot_eager")
    before = magneto.stats().get("graph_breaks", 0)
    for data in PROGRAMS[program]:
        assert_same_outcome(program, compiled, data)
    breaks = magneto.stats().get("graph_breaks", 0) - before
    assert (breaks > 0) == (program in _REFUSED)


@pytest.mark.parametrize(
    "program",
    [item_scales, checked_size, masked_rows, unique, loss_of_rows, repeated],
    ids=lambda each: each.__name__,
)
def test_inductor_compiles_it(program: Callable[..., Any]) -> None:
    magneto.reset()
    compiled = magneto.compile(program, backend="inductor")
    for data in PROGRAMS[program]:
        assert_same_outcome(program, compiled, data)


def assert_same_outcome(
    program: Callable[..., Any], compiled: Callable[..., Any], data: Any
) -> None:
    """The same result, or an exception of the same class."""
    try:
        expected = program(data.clone())
    except Exception as error:
        with pytest.raises(type(error)):
            compiled(data.clone())
    else:
        torch.testing.assert_close(
            compiled(data.clone()),
            expected,
            rtol=1e-5,
            atol=1e-6,
            equal_nan=True,
        )


# -- decisions ------------------------------------------------------------------


def branch(x):
    n = x.item()
    if n > 2:
        return x + n
    return x - n


def loop(x):
    total = 0
    for i in range(int(x)):
        total += i
    return x + total


def text(x):
    return f"{x.item()}".zfill(3)


# The reason, what the error names, and the line behind `def`.
BROKEN = {
    branch: ("data-dependent-branch", "u0 >= 3", 2),
    loop: ("data-dependent", "u0", 2),
    text: ("data-dependent", "u0", 1),
}


@pytest.mark.parametrize("program", BROKEN, ids=lambda each: each.__name__)
def test_what_only_data_tells_breaks_the_graph(
    program: Callable[..., Any],
) -> None:
    calls = [((t(n),), {}) for n in (3, 1, 4, 2)]
    assert check_calls(program, calls).graph_breaks > 0
    with pytest.raises(magneto.exc.Unsupported) as error:
        magneto.compile(program, backend="eager", fullgraph=True)(t(3))
    reason, expression, line = BROKEN[program]
    place = f"{__file__}:{program.__code__.co_firstlineno + line}"
    for part in (f"[{reason}]", expression, place, "torch._check"):
        assert part in str(error.value)


# -- numbers that are known although tensors hold them ----------------------------


def known_numbers(x):
    n = torch.div(8, 2, rounding_mode="trunc") - 1
    y = torch.zeros(n.item(), 2)
    if torch.tensor(3) > 2 and n.item() == 3:
        y = y + 1
    return y, x.new_zeros(n, 2), torch.tensor(2.5).item(), range(int(n))


def written_numbers(x):
    n = torch.tensor(3)
    n.add_(1)
    m = torch.tensor(5)
    m.view(1).fill_(2)
    return torch.ones(n.item()), torch.ones(m.item())


@pytest.mark.parametrize("program", [known_numbers, written_numbers])
def test_numbers_made_of_numbers(program: Callable[..., Any]) -> None:
    check_calls(program, [((t([1.0]),), {})] * 2)


def test_known_numbers_break_nothing() -> None:
    def program(x):
        n = torch.div(8, 2, rounding_mode="trunc") - 1
        for _ in range(n.item()):
            x = x * 2
        return x.view(n.item(), -1)

    check_calls(program, [((t([1.0, 2, 3]),), {})], fullgraph=True, graphs=1)


LARGE = 2**53 + 1  # the first int that no float is


@pytest.mark.parametrize(
    "compare",
    [
        operator.eq,
        operator.ne,
        operator.lt,
        operator.le,
        operator.gt,
        operator.ge,
    ],
)
@pytest.mark.parametrize(
    "number",
    [2.0**53, -(2.0**53), 2.5, 0.0, 2.0**63, float("inf"), float("nan")],
)
def test_ints_are_compared_with_floats_by_their_value(compare, number):
    def program(x):
        return [compare(x[i].item(), number) for i in range(5)], [
            compare(number, x[i].item()) for i in range(5)
        ]

    x = torch.tensor([LARGE, -LARGE, LARGE - 1, 2, 3])
    check(program, x, fullgraph=True)
