# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and numbers that torch.compiler.config names: those that are named vary
from the first call on, and no others do.
"""

import os
import subprocess
import sys

import pytest
import torch
import torch._dynamo

import magneto
from magneto.testing import compare
from support.releases import MINOR, since

BACKENDS = ["eager", "aot_eager"]


def sizes(*all_sizes):
    return [(torch.ones(each),) for each in all_sizes]


def plus(x):
    return x + 1


def times(x, n):
    return x * n


def of_dict(d):
    return d["a"] + len(d)


def of_tuple(x, t):
    return x.reshape(t) + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(3))
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x.sum() * self.mean * self.weight

    def resized(self, size):
        """The same with other sizes."""
        self.mean = torch.ones(size)
        self.weight = torch.nn.Parameter(torch.ones(size))
        return (torch.ones(2),)


X = "L['x']"
# Settings, a program, its calls' arguments, `dynamic`, and how many graphs.
PROGRAMS = {
    "a name": (
        {"dynamic_sources": X}, plus, sizes((3, 4), (4, 5), (6, 7)), None, 1,
    ),
    "nothing": ({}, plus, sizes((3, 4), (4, 5), (6, 7)), None, 2),
    "another name": (
        {"dynamic_sources": "L['y']"}, plus, sizes((3,), (4,), (5,)), None, 2,
    ),
    "one dimension": (
        {"dynamic_sources": "L['x']:0"}, plus, sizes((3, 4), (5, 4), (6, 4)),
        None, 1,
    ),
    "the other dimension": (
        {"dynamic_sources": "L['x']:1"}, plus, sizes((3, 4), (5, 4), (6, 4)),
        False, 3,
    ),
    "two dimensions": (
        {"dynamic_sources": "L['x']:0, L['x']:1"}, plus,
        sizes((3, 4), (5, 6), (6, 7)), None, 1,
    ),
    "an expression": (
        {"dynamic_sources": r"L\['.*'\]"}, plus, sizes((3,), (4,)), None, 1,
    ),
    "an expression's dimension": (
        {"dynamic_sources": ".*:0"}, plus, sizes((3, 4), (5, 4)), None, 1,
    ),
    "though dynamic is False": (
        {"dynamic_sources": X}, plus, sizes((3,), (4,), (5,)), False, 1,
    ),
    "a size of one": (
        {"dynamic_sources": X}, plus, sizes((3,), (1,), (4,)), None, 2,
    ),
    "unbacked": (
        {"unbacked_sources": X}, plus, sizes((3,), (1,), (4,)), None, 1,
    ),
    "unbacked by dimension": (
        {"unbacked_sources": "L['x']:0"}, plus, sizes((3, 2), (1, 2)), None, 1,
    ),
    "values": (
        {"dynamic_values": "17, 19"}, plus, sizes((17,), (4,), (5,)), None, 1,
    ),
    "other values": (
        {"dynamic_values": "17"}, plus, sizes((3,), (4,), (5,)), False, 3,
    ),
    "an int": (
        {"dynamic_sources": "L['n']"}, times,
        [(torch.ones(3), n) for n in (5, 6, 7)], False, 1,
    ),
    "a float": (
        {"dynamic_sources": "L['n']"}, times,
        [(torch.ones(3), n) for n in (0.5, 1.5, 2.5)], False, 1,
    ),
    "an int by value": (
        {"dynamic_values": "5"}, times,
        [(torch.ones(3), n) for n in (5, 6, 7)], False, 1,
    ),
    "in a dict": (
        {"dynamic_sources": "L['d']['a']"}, of_dict,
        [({"a": torch.ones(n)},) for n in (3, 4, 5)], False, 1,
    ),
    "in a tuple": (
        {"dynamic_sources": r"L\['[xt]'\]"}, of_tuple,
        [(torch.ones(n, 6), (6, n)) for n in (3, 4, 5)], False, 1,
    ),
}  # fmt: skip

if MINOR >= 15:
    PROGRAMS |= {
        "static": (
            {"static_sources": X}, plus, sizes((3,), (4,), (5,)), None, 3,
        ),
        "static by dimension": (
            {"static_sources": "L['x']:1"}, plus,
            sizes((3, 4), (5, 4), (6, 7), (8, 7)), True, 2,
        ),
        "static and dynamic": (
            {"static_sources": X, "dynamic_sources": X}, plus,
            sizes((3,), (4,), (5,)), None, 3,
        ),
        "dynamic and unbacked": (
            {"unbacked_sources": X, "dynamic_sources": X}, plus,
            sizes((3,), (4,), (1,)), None, 2,
        ),
        "a static int": (
            {"static_sources": "L['n']"}, times,
            [(torch.ones(3), n) for n in (5, 6, 7)], None, 3,
        ),
        "a static int in a tuple": (
            {"static_sources": r"L\['t'\]"}, of_tuple,
            [(torch.ones(n, 6), (6, n)) for n in (3, 4, 5)], None, 3,
        ),
    }  # fmt: skip


@pytest.fixture
def say():
    config = torch.compiler.config
    before = {}

    def say(settings):
        for name, value in settings.items():
            before[name] = getattr(config, name)
            setattr(config, name, value)

    yield say
    for name, value in before.items():
        setattr(config, name, value)


def check(call, f, arguments, count):
    before = magneto.stats()["graphs"]
    for each in arguments:
        compare(f(*each), call(*each))
    assert magneto.stats()["graphs"] - before == count


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_named_sizes_and_numbers_vary(name, backend, say):
    settings, f, arguments, dynamic, count = PROGRAMS[name]
    say(settings)
    magneto.reset()
    call = magneto.compile(f, backend=backend, dynamic=dynamic, fullgraph=True)
    check(call, f, arguments, count)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_torch_compile_hears_it(name, say):
    settings, f, arguments, dynamic, count = PROGRAMS[name]
    say(settings)
    torch._dynamo.reset()
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    call = torch.compile(f, backend=backend, dynamic=dynamic, fullgraph=True)
    for each in arguments:
        call(*each)
    assert len(graphs) >= count
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_and_buffers_can_be_named(backend, dynamic, say):
    say({"dynamic_sources": r"L\['self'\]\._(parameters|buffers).*"})
    net = Net()
    call = magneto.compile(net, backend=backend, dynamic=dynamic)
    before = magneto.stats()["graphs"]
    for size in (3, 4, 5):
        arguments = net.resized(size)
        compare(net(*arguments), call(*arguments))
    assert magneto.stats()["graphs"] - before == 1


@since(15, "torch.compiler.config.static_sources is of 2.15")
@pytest.mark.parametrize(
    ("mark", "count"), [("mark_dynamic", 1), ("maybe_mark_dynamic", 3)]
)
def test_a_mark_counts_more_than_a_static_source(mark, count, say):
    say({"static_sources": X})
    arguments = sizes((3,), (4,), (5,))
    for (x,) in arguments:
        getattr(torch._dynamo, mark)(x, 0)
    call = magneto.compile(plus, backend="eager")
    check(call, plus, arguments, count)


def test_the_environment_says_it_too():
    program = (
        "import torch, magneto\n"
        "c = magneto.compile(lambda x: x + 1, backend='eager', dynamic=False)\n"
        "for n in (3, 4, 5): c(torch.ones(n))\n"
        "print(magneto.stats()['graphs'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TORCH_COMPILE_DYNAMIC_SOURCES": X},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "1", done.stderr


def test_a_text_that_cant_be_read_says_nothing(say):
    say({"dynamic_values": "many"})
    magneto.reset()
    call = magneto.compile(plus, backend="eager", dynamic=False)
    check(call, plus, sizes((3,), (4,)), 2)
