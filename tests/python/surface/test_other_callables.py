# SPDX-License-Identifier: BSD-3-Clause
"""compile() of callables that are neither functions nor modules nor classes."""

import functools
import operator

import numpy
import pytest
import torch

import magneto
from magneto.testing import compare

X = torch.arange(1.0, 4.0)


def power(a, b=2):
    return a**b


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

    def method(self, x):
        return x + self.by

    @classmethod
    def of_class(cls, x):
        return x - 1

    @staticmethod
    def of_none(x):
        return x - 2


class CalledByBuiltin:
    __call__ = torch.sin


class CalledByPartial:
    __call__ = functools.partial(power, b=3)


class CalledByInstance:
    __call__ = Scale(3)


CALLABLES = {
    "partial": (functools.partial(power, b=3), (X,), {}),
    "partial of a partial": (
        functools.partial(functools.partial(power, X), b=3),
        (),
        {},
    ),
    "partial of a builtin": (functools.partial(torch.add, X), (X,), {}),
    "partial of a method": (functools.partial(Scale(2).method, X), (), {}),
    "partial of a class": (functools.partial(complex, 1), (2,), {}),
    "instance": (Scale(2), (X,), {}),
    "instance called by a builtin": (CalledByBuiltin(), (X,), {}),
    "instance called by a partial": (CalledByPartial(), (X,), {}),
    "instance called by an instance": (CalledByInstance(), (X,), {}),
    "method": (Scale(2).method, (X,), {}),
    "method of a class": (Scale.of_class, (X,), {}),
    "static method": (Scale.of_none, (X,), {}),
    "static method object": (staticmethod(power), (X,), {}),
    "builtin": (len, (X,), {}),
    "builtin with keywords": (max, ([1, -3],), {"key": abs}),
    "builtin that calls": (sum, ([X, X],), {}),
    "torch function": (torch.sin, (X,), {}),
    "torch function in Python": (torch.nn.functional.softmax, (X,), {"dim": 0}),
    "torch operator": (torch.ops.aten.sin, (X,), {}),
    "torch overload": (torch.ops.aten.sin.default, (X,), {}),
    "method of a tensor": (X.sin, (), {}),
    "method of a list": ([1, 2].index, (2,), {}),
    "method of a text": ("abc".upper, (), {}),
    "method of a dict": ({"a": X}.get, ("a",), {}),
    "method of a number": ((3).__add__, (4,), {}),
    "method descriptor": (torch.Tensor.sin, (X,), {}),
    "slot wrapper": (list.__len__, ([X],), {}),
    "item getter": (operator.itemgetter(0), (X,), {}),
    "attribute getter": (operator.attrgetter("T"), (torch.ones(2, 3),), {}),
    "operator": (operator.mul, (X, X), {}),
    "generic alias": (list[int], ([X],), {}),
    "universal function": (numpy.sin, (numpy.ones(2),), {}),
    "cached": (functools.lru_cache(power), (3,), {}),
    "wrapped": (functools.wraps(power)(lambda a: power(a, 3)), (X,), {}),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CALLABLES)
def test_it_is_called_as_it_is(name, backend):
    target, args, kwargs = CALLABLES[name]
    call = magneto.compile(target, backend=backend)
    expected = target(*args, **kwargs)
    for _ in range(2):
        compare(expected, call(*args, **kwargs))


WITH_GRAPHS = [
    "partial",
    "partial of a builtin",
    "instance",
    "instance called by a builtin",
    "method",
    "builtin that calls",
    "torch function",
    "torch function in Python",
    "torch overload",
    "method of a tensor",
    "method descriptor",
    "item getter",
    "operator",
    "static method object",
]


@pytest.mark.parametrize("name", WITH_GRAPHS)
def test_its_tensors_are_computed_in_one_graph(name):
    target, args, kwargs = CALLABLES[name]
    before = magneto.stats()
    magneto.compile(target, backend="eager", fullgraph=True)(*args, **kwargs)
    assert magneto.stats()["graphs"] == before["graphs"] + 1


@pytest.mark.parametrize("name", ["partial", "instance", "torch function"])
def test_it_runs_with_inductor(name):
    target, args, kwargs = CALLABLES[name]
    result = magneto.compile(target)(*args, **kwargs)
    assert torch.allclose(result, target(*args, **kwargs))


def test_what_is_compiled_twice_is_compiled_once():
    once = magneto.compile(power, backend="eager")
    twice = magneto.compile(once, backend="eager", fullgraph=True)
    assert torch.equal(twice(X), X**2)


@pytest.mark.parametrize("what", [3, "f", None, classmethod(power)])
def test_what_cant_be_called_is_refused(what):
    with pytest.raises(TypeError, match="callable|class"):
        magneto.compile(backend="eager")(what)
