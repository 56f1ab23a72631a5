# SPDX-License-Identifier: BSD-3-Clause
"""Graphs recorded by hand, so that what is made of them can be tested alone."""

import importlib.util
import operator
import os
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from support.paths import ROOT

KINDS = ("tensor", "parameter", "buffer", "number", "object")


def _library_folders():
    """Where test extensions may lie: in the folder that is asked for, beside
    the extension that is tested, else in the newest build."""
    if folder := os.environ.get("MAGNETO_TEST_LIB"):
        yield Path(folder)
    package = Path(os.environ.get("MAGNETO_PACKAGE", ROOT / "python"))
    yield from (path.resolve().parent for path in package.glob("magneto/_C.*"))
    builds = ROOT.glob("build*/lib")
    yield from sorted(
        builds, key=lambda path: path.stat().st_mtime, reverse=True
    )


def load_extension(name):
    for folder in _library_folders():
        for path in folder.glob(f"{name}.*"):
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError(f"the test extension {name} isn't built")


native = load_extension("magneto_graph_test")


class Recorder:
    """Records calls and runs them for real, to have example values."""

    def __init__(self):
        self.graph = native.new_graph()
        self.values = {}
        self.inputs = []
        self.origin = (-1, -1)

    def input(self, name, value, kind="tensor", path=""):
        """An input called `name`, `L['x']`, whose example is like `value`."""
        node = native.placeholder(
            self.graph,
            name,
            _example(value),
            KINDS.index(kind),
            path,
            self.origin,
        )
        self.values[int(node)] = _copy(value)
        self.inputs.append(value)
        return node

    def parameter(self, path, value):
        name = "L['self']" + "".join(
            f"._modules[{p!r}]" for p in path.split(".")[:-1]
        )
        leaf = path.split(".")[-1]
        return self.input(
            f"{name}._parameters[{leaf!r}]", value, "parameter", path
        )

    def call(self, target, *args, hint=None, **kwargs):
        """A call of a function, or of the method that a str names."""
        real_args, real_kwargs = pytree.tree_map(self._value, (args, kwargs))
        if isinstance(target, str):
            value = getattr(real_args[0], target)(*real_args[1:], **real_kwargs)
        else:
            value = target(*real_args, **real_kwargs)
        node = native.call(
            self.graph, target, args, kwargs, _example(value), self.origin
        )
        self.values[int(node)] = value
        if hint:
            native.hint(self.graph, node, hint)
        return node

    def attribute(self, name, value):
        node = native.get_attr(self.graph, name, value)
        self.values[int(node)] = value
        return node

    def at(self, code, instruction, caller=-1, scope=None):
        """Calls recorded from now on stand at this place."""
        place = native.location(self.graph, code, instruction, caller)
        self.origin = (place, -1 if scope is None else scope)
        return place

    def inside(self, module, path, outer=-1):
        """Calls recorded from now on stand in this module's forward."""
        scope = native.scope(self.graph, module, path, outer)
        self.origin = (self.origin[0], scope)
        return scope

    def finish(self, output, grad_enabled=True):
        return native.finish(self.graph, output, grad_enabled)

    def _value(self, leaf):
        if isinstance(leaf, slice):
            return slice(*map(self._value, (leaf.start, leaf.stop, leaf.step)))
        return self.values[int(leaf)] if type(leaf) is native.Ref else leaf


def from_fx(gm, inputs):
    """The same calls as in a graph that torch.compile captured."""
    recorder = Recorder()
    nodes = {}

    def argument(value):
        if isinstance(value, slice):
            parts = map(argument, (value.start, value.stop, value.step))
            return slice(*parts)
        if isinstance(value, dict):
            return {key: argument(item) for key, item in value.items()}
        if isinstance(value, list):
            return [argument(item) for item in value]
        if type(value) is tuple:
            return tuple(map(argument, value))
        return (
            nodes.get(value, value)
            if isinstance(value, torch.fx.Node)
            else value
        )

    values = iter(inputs)
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            static = node.meta["tensor_dict"].get("_dynamo_static_input_type")
            kind = "buffer" if static else "tensor"
            value = next(values)
            if isinstance(value, torch.nn.Parameter):
                kind = "parameter"
            name = node._dynamo_source.name
            nodes[node] = recorder.input(
                name, value, kind, name if static else ""
            )
        elif node.op == "get_attr":
            nodes[node] = recorder.attribute(
                node.target, getattr(gm, node.target)
            )
        elif node.op == "output":
            return recorder.finish(argument(node.args[0]))
        else:
            args, kwargs = argument(node.args), argument(node.kwargs)
            nodes[node] = recorder.call(node.target, *args, **kwargs)
    raise AssertionError("a graph without an output")


def _copy(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _example(value):
    """As the tracer's fake tensors: same metadata, not the same object."""
    return pytree.tree_map_only(torch.Tensor, _meta, value)


def _meta(tensor):
    like = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta"
    )
    return like.requires_grad_(tensor.requires_grad)


def linear_relu(bias=True):
    """relu(linear(x, weight, bias)).sum(-1), and the graph's inputs."""
    recorder = Recorder()
    weight = torch.nn.Parameter(torch.randn(4, 3))
    x = recorder.input("L['x']", torch.randn(2, 3))
    args = [x, recorder.parameter("layer.weight", weight)]
    if bias:
        vector = torch.nn.Parameter(torch.randn(4))
        args.append(recorder.parameter("layer.bias", vector))
    y = recorder.call(torch.nn.functional.linear, *args, hint="y")
    z = recorder.call(torch.relu, y)
    total = recorder.call("sum", z, -1, keepdim=True)
    return recorder.finish((total, y)), recorder.inputs


def linear_relu_eager(x, weight, bias=None):
    """What the graph of linear_relu() computes."""
    y = torch.nn.functional.linear(x, weight, bias)
    return torch.relu(y).sum(-1, keepdim=True), y


def mutating():
    """Batch normalization in training mode by hand: running is written."""
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(5, 3))
    weight = recorder.parameter(
        "norm.weight", torch.nn.Parameter(torch.rand(3))
    )
    running = recorder.input(
        "L['self']._buffers['running']", torch.zeros(3), "buffer", "running"
    )
    scaled = recorder.call(operator.mul, x, weight)
    mean = recorder.call("mean", scaled, 0)
    detached = recorder.call("detach", mean)
    recorder.call("mul_", running, 0.9)
    recorder.call("add_", running, detached, alpha=0.1)
    result = recorder.call(operator.sub, scaled, mean)
    return recorder.finish((result,)), recorder.inputs


def mutating_eager(x, weight, running):
    scaled = x * weight
    mean = scaled.mean(0)
    running.mul_(0.9).add_(mean.detach(), alpha=0.1)
    return (scaled - mean,)
