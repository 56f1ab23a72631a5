# SPDX-License-Identifier: BSD-3-Clause
"""What a training step does besides computing: hooks that run, gradients that
are accumulated, set and dropped, parameters that are written to.
"""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad, graph

import magneto
from support.texts_of_tensors import text_of

CASES = {}


def case(make):
    """`make` gives a program over one tensor; it is called for each run, so
    that modules and logs are new."""
    CASES[make.__name__] = make
    return make


def filled(module, number=0.3):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(number)
    return module


@case
def hook_on_an_intermediate():
    log = []

    def program(x):
        y = x * 2
        y.register_hook(lambda grad: (log.append(grad.clone()), grad * 3)[1])
        (y * y).sum().backward()
        return x.grad, log

    return program


@case
def hook_on_a_leaf():
    def program(x):
        hook = x.register_hook(lambda grad: grad * 2)
        (x * x).sum().backward()
        hook.remove()
        return x.grad

    return program


@case
def hook_after_accumulation():
    log = []

    def program(x):
        hook = x.register_post_accumulate_grad_hook(
            lambda leaf: log.append(leaf.grad.clone())
        )
        (x * x).sum().backward()
        hook.remove()
        return log

    return program


@case
def hook_on_many():
    log = []

    def program(x):
        y, z = x * 2, x * 3
        graph.register_multi_grad_hook(
            [y, z], lambda grads: log.append([each.clone() for each in grads])
        )
        (y * z).sum().backward()
        return log

    return program


@case
def hooks_on_saved_tensors():
    log = []

    def pack(tensor):
        log.append(tensor.shape)
        return tensor

    def program(x):
        with graph.saved_tensors_hooks(pack, lambda packed: packed * 2):
            y = (x * x).sum()
        y.backward()
        return x.grad, log

    return program


@case
def backward_hook_of_a_module():
    module, log = filled(nn.Linear(3, 3)), []
    module.register_full_backward_hook(
        lambda module, inputs, outputs: log.append(outputs[0].clone())
    )

    def program(x):
        module(x).sum().backward()
        return log, module.weight.grad

    return program


@case
def retained():
    def program(x):
        y = x * 2
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad, x.grad

    return program


@case
def twice_differentiated():
    def program(x):
        (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        return first, second

    return program


@case
def dropped_and_zeroed():
    def program(x):
        x.grad = None
        (x * x).sum().backward()
        first = x.grad.clone()
        x.grad.zero_()
        (x * 3).sum().backward()
        return first, x.grad

    return program


@case
def accumulated():
    def program(x):
        for i in range(3):
            (x * i).sum().backward()
        return x.grad

    return program


@case
def gradient_is_set():
    def program(x):
        x.grad = torch.ones(3, 3) * 4
        (x * 2).sum().backward()
        return x.grad

    return program


@case
def new_leaf():
    def program(x):
        y = x.detach().requires_grad_()
        (y * x).sum().backward()
        return y.grad, x.grad, y.requires_grad, y.is_leaf

    return program


@case
def detached_in_place():
    def program(x):
        y = x * 2
        y.detach_()
        return y.requires_grad, y.grad_fn is None, y

    return program


@case
def data_is_replaced():
    def program(x):
        x.data = torch.ones(3, 3)
        x.data.mul_(3)
        return x * 1, x.requires_grad

    return program


@case
def data_is_written():
    def program(x):
        x.data.add_(1)
        (x * x).sum().backward()
        return x.grad

    return program


@case
def leaf_is_written():
    def program(x):
        try:
            x.add_(1)
        except RuntimeError as error:
            return str(error)

    return program


@case
def views_are_written():
    def program(x):
        y = x * 1
        y[0] = 5
        y[1:].mul_(2)
        (y * y).sum().backward()
        return x.grad, y

    return program


@case
def saved_tensor_is_written():
    def program(x):
        y = x.exp()
        y.add_(1)
        try:
            y.sum().backward()
        except RuntimeError:
            return "refused", x.grad

    return program


@case
def step_of_sgd():
    module = filled(nn.Linear(3, 2))
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)

    def program(x):
        optimizer.zero_grad()
        loss = module(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss, [each.clone() for each in module.parameters()]

    return program


@case
def step_with_a_schedule():
    module = filled(nn.Linear(3, 2))
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def program(x):
        optimizer.zero_grad()
        module(x).pow(2).sum().backward()
        nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        return [
            each.clone() for each in module.parameters()
        ], schedule.get_last_lr()

    return program


@case
def moving_average():
    module = filled(nn.Linear(3, 2))
    average = copy.deepcopy(module)

    def program(x):
        with torch.no_grad():
            for mine, new in zip(
                average.parameters(), module.parameters(), strict=True
            ):
                mine.mul_(0.9).add_(new + 1, alpha=0.1)
        return average(x)

    return program


@case
def frozen_for_a_while():
    module = filled(nn.Linear(3, 2))

    def program(x):
        module(x).sum().backward()
        before = module.weight.grad.clone()
        module.zero_grad()
        module.requires_grad_(False)
        y = module(x.detach())
        module.requires_grad_(True)
        return before, module.weight.grad, y.requires_grad

    return program


@case
def without_gradients():
    @torch.no_grad()
    def double(x):
        return x * 2

    def program(x):
        y = double(x)
        (x * y).sum().backward()
        return y.requires_grad, x.grad, torch.is_grad_enabled()

    return program


@case
def anomalies_are_looked_for():
    def program(x):
        with torch.autograd.detect_anomaly(check_nan=False):
            y = (x * 2).sum()
        y.backward()
        return x.grad

    return program


@case
def checkpointed():
    def program(x):
        y = torch.utils.checkpoint.checkpoint(
            lambda each: torch.sin(each) * each, x, use_reentrant=False
        )
        y.sum().backward()
        return x.grad

    return program


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 10


@case
def backward_of_the_programs():
    def program(x):
        Square.apply(x).sum().backward()
        return x.grad

    return program


@case
def running_statistics():
    module = nn.BatchNorm1d(3)

    def program(x):
        y = module(x)
        return y, module.running_mean.clone(), module.num_batches_tracked + 0

    return program


@case
def drawn():
    def program(x):
        return F.dropout(x, 0.5), torch.rand(2)

    return program


@case
def functions_of_the_graph():
    def program(x):
        y = (x * 2).sin()
        before = y.grad_fn.next_functions[0][0]
        return y.grad_fn.name(), before.name()

    return program


@case
def forward_mode():
    def program(x):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x.detach(), torch.ones(3, 3))
            return forward_ad.unpack_dual(dual * dual).tangent

    return program


@case
def transforms():
    module = nn.Linear(3, 1)

    def program(x):
        parameters = {"weight": torch.ones(1, 3), "bias": torch.zeros(1)}
        return (
            torch.func.functional_call(module, parameters, (x,)),
            torch.func.grad(lambda each: (each * each).sum())(x.detach()),
            torch.func.vmap(lambda each: each * 2)(x.detach()),
        )

    return program


@case
def memory_is_shared_with_numpy():
    def program(x):
        array = x.detach().numpy()
        array[0] = 9
        return x * 1, torch.from_numpy(array) * 2

    return program


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_effects(name):
    def outcomes(is_compiled):
        torch.manual_seed(1)
        program = CASES[name]()
        if is_compiled:
            program = magneto.compile(program, backend="eager")
        for _ in range(3):
            x = torch.arange(9.0).reshape(3, 3).requires_grad_()
            # Numbers, order of what was logged, and gradients, as text.
            yield text_of((program(x), x, x.grad, torch.rand(1)))

    assert list(outcomes(True)) == list(outcomes(False))


# A view's history is made when somebody asks for it, and allows then what torch
# refuses without: programs over a tensor, a view of it, another one that gets
# the tensor's history, a weight that requires grad, and notes.
def asks_behind_a_break(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    notes.append((view.is_leaf, view.requires_grad, other.is_leaf))
    view.fill_(2)


def asks_at_once(x, view, other, weight, notes):
    x *= weight
    notes.append((view.requires_grad, view.is_leaf, view.grad_fn is None))
    view.fill_(2)


def asks_another(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    notes.append(other.is_leaf)
    view.fill_(2)


def asks_nobody(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    notes.append(view.requires_grad)
    view.fill_(2)


def reads_what_is_not_used(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    for _row in view:
        pass
    view.fill_(2)
    notes.append(view.is_leaf)


def reads_at_once(x, view, other, weight, notes):
    x *= weight
    view[0]
    view.fill_(2)


def calls_a_method(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    view.sum()
    view.fill_(2)


def calls_a_method_at_once(x, view, other, weight, notes):
    x *= weight
    view.sum()
    view.fill_(2)


def reads_without_gradients(x, view, other, weight, notes):
    x *= weight
    with torch.no_grad():
        view[0]
    view.fill_(2)


def computes(x, view, other, weight, notes):
    x *= weight
    magneto.graph_break()
    notes.append((view * 2).requires_grad)
    notes.append((other.is_leaf, view.is_leaf))
    view.fill_(2)


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize(
    "program",
    [
        asks_behind_a_break,
        asks_at_once,
        asks_another,
        asks_nobody,
        reads_what_is_not_used,
        reads_at_once,
        calls_a_method,
        calls_a_method_at_once,
        reads_without_gradients,
        computes,
    ],
    ids=lambda p: p.__name__,
)
def test_views_get_a_history_when_somebody_asks(program):
    def outcome(function):
        x, notes = torch.arange(6.0).view(2, 3), []
        given = x, x[1], x.t(), torch.ones(2, 3, requires_grad=True)
        try:
            function(*given, notes)
        except RuntimeError as error:
            notes.append(str(error))
        return notes, [t.tolist() for t in given], [t.is_leaf for t in given]

    compiled = magneto.compile(program, backend="eager")
    expected = outcome(program)
    assert [outcome(compiled) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_the_history_of_an_input_ends(backend, is_leaf):
    def program(x):
        y = x * 3
        x.detach_()
        x += 2
        return y, x * 1

    def run(call):
        weight = torch.ones(3, requires_grad=True)
        x = weight if is_leaf else weight * 1
        y, z = call(x)
        y.sum().backward()
        return y, z, x, x.requires_grad, weight.grad

    compiled = magneto.compile(program, backend=backend)
    for _ in range(2):
        ours, eagers = run(compiled), run(program)
        assert str(ours[1:]) == str(eagers[1:])
        assert torch.equal(ours[0], eagers[0])
