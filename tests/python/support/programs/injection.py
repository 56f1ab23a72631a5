# SPDX-License-Identifier: BSD-3-Clause
"""Arguments by their names and annotations."""

import functools
import inspect
import typing

import torch


class Missing(LookupError):
    pass


class Container:
    def __init__(self, **given):
        self.given = given
        self.asked = []

    def call(self, fn, **extra):
        signature = inspect.signature(fn)
        arguments = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            for place in (extra, self.given):
                if name in place:
                    arguments[name] = place[name]
                    break
            else:
                if parameter.default is inspect.Parameter.empty:
                    raise Missing(f"{fn.__name__}({name})")
                continue
            self.asked.append(name)
        return fn(**arguments)


def traced(prefix):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            wrapper.calls.append((prefix, len(args), sorted(kwargs)))
            return fn(*args, **kwargs)

        wrapper.calls = []
        return wrapper

    return decorate


@traced("s")
def scale(x, by: int = 2, *, shift: float = 0.0) -> torch.Tensor:
    """Scales."""
    return x * by + shift


def join(x, left, right, **rest):
    return torch.cat([left, x, right][: 3 - len(rest)])


def program(x, by):
    scale.calls.clear()
    container = Container(x=x, left=x * 2)
    a = container.call(scale)
    b = container.call(scale, by=by)
    try:
        c = container.call(join)
    except Missing as error:
        c = container.call(join, right=x + by)
        message = str(error)
    hints = typing.get_type_hints(scale.__wrapped__)
    return (
        a,
        b,
        c,
        message,
        container.asked,
        scale.calls,
        scale.__doc__,
        sorted(hints),
    )


CALLS = [(torch.ones(2), 3), (torch.ones(2), 0.5)]
