# SPDX-License-Identifier: BSD-3-Clause
"""magneto.testing.check() finds what a compiler gets wrong: here, wrong
backends.
"""

import random
import sys

import pytest
import torch

from magneto.testing import Difference, check, check_calls, compare


def add(x, y):
    return x + y


def wrong(after):
    """A backend whose graphs run and then do something that they should not."""

    def backend(gm, example_inputs):
        def run(*inputs):
            return after(inputs, gm.forward(*inputs))

        return run

    return backend


def test_check_of_a_right_compiler_counts_graphs():
    report = check(add, torch.ones(2), torch.ones(2), graphs=1)
    assert len(report.graphs) == 1


WRONG = {
    "result": (lambda inputs, out: (out[0] + 1,), r"\['result'\]"),
    "dtype": (lambda inputs, out: (out[0].double(),), "dtype"),
    "alias": (lambda inputs, out: (inputs[0],), "result|one object"),
    "mutation": (lambda inputs, out: (inputs[1].add_(1), out)[1], "inputs"),
    "print": (lambda inputs, out: (print("x"), out)[1], "stdout"),
    "torch_random": (lambda inputs, out: (torch.rand(1), out)[1], "random"),
    "python_random": (lambda inputs, out: (random.random(), out)[1], "random"),
    "exception": (lambda inputs, out: 1 / 0, "only compiled raised"),
}


@pytest.mark.parametrize("name", WRONG)
def test_check_finds_wrong(name):
    after, message = WRONG[name]
    with pytest.raises(Difference, match=message):
        check(add, torch.ones(2), torch.zeros(2), backend=wrong(after))


def test_check_finds_wrong_gradients():
    def backend(gm, example_inputs):
        return lambda *inputs: (inputs[0] + inputs[1].detach(),)

    x, y = (torch.ones(2, requires_grad=True) for _ in "xy")
    with pytest.raises(Difference):
        check(add, x, y, backend=backend, backward=True)


def test_check_finds_unexpected_counts():
    with pytest.raises(Difference, match="1 graphs, expected 2"):
        check(add, torch.ones(2), torch.ones(2), graphs=2)


def test_check_compares_exceptions():
    def raises(x):
        raise KeyError("no", 3)

    check(raises, torch.ones(2))


def test_check_calls_carries_the_state_of_a_module():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x + self.count

    check_calls(Counter(), [((torch.ones(2),), {})] * 3)


def test_check_gives_each_side_inputs_of_its_own():
    def append(x, items):
        items.append(x + 1)
        return items

    items = []
    check(append, torch.ones(2), items)
    assert items == []


def test_what_is_deeply_nested_is_compared():
    def nested(last):
        made = [last]
        for _ in range(2000):
            made = [made]
        return made

    limit = sys.getrecursionlimit()
    compare(nested(1), nested(1))
    with pytest.raises(Difference):
        compare(nested(1), nested(2))
    assert sys.getrecursionlimit() == limit
