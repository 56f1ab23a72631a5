# SPDX-License-Identifier: BSD-3-Clause
"""A tensor looks up the other operand's __torch_function__: classes with a
__getattr__ or __getattribute__ of their own are called.
"""

import operator

import pytest
import torch

from magneto.testing import check_calls

X = torch.arange(4.0)
HEARD = []


def getattr_of(self, name):
    HEARD.append(name)
    raise AttributeError(name)


def getattribute_of(self, name):
    HEARD.append(name)
    return object.__getattribute__(self, name)


def forward(self, other):
    HEARD.append("forward")
    return 1


def reflected(self, other):
    HEARD.append("reflected")
    return NotImplemented


BASES = {"object": object, "list": list, "int": int, "str": str, "tuple": tuple}
HOOKS = {"__getattr__": getattr_of, "__getattribute__": getattribute_of}
OPERATORS = {
    "eq": ("__eq__", "__eq__"),
    "lt": ("__lt__", "__gt__"),
    "add": ("__add__", "__radd__"),
    "mul": ("__mul__", "__rmul__"),
    "iadd": ("__iadd__", "__radd__"),
}


def outcome(compute):
    try:
        return compute()
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("own", ["", "forward", "reflected"])
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("base", BASES)
def test_operands_are_asked_as_in_plain_python(base, hook, name, own):
    methods = {hook: HOOKS[hook]}
    if own:
        method = OPERATORS[name][own == "reflected"]
        methods[method] = forward if own == "forward" else reflected
        methods["__hash__"] = lambda self: 1
    operand = type("Asked", (BASES[base],), methods)()
    apply = getattr(operator, name)

    def program(x):
        HEARD.clear()
        results = [
            outcome(lambda: apply(x + 1, operand)),
            outcome(lambda: apply(operand, x + 1)),
        ]
        return results, list(HEARD)

    check_calls(program, [((X,), {})] * 2)
