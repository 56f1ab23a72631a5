# SPDX-License-Identifier: BSD-3-Clause
"""What a function returns, and leaves on its stack and in its locals, rebuilt
from what was traced.
"""

import collections
import dataclasses
import enum
import functools
import types

import pytest
import torch

import magneto
from magneto.testing import check
from support.breaking import with_break
from support.compiled_calls import compiled

X = torch.arange(4.0)


def both(fn, *args):
    """The program as it is, and with a graph break before it returns."""

    def broken(*inputs):
        result = fn(*inputs)
        magneto.graph_break()
        return result

    check(fn, *args, graph_breaks=0)
    check(broken, *args)


Point = collections.namedtuple("Point", "x y")


class Typed(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, ("set", value))


@dataclasses.dataclass
class Data:
    a: object
    b: object = 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a

    def __eq__(self, other):
        return torch.equal(self.a, other.a) and not hasattr(other, "b")


class Color(enum.Enum):
    RED = 1


RESULTS = {
    "nothing": lambda x: None,
    "input": lambda x: x,
    "number": lambda x: len(x.shape) + 1,
    "tuple": lambda x: (x, x + 1, (x * 2,)),
    "list": lambda x: [x, [x + 1, []], 3],
    "dict": lambda x: {"a": x, 1: x + 1, None: {"b": (x,)}},
    "order": lambda x: {k: x for k in ("z", "a", "m")},
    "set": lambda x: {1, "two", 3.0},
    "frozenset": lambda x: frozenset([1, len(x.shape)]),
    "slice": lambda x: slice(1, x.shape[0], None),
    "namedtuple": lambda x: Point(x + 1, 2),
    "ordered": lambda x: collections.OrderedDict([("b", x), ("a", 1)]),
    "default": lambda x: collections.defaultdict(list, {"a": [x]}),
    "deque": lambda x: collections.deque([x, 1, 2]),
    "dataclass": lambda x: Data(x + 1),
    "slots": lambda x: Slotted(x + 1),
    "enum": lambda x: (Color.RED, x),
    "type": lambda x: (int, Data, type(x)),
    "range": lambda x: range(1, x.shape[0]),
    "size": lambda x: x.shape,
    "dtype": lambda x: (x.dtype, x.device),
    "text": lambda x: f"{x.shape[0]}-{x.dtype}",
    "topk": lambda x: tuple(torch.topk(x, 2)),
    "views": lambda x: (x.view(2, 2), x[1:], x.t()),
    "module": lambda x: torch.nn.functional,
}


@pytest.mark.parametrize("name", RESULTS)
def test_result(name):
    both(RESULTS[name], X)


def test_identity_is_kept():
    def f(x, y, items):
        a = [x + 1]
        b = (a, a, x, y, items)
        return a, b, x, {"items": items, "again": a}

    for fn in (f, with_break(f)):
        x, y, items = X.clone(), X.clone(), [1, 2]
        a, b, x2, d = compiled(fn)(x, y, items)
        assert b[0] is a
        assert b[1] is a
        assert d["again"] is a
        assert x2 is x
        assert b[2] is x
        assert b[3] is y
        assert b[4] is items
        assert d["items"] is items


def test_results_are_new_at_each_call():
    call = compiled(lambda x: ([x], {"a": 1}, x + 1))
    one, two = call(X), call(X)
    assert one[0] is not two[0]
    assert one[1] is not two[1]
    assert one[2] is not two[2]


def test_in_place_operations_give_back_their_input():
    def f(x):
        y = x.add_(1)
        z = y.view(2, 2)
        return y, z

    for fn in (f, with_break(f)):
        x = X.clone()
        y, z = compiled(fn)(x)
        assert y is x
        assert torch.equal(x, X + 1)
        z.zero_()
        assert torch.equal(x, torch.zeros(4))


def test_one_tensor_that_is_returned_twice_is_one_output():
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def f(x):
        y = x + 1
        return y, [y], y

    a, (b,), c = magneto.compile(f, backend=backend)(X)
    assert a is b
    assert b is c
    output = next(n for n in graphs[0].graph.nodes if n.op == "output")
    assert len(output.args[0]) == 1


def test_cycles():
    def f(x):
        a = [x + 1]
        b = {"a": a}
        a.append(b)
        t = (a, b)
        a.append(t)
        return t

    for fn in (f, with_break(f)):
        a, b = compiled(fn)(X)
        assert a[1] is b
        assert b["a"] is a
        assert a[2][0] is a
        assert torch.equal(a[0], X + 1)


def test_objects_that_refer_to_each_other():
    class Node:
        def __init__(self, value):
            self.value = value
            self.other = None

    def f(x):
        a, b = Node(x + 1), Node(x + 2)
        a.other, b.other = b, a
        return a

    for fn in (f, with_break(f)):
        a = compiled(fn)(X)
        assert type(a) is Node
        assert a.other.other is a
        assert torch.equal(a.other.value, X + 2)


def test_rebuilding_runs_no_user_code():
    log = []

    class Loud:
        def __new__(cls, *args):
            log.append("new")
            return super().__new__(cls)

        def __init__(self, value):
            log.append("init")
            self.value = value

        def __setattr__(self, name, value):
            log.append(name)
            super().__setattr__(name, value)

    def f(x):
        return Loud(x + 1)

    call = compiled(f)
    for _ in range(2):
        log.clear()
        made = call(X)
        assert type(made) is Loud
        assert vars(made).keys() == {"value"}
        assert log == ["new", "init", "value"]


def test_keys_that_are_objects():
    class Key:
        pass

    key = Key()

    def f(x, key):
        return {key: x + 1, Key: 2, (1, "a"): 3, torch.float32: 4}

    result = compiled(f)(X, key)
    assert list(result) == [key, Key, (1, "a"), torch.float32]
    assert torch.equal(result[key], X + 1)


def test_functions_made_in_the_trace():
    def f(x, k=3):
        y = x + 1

        def inner(a, b=y, *, c: int = k):
            """Says."""
            return a + b * c + z

        z = x * 2
        inner.mark = "here"
        return inner, lambda: (x, y)

    for fn in (f, with_break(f)):
        inner, small = compiled(fn)(X)
        plain, _ = f(X)
        assert isinstance(inner, types.FunctionType)
        assert torch.equal(inner(X), plain(X))
        assert torch.equal(inner(X, X, c=5), plain(X, X, c=5))
        assert inner.__name__ == "inner"
        assert inner.__qualname__ == plain.__qualname__
        assert inner.__doc__ == "Says."
        assert inner.__annotations__ == {"c": int}
        assert inner.mark == "here"
        assert torch.equal(small()[1], X + 1)


def test_closures_share_their_cells():
    def f(x):
        n = x + 1

        def get():
            return n

        def put(v):
            nonlocal n
            n = v

        return get, put

    get, put = compiled(f)(X)
    assert torch.equal(get(), X + 1)
    put(5)
    assert get() == 5


def test_methods_and_partials():
    class Thing:
        def __init__(self, x):
            self.x = x

        def run(self, k):
            return self.x * k

    def f(x):
        thing = Thing(x + 1)
        return thing, thing.run, functools.partial(thing.run, 3)

    thing, run, part = compiled(f)(X)
    assert run.__self__ is thing
    assert torch.equal(run(2), (X + 1) * 2)
    assert torch.equal(part(), (X + 1) * 3)


def test_exceptions_as_values():
    def f(x):
        try:
            raise ValueError("bad", 3)
        except ValueError as error:
            kept = error
        return kept, x + 1

    error, _ = compiled(f)(X)
    assert type(error) is ValueError
    assert error.args == ("bad", 3)


ITERATORS = {
    "list": lambda x: iter([x, 1, 2]),
    "tuple": lambda x: iter((x, 1, 2)),
    "range": lambda x: iter(range(5, 9)),
    "text": lambda x: iter("abc"),
    "dict": lambda x: iter({"a": x, "b": 1, "c": 2}),
    "items": lambda x: iter({"a": 1, "b": 1, "c": 2}.items()),
    "values": lambda x: iter({"a": 1, "b": 1, "c": 2}.values()),
    "enumerate": lambda x: enumerate([x, 1, 2], 5),
    "zip": lambda x: zip([x, 1, 2], "abc"),
    "reversed": lambda x: reversed([1, 2, 3]),
    "map": lambda x: map(str, [1, 2, 3]),
}


@pytest.mark.parametrize("name", ITERATORS)
@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_iterators_go_on_where_they_stood(name, steps):
    make = ITERATORS[name]

    def f(x):
        it = make(x)
        seen = [next(it, None) for _ in range(steps)]
        y = x + 1
        magneto.graph_break()
        return seen, y, list(it)

    check(f, X)


def test_lists_that_are_written_to_are_given_back():
    def program(tensors):
        made = torch._foreach_add_(tensors, 1)
        other = torch._foreach_mul_([tensors[0], tensors[1]], 2)
        return made, made is tensors, other

    check(program, [torch.ones(2), torch.ones(3)], fullgraph=True)
