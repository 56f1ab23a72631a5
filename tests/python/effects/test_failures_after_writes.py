# SPDX-License-Identifier: BSD-3-Clause
"""Calls that fail behind a write to an input: the error, the handler that takes
it, and what was written are as in plain Python.
"""

import pytest
import torch
from torch.nn import functional as F

import magneto
from magneto.testing import check, check_calls

X = torch.arange(4.0)
PAIRS = torch.arange(6.0).reshape(2, 3)
BOOLS = torch.tensor([True, False, True, True])


def catches_what_no_rule_tells(x, y):
    notes = []
    x.add_(1)
    try:
        notes.append("begun")
        z = x.clone() - y
    except RuntimeError as error:
        notes.append(str(error))
        z = x * 2
    finally:
        notes.append("done")
    return z, notes


def leaves_a_with_block(x, y):
    x.mul_(2)
    with torch.no_grad():
        z = -(y > 1)
    return z


def leaves_callees(x, y):
    def negate(a):
        return -a

    x.mul_(2)
    return [negate(a) for a in (x, y)]


def fails_behind_a_break(x, y):
    x.add_(1)
    magneto.graph_break()
    x.add_(1)
    try:
        return x - y
    except RuntimeError:
        return x + 1


def callee_fails_behind_a_break(x, y):
    """What it writes to has a history."""

    def minus(a, b):
        return a - b

    z = x.clone().requires_grad_().clone()
    magneto.graph_break()
    z.mul_(2)
    return minus(z, y)


def differentiates_behind_a_break(x, y):
    """The history of what is written to is put back."""
    notes = []
    z = (x.clone().requires_grad_() * 2).sigmoid()
    w = z * 3
    magneto.graph_break()
    w *= 2
    notes.append(w.grad_fn.name())
    try:
        w[1:3] = w[:2]
    except RuntimeError as error:
        notes.append(type(error))
    w.sum().backward()
    return w, notes


def draws_before(x, y):
    x.add_(torch.rand(4))
    try:
        return F.dropout(x, 0.5) - y
    except RuntimeError:
        return F.dropout(x, 0.5)


def comes_to_require_grad(x, y):
    weight = torch.ones(4, requires_grad=True)
    x.add_(weight)
    try:
        return x - y
    except RuntimeError:
        return x * 2


def writes_a_view(x, y):
    x[1:].mul_(3)
    x.view(2, 2)[0] += 1
    try:
        return x - y
    except RuntimeError:
        return x * 2


def moves_the_memory(x, y):
    x.t_()
    try:
        return x - y
    except RuntimeError:
        return x * 2


def is_resized(x, y):
    x.add_(1)
    try:
        return torch.gather(x, 0, torch.tensor([2, 1]), out=x)
    except RuntimeError:
        return x * 2


class Normalized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x, target):
        self.norm.train()
        x = self.norm(x)
        try:
            return F.nll_loss(x, target)
        except (IndexError, RuntimeError) as error:
            return type(error).__name__, x.sum()


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize(
    "program",
    [
        catches_what_no_rule_tells,
        leaves_a_with_block,
        leaves_callees,
        fails_behind_a_break,
        callee_fails_behind_a_break,
        differentiates_behind_a_break,
        draws_before,
        comes_to_require_grad,
        writes_a_view,
        moves_the_memory,
        is_resized,
    ],
    ids=lambda p: p.__name__,
)
def test_failure_behind_a_write_is_what_it_is_in_plain_python(program):
    check(program, X, BOOLS, calls=3)


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
def test_failure_behind_a_write_to_buffers():
    target = torch.tensor([0, 7])
    check(Normalized(), PAIRS, target, calls=2)
    check(Normalized(), PAIRS, target.double(), calls=2)


def picks(x, index):
    def pick(a, i):
        return a[i]

    x.add_(1)
    y = x * 2
    return pick(y, index) + 1


def test_later_failure_behind_a_write_is_raised_where_the_user_sees_it():
    """The same graph has run before, for other data: it isn't run twice."""
    good, bad = torch.tensor([0, 1]), torch.tensor([0, 9])
    check_calls(
        picks,
        [((X, good), {}), ((X, bad), {}), ((X, good), {}), ((X, bad), {})],
        graphs=1,
    )


NEAR = torch.tensor([0, 1])
FAR = torch.tensor([0, 9])
ROWS = torch.arange(6.0).reshape(3, 2)

# A call that fails for some data, data for which it doesn't, data for which it
# does.
FAILING = {
    "index": (lambda v: ROWS[v], NEAR, FAR),
    "index-put": (lambda v: ROWS.clone().index_put_((v,), X[0]), NEAR, FAR),
    "index-select": (lambda v: ROWS.index_select(0, v), NEAR, FAR),
    "index-add": (lambda v: ROWS.index_add(0, v, ROWS[:2]), NEAR, FAR),
    "gather": (lambda v: X.gather(0, v), NEAR, FAR),
    "scatter": (lambda v: X.scatter(0, v, 1.0), NEAR, FAR),
    "take": (lambda v: X.take(v), NEAR, FAR),
    "embedding": (lambda v: F.embedding(v, ROWS), NEAR, FAR),
    "one-hot": (lambda v: F.one_hot(v, 3), NEAR, FAR),
    "nll-loss": (lambda v: F.nll_loss(ROWS[:2], v), NEAR, FAR),
    "cross-entropy": (lambda v: F.cross_entropy(ROWS[:2], v), NEAR, FAR),
    "floor-divide": (lambda v: 3 // v, NEAR + 1, NEAR),
    "remainder": (lambda v: NEAR.remainder(v), NEAR + 1, NEAR),
    "div": (lambda v: NEAR.div(v, rounding_mode="trunc"), NEAR + 1, NEAR),
    "bincount": (lambda v: v.bincount(minlength=3).sum(), NEAR, -NEAR),
    "repeat-interleave": (
        lambda v: X[:2].repeat_interleave(v, output_size=1), NEAR, -NEAR
    ),
    "masked-scatter": (
        lambda v: X.masked_scatter(X < v[1], X[:2]), NEAR, NEAR + 3
    ),
    "multinomial": (lambda v: v.multinomial(1), X, -X),
    "bernoulli": (lambda v: v.bernoulli(), X / 9, X),
    "normal": (lambda v: torch.normal(X, v), X, -X),
    "binary-cross-entropy": (
        lambda v: F.binary_cross_entropy(v, X / 3), X / 9, X
    ),
    "inv": (lambda v: torch.linalg.inv(v), torch.eye(2), torch.zeros(2, 2)),
    "solve": (
        lambda v: torch.linalg.solve(v, X[:2]), torch.eye(2), torch.zeros(2, 2)
    ),
    "cholesky": (
        lambda v: torch.linalg.cholesky(v), torch.eye(2), -torch.eye(2)
    ),
    "eigh": (
        lambda v: torch.linalg.eigvalsh(v),
        torch.eye(2),
        torch.full((2, 2), torch.nan),
    ),
    "int-of-a-float": (lambda v: int(v[1]) + X, X, X * torch.inf),
    "big-int": (lambda v: int(v[1] * 4) + X, X, X * 2.0**70),
    "assertion": (lambda v: torch._assert_async(v[1] > 0), X, -X),
    "number": (lambda v: X[v[1]], NEAR, FAR),
    "number-and-dots": (lambda v: X[v[1], ...], NEAR, FAR),
    "item": (lambda v: X[v[1].item()], NEAR, FAR),
    "int": (lambda v: X[int(v[1])], NEAR, FAR),
    "select": (lambda v: X.select(0, v[1].item()), NEAR, FAR),
    "topk": (lambda v: X.topk(v[1].item()).values, NEAR, FAR),
    "split": (lambda v: X[:1].split(v.tolist())[1], NEAR, FAR),
    "check": (lambda v: torch._check(bool(v[1] < 5)), NEAR, FAR),
    "not-used": (lambda v: (X[v], v)[1], NEAR, FAR),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize("name", FAILING)
def test_failure_of_a_later_run_is_what_it_is_in_plain_python(name):
    call, good, bad = FAILING[name]

    def catches(x, notes, v):
        x.add_(1)
        notes.append("begun")
        try:
            result = call(v)
        except (RuntimeError, IndexError, ValueError, OverflowError) as error:
            notes.append(type(error))
            result = x * 2
        return result, x + 1

    def leaves(x, notes, v):
        notes.append("begun")
        x.add_(1)
        result = call(v)
        notes.append("done")
        return result

    def in_front_of_a_write(x, notes, v):
        notes.append("begun")
        try:
            result = call(v)
        except (RuntimeError, IndexError, ValueError, OverflowError) as error:
            notes.append(type(error))
            result = x * 2
        x.add_(1)
        return result, x + 1

    def leaves_in_front_of_a_write(x, notes, v):
        try:
            notes.append("begun")
            result = call(v)
        finally:
            notes.append("done")
            x.add_(1)
        return result

    for program in (
        catches,
        leaves,
        in_front_of_a_write,
        leaves_in_front_of_a_write,
    ):
        check_calls(
            program,
            [((X, [], v), {}) for v in (good, good, bad, bad, good)],
        )


ERRORS = [
    lambda x, b: torch.amax(x[:0]),
    lambda x, b: torch.amin(x.reshape(2, 2)[:, :0], 1),
    lambda x, b: torch.trace(x.reshape(1, 2, 2)),
    lambda x, b: torch.cat([]),
    lambda x, b: torch.unbind(x.sum()),
    lambda x, b: F.max_pool1d(x, 2),
    lambda x, b: F.max_pool1d(x.reshape(1, 4), 2, stride=0),
    lambda x, b: F.gelu(x, approximate="roughly"),
    lambda x, b: F.softshrink(x, -0.5),
    lambda x, b: F.layer_norm(x.reshape(2, 2), [3]),
    lambda x, b: x - b,
    lambda x, b: b - True,
    lambda x, b: -b,
    lambda x, b: x.masked_fill(b, 1j),
    lambda x, b: x.masked_scatter(x, x),
    lambda x, b: torch.sin(x.half().to(torch.complex32)),
    lambda x, b: torch.bucketize(x, x.reshape(2, 2)),
    lambda x, b: x.gather(0, torch.tensor([9])),
    lambda x, b: torch.roll(x.sum(), 0, 0),
    lambda x, b: torch.empty_permuted((2, 3), (0, 0)),
    lambda x, b: x @ x.reshape(2, 2),
    lambda x, b: x.reshape(3),
    lambda x, b: x.foo,
    lambda x, b: torch.add(x),
]


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_caught_errors_have_the_operators_words(number):
    call = ERRORS[number]

    def program(x, b):
        x.add_(1)
        try:
            return call(x, b)
        except (AttributeError, IndexError) as error:
            return "lookup", type(error), str(error)
        except Exception as error:
            return type(error), str(error)

    check(program, X, BOOLS, calls=2)


def test_leaves_are_not_written_to_by_what_was_compiled_for_others():
    """torch refuses it, and what the function did before must be done."""
    notes = []

    def program(x, y):
        notes.append("before")
        x += y
        return x

    def call(function, is_leaf):
        x = torch.ones(2, requires_grad=True)
        notes.clear()
        try:
            result = str(function(x if is_leaf else x * 2, torch.ones(2)))
        except RuntimeError as error:
            result = str(error)
        return result, list(notes)

    compiled = magneto.compile(program, backend="eager")
    for is_leaf in (False, False, True, True, False):
        assert call(compiled, is_leaf) == call(program, is_leaf)


def test_versions_count_what_plain_python_writes():
    def program(x, y, mask):
        x.add_(1)
        try:
            y[mask > 0] = 2
        except IndexError:
            return x + 1
        return y

    def versions(call):
        x, y = X.clone(), PAIRS.clone()
        for _ in range(2):
            call(x, y, X)
        return x._version, y._version

    compiled = magneto.compile(program, backend="eager")
    assert versions(program) == versions(compiled)


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
def test_writes_through_data_are_undone():
    """Such writes count no version of the tensor itself."""

    def program(x, y, mask, notes):
        notes.append(0)
        x.data.add_(1)
        try:
            y[mask > 0] = 2
        except IndexError:
            return x + 1
        return y

    check(program, X, PAIRS, X, [])
    check(program, X.clone().requires_grad_(), PAIRS, X, [])


def test_a_number_that_gets_too_large():
    def program(y, notes):
        for _ in range(9):
            notes.append(0)
            x = y.detach().clone()
            y.data.mul_(int(x[3] * 4))

    check(program, torch.linspace(0.5, 2.0, 4), [])


# Writes to memory that is met twice.
OVERLAPS = {
    "add": lambda row: row.expand(2, 3).add_(1),
    "copy": lambda row: row.expand(2, 3).copy_(torch.ones(2, 3)),
    "data": lambda row: row.expand(2, 3).data.mul_(2),
    "random": lambda row: row.expand(2, 3).data.normal_(),
    "cumsum": lambda row: row.expand(2, 3).data.cumsum_(0),
    "out": lambda row: torch.add(X[:3], 1, out=row.data.expand(2, 3)),
    "part": lambda row: row.data[1:].add_(row.data[:2]),
    "part-copied": lambda row: row.data[1:].copy_(row.data[:2]),
    "part-item": lambda row: row.data.__setitem__(slice(1, 3), row.data[:2]),
    "transposed": lambda row: (m := row.new_ones(2, 2)).add_(m.t()),
    "indices": lambda row: row.data.scatter_(0, torch.arange(3), row.data),
    "values": lambda row: row.data.__setitem__(X[:3] >= 0, row.data),
    "filled": lambda row: row.data.expand(2, 3).fill_(3),
    "itself": lambda row: row.data.add_(row.data),
    "behind": lambda row: row.data[2:].add_(row.data[:1]),
}
HARMLESS = ["filled", "itself", "behind"]


@pytest.mark.parametrize("name", OVERLAPS)
def test_writes_to_memory_that_is_met_twice(name):
    """No call of a graph may fail here: the view's history can't be undone."""

    def program(x, row, weight, notes):
        x.mul_(weight)
        try:
            OVERLAPS[name](row)
        except RuntimeError as error:
            notes.append(str(error))
        return x * 2, row.requires_grad

    def outcome(function):
        torch.manual_seed(0)
        x, notes = PAIRS.clone(), []
        given = x, x[1], torch.ones(3, requires_grad=True)
        result, requires_grad = function(*given, notes)
        return result.tolist(), requires_grad, x.tolist(), notes

    expected = outcome(program)
    assert bool(expected[-1]) == (name not in HARMLESS)
    compiled = magneto.compile(program, backend="eager")
    breaks = magneto.stats()["graph_breaks"]
    assert [outcome(compiled) for _ in range(2)] == [expected] * 2
    breaks = magneto.stats()["graph_breaks"] - breaks
    assert (breaks > 0) == (name not in HARMLESS)


def view_of(tensor):
    return tensor.view(-1)[1:]


HISTORIES = {
    "a view of what was computed": lambda: view_of(
        torch.ones(4, requires_grad=True) * 2
    ),
    "a view that gets a history": lambda: view_of(torch.ones(4)),
    "a view whose gradient is kept": lambda: retaining(
        view_of(torch.ones(4, requires_grad=True) * 2)
    ),
    "what keeps its gradient": lambda: retaining(
        torch.ones(3, requires_grad=True) * 2
    ),
}


def retaining(tensor):
    tensor.retain_grad()
    return tensor


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize("make", HISTORIES.values(), ids=HISTORIES)
def test_the_history_of_views_is_put_back(make):
    def program(x, weight, flags, notes):
        notes.append(0)
        x.mul_(weight)
        try:
            y = torch.relu(flags)
        except RuntimeError as error:
            notes.append(str(error))
            y = x * x
        return y

    def run(call):
        x, weight, notes = make(), torch.full((3,), 3.0, requires_grad=True), []
        base = x if x._base is None else x._base
        # With a history that is made anew, and one that was looked at.
        others = [base.view(-1)[:2], base.view(-1)[:2]]
        seen = type(others[1].grad_fn).__name__
        y = call(x, weight, torch.ones(3) > 0, notes)
        (y.sum() + base.sum() + sum(o.sum() for o in others)).backward()
        return (
            y, x, weight.grad, notes, seen, x.grad, x.requires_grad,
            [type(t.grad_fn).__name__ for t in (x, base, *others)],
        )  # fmt: skip

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert str(run(compiled)) == str(run(program))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_versions_of_parameters_are_put_back(mode):
    def program(weight, expanded):
        weight.zero_()
        try:
            expanded[[0]] = expanded
        except RuntimeError:
            return weight + 1
        return weight

    def run(call):
        weight = torch.nn.Parameter(torch.ones(3))
        plain = weight.detach()
        with mode():
            call(weight, torch.ones(2, 6)[:, ::2])
        return weight._version, plain._version

    compiled = magneto.compile(program, backend="eager", dynamic=True)
    assert run(compiled) == run(program)


class Reversed(torch.autograd.Function):
    """Gives a view, which autograd gives up when its base is written to."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


def uses_a_view(x, view, weight):
    notes = []
    x.data.add_(1)
    try:
        notes.append("begun")
        y = view * weight
    except RuntimeError as error:
        notes.append(str(error)[:70])
        y = x * 2
    return y, notes


def undifferentiated(base):
    base = base.detach()
    with torch.no_grad():
        return base, base[:]


REFUSED = {
    "a Function's": lambda base: (base, Reversed.apply(base)),
    "one of several": lambda base: (base, base.unbind(0)[0]),
    "made where nothing is differentiated": undifferentiated,
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_view_that_autograd_refuses_in_a_later_call(make):
    """The first calls run, so nothing is kept that would undo the write."""

    def results(call):
        found = []
        for is_refused in (False, False, True, True):
            weight = torch.ones(3, requires_grad=True)
            x = torch.zeros(3)
            base, view = make(torch.ones(2, 3, requires_grad=True) * 1)
            if is_refused:
                base.add_(weight)
            y, notes = call(x, view, weight)
            found.append((y.tolist(), notes, x.tolist()))
        return found

    compiled = magneto.compile(uses_a_view, backend="eager")
    expected = results(uses_a_view)
    assert len(expected[-1][1]) == 2, "refused"
    assert results(compiled) == expected
