# SPDX-License-Identifier: BSD-3-Clause
"""super() without arguments behind a graph break: it reads the first argument,
which may be in a cell, and the cell of __class__.
"""

import pytest
import torch

import magneto
from magneto.testing import check
from support.breaking import Context, breaks


class Base:
    factor = 2

    def call(self, x):
        return x * self.factor

    @classmethod
    def of_class(cls, x):
        return x * cls.factor


class Derived(Base):
    factor = 3

    def in_a_context(self, x):
        def later(y):
            return y + self.factor

        with Context():
            return later(super().call(x))

    def in_two_contexts(self, x):
        def later(y):
            return y + self.factor

        with Context():
            x = super().call(x)
            with Context():
                return later(super().call(x))

    def without_a_cell(self, x):
        with Context():
            return super().call(x)

    def behind_breaks(self, x):
        def later(y):
            return y + self.factor

        magneto.graph_break()
        x = super().call(x)
        breaks()
        return later(super().call(x))

    def with_another_self(self, x):
        def later(y):
            return y + self.factor

        self = Other()
        with Context():
            return later(super().call(x))

    def without_self(self, x):
        def later():
            return self  # noqa: F821

        del self
        with Context():
            try:
                return super().call(x)
            except RuntimeError as error:
                return x, str(error)

    def shown_class(self, x):
        def later():
            return self, __class__

        with Context():
            x = super().call(x)
        return x, later()[1].__name__, __class__.__name__

    @classmethod
    def of_class(cls, x):
        def later():
            return cls.factor

        with Context():
            return super().of_class(x) + later()

    def in_a_generator(self, x):
        def items():
            breaks()
            yield super(Derived, self).call(x)

        with Context():
            return super().call(next(items()))


class Other(Derived):
    factor = 5


METHODS = [name for name in vars(Derived) if not name.startswith("_")]


@pytest.mark.parametrize("inlined", [False, True])
@pytest.mark.parametrize("method", sorted({*METHODS} - {"factor"}))
def test_super(method, inlined):
    function = getattr(Derived(), method)
    program = (lambda x: function(x)) if inlined else function
    check(program, torch.ones(2), calls=2)
