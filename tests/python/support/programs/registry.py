# SPDX-License-Identifier: BSD-3-Clause
"""Classes that a metaclass keeps, with special methods of its own."""

import torch


class Registered(type):
    known = {}

    def __new__(mcs, name, bases, namespace, *, key=None, **kwargs):
        cls = super().__new__(mcs, name, bases, namespace, **kwargs)
        if key is not None:
            mcs.known[key] = cls
        return cls

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.args = args
        return made

    def __getitem__(cls, key):
        return cls.known[key]

    def __contains__(cls, key):
        return key in cls.known

    def __iter__(cls):
        return iter(sorted(cls.known))

    def __len__(cls):
        return len(cls.known)


class Layer(metaclass=Registered):
    def __init_subclass__(cls, /, scale=1, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.scale = scale

    def __matmul__(self, x):
        return self.apply(x) * self.scale


class Double(Layer, key="double", scale=2):
    def apply(self, x):
        return x + x


class Shift(Layer, key="shift"):
    def __init__(self, by=1):
        self.by = by

    def apply(self, x):
        return x + self.by


class Negate(Double, key="negate", scale=-1):
    def apply(self, x):
        return super().apply(x) / 2


def program(x, spec):
    for part in spec.split():
        name, _, argument = part.partition(":")
        if name not in Layer:
            return f"{name!r} is none of {', '.join(Layer)} ({len(Layer)})", x
        layer = Layer[name](*map(int, filter(None, [argument])))
        x = layer @ x + len(layer.args)
    return x


CALLS = [
    (torch.arange(3.0), "double shift:3 negate"),
    (torch.arange(3.0), "shift"),
    (torch.arange(3.0), "double bad:1"),
]
