# SPDX-License-Identifier: BSD-3-Clause
"""Modules of torch.nn: their calls, parameters, hooks and scopes.

Compiled they give what they give eagerly, in one graph with the calls that
torch.compile's has.
"""

from collections import OrderedDict

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import magneto
from magneto.testing import (
    RecordingBackend,
    check,
    magneto_graph_calls,
    torch_graph_calls,
)

X = torch.arange(12.0).reshape(3, 4) / 7


class Block(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up = nn.Linear(size, 2 * size)
        self.down = nn.Linear(2 * size, size, bias=False)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("scale", torch.tensor(0.5))
        self.register_buffer("nothing", None)
        self.absent = None

    def forward(self, x, *, factor=1.0):
        y = self.down(F.gelu(self.up(self.norm(x))))
        if self.training:
            y = self.dropout(y)
        if self.nothing is None and self.absent is None:
            y = y * self.scale * factor
        return x + y


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.named = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.ReLU()})
        self.seq = nn.Sequential(
            OrderedDict(first=nn.Linear(4, 4), second=nn.Tanh())
        )
        self.weights = nn.ParameterList([torch.ones(4), torch.zeros(4)])
        self.table = nn.ParameterDict({"w": nn.Parameter(torch.ones(4))})

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = block(x, factor=i + 1.0)
        for key in self.named:
            x = self.named[key](x)
        for name, layer in self.named.items():
            if name == "a":
                x = layer(x)
        x = self.seq(x)
        for weight in self.weights:
            x = x + weight
        return self.blocks[-1](x) * self.table["w"], len(self.blocks)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Stack()

    def forward(self, x):
        total = 0
        for parameter in self.parameters():
            total = total + parameter.sum()
        names = [name for name, _ in self.named_parameters()]
        kinds = [type(m).__name__ for m in self.inner.children()]
        return self.inner(x)[0] + total, names, kinds


@pytest.mark.parametrize("make", [Block, Stack, Outer])
@pytest.mark.parametrize("training", [True, False])
def test_compiled_is_eager(make, training):
    torch.manual_seed(0)
    module = make().train(training)
    check(module, X, fullgraph=True, backward=training)


@pytest.mark.parametrize("make", [Block, Stack, Outer])
def test_has_torch_compile_calls(make):
    torch.manual_seed(0)
    module = make().eval()
    assert magneto_graph_calls(module, X) == torch_graph_calls(module, X)


def test_hooks_are_called():
    module = Block().eval()
    module.up.register_forward_hook(lambda m, args, out: out * 2)
    module.norm.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    module.register_forward_hook(
        lambda m, args, kwargs, out: out + kwargs["factor"], with_kwargs=True
    )
    check(lambda x: module(x, factor=2.0), X, fullgraph=True)


def test_hook_added_later_recompiles():
    module = Block().eval()
    compiled = magneto.compile(module, backend="eager", fullgraph=True)
    plain = compiled(X)
    handle = module.up.register_forward_hook(lambda m, args, out: out * 2)
    hooked = compiled(X)
    assert torch.equal(hooked, module(X))
    assert not torch.equal(hooked, plain)
    handle.remove()
    assert torch.equal(compiled(X), plain)


def test_missing_attribute_raises():
    module = Block()

    def read(x):
        try:
            return module.missing
        except AttributeError as error:
            return x + 1, str(error)

    check(read, X, fullgraph=True)
    assert not hasattr(module, "missing")
    check(lambda x: (hasattr(module, "missing"), x + 1), X, fullgraph=True)


def scopes(gm):
    """What each call's module stack says: paths and classes."""
    return [
        [(path, kind) for path, kind in node.meta["nn_module_stack"].values()]
        if node.meta.get("nn_module_stack")
        else []
        for node in gm.graph.nodes
        if node.op.startswith("call")
    ]


def test_module_stack_is_that_of_torch_compile():
    module = Stack().eval()
    ours, theirs = RecordingBackend(), RecordingBackend()
    magneto.compile(module, backend=ours)(X)
    torch._dynamo.reset()
    torch.compile(module, backend=theirs)(X)
    torch._dynamo.reset()
    assert scopes(ours.graphs[0]) == scopes(theirs.graphs[0])


class Raising(torch.nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.breaks = breaks
        self.raises = True

    def forward(self, x):
        if self.breaks:
            magneto.graph_break()
        if self.raises:
            raise KeyError("forward")
        return x + 1


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("breaks", [False, True])
def test_hook_is_called(everywhere, breaks):
    module = Raising(breaks)
    log = []

    def hook(module, args, output):
        log.append(type(output).__name__)
        module.count.add_(1)

    def program(x):
        try:
            return module(x)
        except KeyError:
            return x * 2

    def outcome(call):
        log.clear()
        module.count.zero_()
        return call(torch.ones(1)), [*log], module.count.item()

    compiled = magneto.compile(program, backend="eager")
    register = (
        register_module_forward_hook
        if everywhere
        else module.register_forward_hook
    )
    with register(hook, always_call=True):
        for module.raises in (True, False, True):
            assert outcome(compiled) == outcome(program)
    assert outcome(compiled) == outcome(program)
    assert log == []


class Doubling(OrderedDict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class OwnCall(torch.nn.Linear):
    def _call_impl(self, *args, **kwargs):
        return super()._call_impl(*args, **kwargs) * 10


def test_modules_that_are_called_in_a_way_of_their_own():
    module, plain = OwnCall(4, 2), torch.nn.Linear(4, 2)

    def program(x):
        return module(x), plain(x)

    def agrees():
        return all(
            map(
                torch.equal,
                compiled(torch.arange(4.0)),
                program(torch.arange(4.0)),
            )
        )

    compiled = magneto.compile(program, backend="eager")
    assert agrees()
    plain._call_impl = lambda x: x * 5
    assert agrees()
    del plain._call_impl
    OwnCall._call_impl = lambda self, x: x * 7
    assert agrees()
    del OwnCall._call_impl
    assert agrees()


def test_parameters_in_a_dictionary_of_another_class():
    module = torch.nn.Linear(4, 2)
    own = Doubling()
    for name, parameter in module._parameters.items():
        OrderedDict.__setitem__(own, name, parameter)
    module._parameters = own
    compiled = magneto.compile(module, backend="eager")
    assert torch.equal(compiled(torch.arange(4.0)), module(torch.arange(4.0)))
