# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors that check: __set_name__, __get__, __set__."""

import torch


class Checked:
    def __set_name__(self, owner, name):
        self.name = name
        owner.fields = [*getattr(owner, "fields", []), name]

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__[self.name]

    def __set__(self, instance, value):
        if not self.test(value):
            raise ValueError(f"{self.name}: {self.describe(value)}")
        instance.__dict__[self.name] = value

    def describe(self, value):
        return f"{value!r} is not allowed"


class Positive(Checked):
    def test(self, value):
        return value > 0


class Shaped(Checked):
    def __init__(self, *shape):
        self.shape = shape

    def test(self, value):
        return all(
            want in (None, have)
            for want, have in zip(self.shape, value.shape, strict=True)
        )

    def describe(self, value):
        return f"{list(value.shape)} is not {[*self.shape]}"


class Affine:
    scale = Positive()
    weight = Shaped(None, 3)

    def __init__(self, scale, weight):
        for name, value in zip(self.fields, (scale, weight)):
            setattr(self, name, value)

    def __call__(self, x):
        return self.weight @ x * self.scale


def program(x, scale, shape):
    try:
        return (
            Affine(scale, torch.ones(shape))(x),
            Affine.fields,
            Affine.scale.name,
        )
    except ValueError as error:
        return str(error), x


CALLS = [
    (torch.ones(3), 2, (2, 3)),
    (torch.ones(3), -1, (2, 3)),
    (torch.ones(3), 2, (2, 2)),
    (torch.ones(3), 2, (3,)),
]
