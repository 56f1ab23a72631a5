# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that write to their inputs, under PyTorch's own compilers: what is
written, and the gradients, are as in eager, with sizes that vary, too.
"""

import pytest
import torch

import magneto


def plain(rows):
    return torch.arange(float(rows * 4)).view(rows, 4)


def computed(rows):
    return plain(rows).requires_grad_() * 1


def view(rows):
    return (torch.ones(rows, 5, requires_grad=True) * 1)[:, 1:]


def scaled(x, weight):
    x.mul_(2)
    return x * 3


def gets_a_history(x, weight):
    x.add_(weight)
    return x * 2


def is_the_result(x, weight):
    return x.add_(weight)


def transposed(x, weight):
    x.transpose_(0, 1)
    x.add_(1)
    return x * 2


def unsqueezed(x, weight):
    x.unsqueeze_(0)
    return x * 2


def outcome(call, make, rows):
    weight = torch.ones(rows, 4, requires_grad=True)
    x = make(rows)
    leaf = torch.zeros((), requires_grad=True)
    x = x + leaf if x.requires_grad and make is computed else x
    y = call(x, weight)
    total = y.sum() + x.sum() + leaf
    total.backward()
    return (
        y.tolist(), x.tolist(), x.shape, x.stride(), x.requires_grad,
        leaf.grad, weight.grad,
    )  # fmt: skip


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("make", [plain, computed, view])
@pytest.mark.parametrize(
    "program",
    [scaled, gets_a_history, is_the_result, transposed, unsqueezed],
)
def test_writes_to_inputs(program, make, backend, dynamic):
    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for rows in (2, 3, 4):
        ours = outcome(compiled, make, rows)
        assert str(ours) == str(outcome(program, make, rows))


def adds(x, y):
    x += 3
    return x * 2, y.repeat(2, 1)


KINDS = {
    "of two views": lambda base: (base.view(2, 6)[:, ::2], base.detach()[None]),
    "of a view and its base": lambda base: (
        base.view(2, 6),
        base.detach()[None],
    ),
    "of two kinds": lambda base: (base, base.view(torch.int32)[None]),
}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("kind", KINDS)
def test_writes_to_memory_that_is_shared(kind, backend, dynamic):
    """AOTAutograd refuses views of several tensors in one memory."""
    compiled = magneto.compile(adds, backend=backend, dynamic=dynamic)
    for _ in range(2):
        outcomes = []
        for call in (adds, compiled):
            x, y = KINDS[kind](torch.arange(12.0))
            outcomes.append([each.tolist() for each in (*call(x, y), x, y)])
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_writes_to_items_in_one_place(backend, dynamic):
    def program(x):
        x.fill_(3)
        return x * 2

    def outcome(call):
        base = torch.ones(1, 4)
        return call(base.expand(3, 4)).tolist(), base.tolist()

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        assert outcome(compiled) == outcome(program)


LAYOUTS = {
    "plain": lambda: torch.arange(9.0).view(3, 3),
    "every other": lambda: torch.arange(18.0).view(3, 6)[:, ::2],
    "transposed": lambda: torch.arange(6.0).view(2, 3).t(),
    "detached": lambda: torch.arange(18.0).view(3, 6)[:, ::2].detach(),
}


def squeezed_and_filled(x):
    x.squeeze_()
    x.fill_(3)
    return x * 2


def swapped_twice(x):
    x.t_().t_()
    x.add_(1)
    return x


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", [squeezed_and_filled, swapped_twice])
def test_reshapes_that_change_nothing(program, layout, backend, dynamic):
    """AOTAutograd takes them for changes, and lays out the input anew."""

    def outcome(call):
        x = LAYOUTS[layout]()
        alias = x.detach()
        y = call(x)
        return y.tolist(), x.tolist(), alias.tolist(), x.stride(), x.shape

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        assert outcome(compiled) == outcome(program)


VIEWS = {
    "expand": lambda row: row.expand(2, 3),
    "slice": lambda row: row[1:],
    "view": lambda row: row.view(1, 3),
    "data": lambda row: row.data,
    "unsqueeze": lambda row: row.unsqueeze(1),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_what_shares_memory_with_a_written_input(name, backend):
    def program(x, row):
        x.mul_(2)
        return VIEWS[name](row), x.view(-1)

    def layout(call):
        x = torch.arange(6.0).view(2, 3)
        results = call(x, x[1])
        return [
            (r.tolist(), r.stride(), r.storage_offset(), r.data_ptr() - x.data_ptr())
            for r in (*results, x)
        ]  # fmt: skip

    compiled = magneto.compile(program, backend=backend)
    for _ in range(2):
        assert layout(compiled) == layout(program)


def filled(x):
    x.expand(2, 3).fill_(3)
    return x * 1


def filled_in_the_graph(x):
    y = x * 2
    y.expand(2, 3).zero_()
    return y


def filled_view(x):
    x[1:, None].expand(2, 3).fill_(5)
    return x * 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", [filled, filled_in_the_graph, filled_view])
def test_writes_to_items_that_are_in_one_place(program, dynamic, backend):
    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        results = []
        for call in (program, compiled):
            x = torch.arange(3.0)
            results.append((call(x).tolist(), x.tolist()))
        assert results[0] == results[1]


class Doubled:
    """A marked object, which has no name."""

    def __call__(self, x):
        return x * 2


DOUBLED = torch.compiler.allow_in_graph(Doubled())


def by_an_object_without_a_name(x):
    x.add_(1)
    return DOUBLED(x)


def filled_by_an_overload(x):
    torch.ops.aten.fill_.Scalar(x.expand(2, 3), 3)
    return x + 1


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    "program", [by_an_object_without_a_name, filled_by_an_overload]
)
def test_written_by_what_is_called_otherwise(program, backend):
    magneto.reset()
    call = magneto.compile(program, backend=backend)
    for _ in range(2):
        mine, other = torch.ones(1, 3)[0], torch.ones(1, 3)[0]
        torch.testing.assert_close(call(mine), program(other))
        torch.testing.assert_close(mine, other)
