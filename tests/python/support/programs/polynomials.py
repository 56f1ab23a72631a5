# SPDX-License-Identifier: BSD-3-Clause
"""Polynomials: caches, partials, a singledispatchmethod."""

import functools
import operator

import torch


@functools.lru_cache(maxsize=8)
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    @functools.cached_property
    def derivative(self):
        return type(self)(
            *(i * c for i, c in enumerate(self.coefficients))
        )._shifted()

    def _shifted(self):
        return type(self)(*self.coefficients[1:])

    def __call__(self, x):
        return functools.reduce(
            lambda a, c: a * x + c, reversed(self.coefficients), 0
        )

    @functools.singledispatchmethod
    def compose(self, other):
        raise TypeError(f"not with {type(other).__name__}")

    @compose.register
    def _(self, other: int):
        return Polynomial(*(c * other for c in self.coefficients))

    @compose.register(tuple)
    @compose.register(list)
    def _(self, other):
        return Polynomial(*map(operator.add, self.coefficients, other))


def program(x, n):
    p = Polynomial(*(binomial(n, k) for k in range(n + 1)))
    q = p.compose(3).compose([1, 2]).compose((1,))
    try:
        p.compose("x")
    except TypeError as error:
        message = str(error)
    evaluate = functools.partial(Polynomial.__call__, x=x)
    return (
        evaluate(p),
        evaluate(p.derivative.derivative),
        evaluate(q),
        message,
        "derivative" in vars(p),
    )


CALLS = [(torch.arange(3.0), 4), (torch.arange(3.0), 6), (torch.arange(3.0), 2)]
