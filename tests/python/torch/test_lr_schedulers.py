# SPDX-License-Identifier: BSD-3-Clause
"""Learning rate schedulers. Where the learning rate is a float they are traced,
and compute nothing; where it is a tensor their bookkeeping, which is another
one in each step, runs in plain Python, as under torch.compile.
"""

import pytest
import torch
from torch.optim import lr_scheduler

import magneto
from support.compiled_calls import Recorder, moved

BACKENDS = ["eager", "aot_eager"]
STEPS = 8
X = torch.linspace(-1, 1, 12).view(4, 3)

# By name: the arguments behind the optimizer.
SCHEDULERS = {
    "StepLR": {"step_size": 3},
    "MultiStepLR": {"milestones": [2, 4]},
    "ConstantLR": {},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {"total_iters": 5},
    "CosineAnnealingLR": {"T_max": 5},
    "CosineAnnealingWarmRestarts": {"T_0": 3},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 20},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 0.2, "cycle_momentum": False},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.9**epoch},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9},
    "ReduceLROnPlateau": {"patience": 1},
    "ChainedScheduler": {},
    "SequentialLR": {},
}


def make(name, optimizer):
    if name == "ChainedScheduler":
        return lr_scheduler.ChainedScheduler(
            [
                lr_scheduler.ConstantLR(optimizer, total_iters=2),
                lr_scheduler.ExponentialLR(optimizer, gamma=0.9),
            ],
            optimizer=optimizer,
        )
    if name == "SequentialLR":
        return lr_scheduler.SequentialLR(
            optimizer,
            [
                lr_scheduler.ConstantLR(optimizer, total_iters=2),
                lr_scheduler.ExponentialLR(optimizer, gamma=0.9),
            ],
            milestones=[3],
        )
    return getattr(lr_scheduler, name)(optimizer, **SCHEDULERS[name])


class Run:
    """A model in training: what a step does is compiled, or not."""

    def __init__(self, name, rate):
        torch.manual_seed(0)
        self.model = torch.nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.scheduler = make(name, self.optimizer)
        self.takes_metric = name == "ReduceLROnPlateau"
        # The first step warns where the optimizer has made none.
        self.optimizer.step()
        self.advance(0)

    def advance(self, i):
        if self.takes_metric:
            self.scheduler.step(1.0 if i % 3 else 0.9)
        else:
            self.scheduler.step()

    def schedule(self, i):
        """Only that."""
        self.advance(i)

    def train(self, i):
        self.optimizer.zero_grad()
        loss = self.model(X).square().sum()
        loss.backward()
        self.optimizer.step()
        self.advance(i)
        return loss

    def rates(self, step):
        found = []
        for i in range(STEPS):
            step(i)
            (group,) = self.optimizer.param_groups
            assert type(group["lr"]) is type(self.optimizer.defaults["lr"])
            found.append(float(group["lr"]))
        weight = [float(each.sum()) for each in self.model.parameters()]
        return found, weight


def outcome(name, rate, method, compiler=None, backend=None, **options):
    torch._dynamo.reset()
    magneto.reset()
    run = Run(name, rate() if callable(rate) else rate)
    step = getattr(run, method)
    if compiler:
        step = compiler(step, backend=backend, **options)
    return run.rates(step)


def tensor_rate():
    return torch.tensor(0.1)


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rate", [0.1, tensor_rate], ids=["float", "tensor"])
@pytest.mark.parametrize("method", ["schedule", "train"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_are_those_of_eager(name, method, rate, backend):
    expected = outcome(name, rate, method)
    found = outcome(name, rate, method, magneto.compile, backend)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_rates_are_those_of_eager_with_inductor():
    name = "ReduceLROnPlateau"
    expected = outcome(name, tensor_rate, "schedule")
    found = outcome(name, tensor_rate, "schedule", magneto.compile, "inductor")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("rate", [0.1, tensor_rate], ids=["float", "tensor"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_bookkeeping_makes_no_graph(name, rate):
    ours, peers = Recorder(), Recorder()
    outcome(name, rate, "schedule", magneto.compile, ours)
    outcome(name, rate, "schedule", torch.compile, peers)
    assert ours.graphs == 0
    assert ours.graphs <= peers.graphs


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_schedule_adds_no_graph_to_a_training_step(name):
    # Under torch.compile there are one or two, in which optimizers differ.
    graphs = {}
    for rate in (0.1, tensor_rate):
        recorder = Recorder()
        outcome(name, rate, "train", magneto.compile, recorder)
        graphs[rate] = recorder.graphs
    assert graphs[tensor_rate] <= min(graphs[0.1], 3)


def test_no_new_compilations_once_all_was_seen():
    magneto.reset()
    run = Run("StepLR", tensor_rate())
    call = magneto.compile(run.schedule, backend="eager")
    for i in range(4):
        call(i)
    assert moved(lambda: [call(i) for i in range(20)]) == {}


@pytest.mark.parametrize("rate", [0.1, tensor_rate], ids=["float", "tensor"])
def test_a_full_graph_has_it(rate):
    expected = outcome("ExponentialLR", rate, "schedule")
    found = outcome(
        "ExponentialLR",
        rate,
        "schedule",
        magneto.compile,
        "eager",
        fullgraph=True,
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


class OwnScheduler(lr_scheduler.LRScheduler):
    def get_lr(self):
        return [group["lr"] * 0.5 for group in self.optimizer.param_groups]


def test_schedulers_of_the_program():
    def rates(compiler):
        optimizer = torch.optim.SGD([torch.ones(3)], lr=tensor_rate())
        scheduler = OwnScheduler(optimizer)
        optimizer.step()
        step = compiler(lambda: scheduler.step())
        found = []
        for _ in range(4):
            step()
            found.append(float(optimizer.param_groups[0]["lr"]))
        return found

    magneto.reset()
    recorder = Recorder()
    expected = rates(lambda step: step)
    assert (
        rates(lambda step: magneto.compile(step, backend=recorder)) == expected
    )
    assert recorder.graphs == 0
