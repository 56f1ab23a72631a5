# SPDX-License-Identifier: BSD-3-Clause
"""Values that are computed when needed: __getattr__, __setattr__."""

import torch


class Lazy:
    """What is asked of it is computed when it is needed."""

    def __init__(self, make):
        self._make = make

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "value":
            self.__dict__["value"] = self._make()
            return self.value
        return Lazy(lambda: getattr(self.value, name))

    def __call__(self, *args, **kwargs):
        return Lazy(lambda: self.value(*args, **kwargs))

    def __setattr__(self, name, value):
        if name != "_make":
            raise TypeError("can't be changed")
        super().__setattr__(name, value)

    def __add__(self, other):
        return Lazy(
            lambda: (
                self.value + (other.value if isinstance(other, Lazy) else other)
            )
        )

    def __rsub__(self, other):
        return Lazy(lambda: other - self.value)

    def __getitem__(self, key):
        return Lazy(lambda: self.value[key])

    def __bool__(self):
        return bool((self.value > 0).all())

    def __format__(self, spec):
        return format(tuple(self.value.shape).__repr__(), spec)


def program(x):
    a = Lazy(lambda: x)
    b = a.t().clone() + 1
    c = 5 - b[0] + a.sum()
    try:
        a.other = 3
    except TypeError as error:
        message = str(error)
    positive = "yes" if b else "no"
    return (
        c.value,
        "value" in vars(b),
        "value" in vars(a),
        message,
        f"{a:>10}",
        positive,
    )


CALLS = [(torch.arange(6.0).reshape(2, 3),), (torch.ones(2, 2),)]
