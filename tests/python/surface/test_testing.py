# SPDX-License-Identifier: BSD-3-Clause
"""magneto.testing: compare() names the first difference, check() finds what a
compiler gets wrong (here, wrong backends), and graphs are recorded and listed.
"""

import random
import sys
import threading

import pytest
import torch

from magneto.testing import (
    Difference,
    RecordingBackend,
    check,
    check_calls,
    compare,
    torch_graph_calls,
)
from magneto.testing.compare import _deep_recursion


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y


def shared_list():
    item = [1]
    return [item, item]


EQUAL = [
    lambda: [1, (2.0, float("nan")), {"a": b"x"}],
    lambda: [complex(float("nan"), 1), range(3, 0, -1), slice(None, 2)],
    lambda: torch.arange(4.0).t(),
    lambda: torch.tensor([1.0, float("nan")]),
    lambda: Point(1, torch.ones(2)),
    shared_list,
    lambda: {1, 2, "x"},
    lambda: ValueError("no", 3),
    lambda: lambda y, x=[1]: x,
]


@pytest.mark.parametrize("make", EQUAL)
def test_compare_of_two_copies_finds_nothing(make):
    compare(make(), make())


UNEQUAL = [
    ("it: int in eager, bool", 1, True),
    ("it: eager -0.0, compiled 0.0", -0.0, 0.0),
    (r"it\[1\]", [1, 2], [1, 3]),
    ("keys of it", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (r"it.x: eager 1, compiled 2", Point(1, 2), Point(2, 2)),
    ("one object in one run", shared_list(), [[1], [1]]),
    ("one object in one run", [[1], [1]], shared_list()),
    ("it.stride", torch.ones(2, 3), torch.ones(3, 2).t()),
    ("it.dtype", torch.ones(2), torch.ones(2).double()),
    ("it.requires_grad", torch.ones(2), torch.ones(2, requires_grad=True)),
    ("1 of 2 elements differ", torch.tensor([1, 2]), torch.tensor([1, 3])),
    ("it.imag: eager -0.0, compiled 0.0", complex(1, -0.0), complex(1, 0.0)),
    ("it.stop: eager 3, compiled 4", range(0, 3, 2), range(0, 4, 2)),
    ("it.start: NoneType in eager, int", slice(2), slice(0, 2, 1)),
    ("it.args|text of it", KeyError("a"), KeyError("b")),
]


@pytest.mark.parametrize(("message", "a", "b"), UNEQUAL)
def test_compare_names_the_first_difference(message, a, b):
    with pytest.raises(Difference, match=message):
        compare(a, b)


def test_compare_in_threads_leaves_the_recursion_limit():
    limit = sys.getrecursionlimit()
    first, second = threading.Barrier(2), threading.Barrier(2)

    def leaves_first():
        with _deep_recursion:
            first.wait(timeout=60)
        second.wait(timeout=60)

    def leaves_last():
        with _deep_recursion:
            first.wait(timeout=60)
            second.wait(timeout=60)

    threads = [
        threading.Thread(target=run) for run in (leaves_first, leaves_last)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == limit


def test_compare_with_tolerance_accepts_close_numbers():
    a, b = torch.ones(2), torch.ones(2) + 1e-6
    with pytest.raises(Difference):
        compare(a, b)
    compare([a, 1.0], [b, 1.0 + 1e-9], rtol=1e-5)


def test_compare_of_exceptions_looks_at_the_users_lines():
    def first():
        raise ValueError("x")

    def second():
        raise ValueError("x")

    errors = []
    for fn in (first, second):
        try:
            fn()
        except ValueError as error:
            errors.append(error)
    with pytest.raises(Difference, match="traceback"):
        compare(*errors)


def test_a_warm_functions_unbound_variable_is_where_it_stands():
    def program(n):
        found = n
        missing += found  # noqa: F821
        return missing

    errors = []
    for _ in range(50):
        try:
            program(3)
        except UnboundLocalError as error:
            errors.append(error)
    # CPython's own: the line before, once the function is warm.
    first, last = (e.__traceback__.tb_next.tb_lineno for e in errors[::49])
    assert last == first - 1
    compare(errors[0], errors[-1])


def test_keys_that_cannot_be_compared():
    class Key:
        def __eq__(self, other):
            raise AttributeError("count")

        def __hash__(self):
            return 1

    compare({Key(): 1}, {Key(): 1})
    with pytest.raises(Difference):
        compare({Key(): 1}, {Key(): 2})


def test_recording_backend_keeps_graphs_and_counts_calls():
    backend = RecordingBackend()
    compiled = torch.compile(lambda x: x + 1, backend=backend)
    compiled(torch.ones(2))
    compiled(torch.ones(2))
    assert backend.calls == 2
    assert backend.listing() == [[("call_function", "operator.add")]]
    torch._dynamo.reset()


def test_torch_graph_calls_names_functions_methods_and_linear():
    linear = torch.nn.Linear(2, 2)

    def program(x):
        return torch.relu(linear(x)).view(-1)

    assert torch_graph_calls(program, torch.ones(2, 2)) == [
        [
            ("call_function", "torch.linear"),
            ("call_function", "torch.relu"),
            ("call_method", "view"),
        ]
    ]


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
