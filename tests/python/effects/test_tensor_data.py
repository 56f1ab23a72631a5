# SPDX-License-Identifier: BSD-3-Clause
"""`tensor.data = other`: the tensor has the other's memory from then on, and
keeps its history. It is one graph; PyTorch's compilers leave it uncompiled.
"""

import copy

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, compare

BACKENDS = ["eager", "aot_eager", "inductor"]


def clipped(x, y):
    x.data = x.data.clamp(-1, 1)
    return x * y


def given(x, y):
    x.data = y
    return x * 2


def written_behind(x, y):
    x.data = y
    y.add_(1)
    return x * 2


def written_through(x, y):
    x.data = y
    with torch.no_grad():
        x.add_(1)
    return y * 2


def old_view(x, y):
    view = x.detach()[0]
    x.data = y
    with torch.no_grad():
        x.mul_(3)
    return view + 1


def old_memory(x, y):
    old = x.data
    x.data = x.data * 2
    return old + x


def another_shape(x, y):
    x.data = y[:1, 1:]
    return x + 1, x.shape


def another_layout(x, y):
    x.data = y.t()
    return x.stride(), x.is_contiguous(), x @ y


def swapped(x, y):
    x.data, y.data = y.data, x.data
    return x - y


def swapped_twice(x, y):
    for _ in range(2):
        x.data, y.data = y.data, x.data
    return x - y


def of_a_result(x, y):
    z = x * 2
    z.data = y.clone()
    return z * z


def of_a_result_to_the_callers(x, y):
    z = x * 2
    y.data = z
    return y + 1, z


def average(x, y):
    y.data = 0.9 * y.data + 0.1 * x.detach()
    return x * y


def with_a_gradient(x, y):
    z = (x * y).sum()
    x.data = x.data - 0.1 * x.data
    return z + x.sum()


def a_number(x, y):
    number = torch.tensor(3.0)
    number.data = torch.tensor(5.0)
    return x * number.item()


def a_number_in_another(x, y):
    number, other = torch.tensor(3.0), torch.tensor(5.0)
    number.data = other
    number.add_(1)
    return x * other.item()


def in_a_loop(x, y):
    for i in range(3):
        x.data = x.data + y * i
    return x.sum()


PROGRAMS = [
    clipped, given, written_behind, written_through, old_view, old_memory,
    another_shape, another_layout, swapped, swapped_twice, of_a_result,
    of_a_result_to_the_callers, average, with_a_gradient, in_a_loop,
]  # fmt: skip
# They ask what a tensor holds.
BREAKING = [a_number, a_number_in_another]


def operands(kind):
    x = torch.arange(9.0).reshape(3, 3) - 4
    y = torch.arange(9.0).reshape(3, 3).flip(0)
    if kind == "parameter":
        return torch.nn.Parameter(x), y
    if kind == "views":
        return torch.cat([x, x])[1:4], torch.cat([y, y])[2:5]
    return x, y


def run(call, kind):
    x, y = operands(kind)
    result = call(x, y)
    gradient = None
    first = result[0] if isinstance(result, tuple) else result
    if isinstance(first, torch.Tensor) and first.requires_grad:
        first.sum().backward()
        gradient = x.grad
    before = x.detach().clone(), y.detach().clone()
    with torch.no_grad():
        x.fill_(7)
    # Which share memory now, and are writes to x seen in y?
    return result, gradient, before, x, y.detach().clone(), x._version


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["plain", "parameter", "views"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_memory_is_given(f, kind, backend, dynamic):
    magneto.reset()
    inner = (
        None if backend == "eager" else torch._dynamo.lookup_backend(backend)
    )
    recorded = RecordingBackend(inner)
    call = magneto.compile(f, backend=recorded, fullgraph=True, dynamic=dynamic)
    expected = run(f, kind)
    for _ in range(2):
        compare(expected, run(call, kind))
    assert len(recorded.graphs) == 1


@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize("f", BREAKING, ids=lambda f: f.__name__)
def test_numbers_that_are_known_are_not_given_memory(f, backend):
    magneto.reset()
    call = magneto.compile(f, backend=backend)
    compare(run(f, "plain"), run(call, "plain"))


class Clipped(torch.nn.Module):
    """Weight clipping, as WGANs have it."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        for parameter in self.parameters():
            parameter.data = parameter.data.clamp(-0.1, 0.1)
        return self.layer(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_in_training(backend):
    torch.manual_seed(0)
    ours = Clipped()
    theirs = copy.deepcopy(ours)
    call = magneto.compile(ours, backend=backend, fullgraph=True)
    steps = []
    for module, forward in ((theirs, theirs), (ours, call)):
        optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
        steps.append([])
        for size in (2, 2, 4):
            optimizer.zero_grad()
            loss = forward(torch.ones(size, 3)).sum()
            loss.backward()
            optimizer.step()
            steps[-1].append((loss.detach(), copy.deepcopy(module)))
    for (loss, one), (other_loss, other) in zip(*steps):
        compare(loss, other_loss)
        compare(list(one.parameters()), list(other.parameters()))


def test_what_cant_be_given_is_plain_pythons_error():
    def f(x, y):
        x.data = y
        return x

    call = magneto.compile(f, backend="eager")
    for data in (torch.ones(3, dtype=torch.int32), 3, None):
        errors = []
        for each in (f, call):
            x = torch.ones(3)
            try:
                each(x, data)
                errors.append(x)
            except (RuntimeError, TypeError) as error:
                errors.append((type(error), str(error)))
        compare(errors[0], errors[1])
