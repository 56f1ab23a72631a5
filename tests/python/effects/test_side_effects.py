# SPDX-License-Identifier: BSD-3-Clause
"""What a function does to the caller's objects: attributes, containers,
globals, cells and buffers are written as in plain Python, once and in order.
"""

import collections
import dataclasses
import enum
import functools
import types

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
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


# -- results -------------------------------------------------------------------

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


def with_break(fn):
    def broken(*inputs):
        result = fn(*inputs)
        magneto.graph_break()
        return result

    return broken


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


# -- effects -------------------------------------------------------------------


class Box:
    limit = 5

    def __init__(self):
        self.items = []
        self.count = 0
        self.table = {}

    @property
    def double(self):
        return self.count * 2

    @double.setter
    def double(self, value):
        self.count = value // 2


def state(box):
    return box.items, box.count, box.table


EFFECTS = {
    "attribute": lambda x, box: setattr(box, "count", box.count + 1),
    "property": lambda x, box: setattr(box, "double", 8),
    "new attribute": lambda x, box: setattr(box, "seen", x.shape[0]),
    "tensor attribute": lambda x, box: setattr(box, "last", x + 1),
    "deleted attribute": lambda x, box: delattr(box, "count"),
    "append": lambda x, box: box.items.append(x + 1),
    "extend": lambda x, box: box.items.extend([1, x]),
    "insert": lambda x, box: box.items.insert(0, x.shape[0]),
    "item": lambda x, box: box.table.__setitem__("a", x * 2),
    "update": lambda x, box: box.table.update(a=1, b=x),
    "setdefault": lambda x, box: box.table.setdefault("l", []).append(1),
    "clear": lambda x, box: (box.items.clear(), box.table.clear()),
    "alias": lambda x, box: setattr(box, "table", {"items": box.items}),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_on_an_object(name):
    effect = EFFECTS[name]

    def f(x, box):
        y = x * 3
        effect(x, box)
        return y + 1

    def broken(x, box):
        effect(x, box)
        magneto.graph_break()
        return x + 1

    for fn in (f, broken):
        ours, plain = Box(), Box()
        call = compiled(fn)
        for _ in range(1 if "deleted" in name else 3):
            assert torch.equal(call(X, ours), fn(X, plain))
        assert list(vars(ours)) == list(vars(plain))
        assert repr(vars(ours)) == repr(vars(plain))


def test_writes_to_a_list_in_place():
    def f(x, items):
        items[1] = x + 1
        del items[0]
        items += [x, 5]
        items[2:3] = [7, 8]
        items.reverse()
        return x * 2

    alias = items = [1, 2, 3, 4]
    expected = [1, 2, 3, 4]
    f(X, expected)
    compiled(f)(X, items)
    assert alias is items
    assert repr(items) == repr(expected)


def test_list_growing_at_each_call():
    def f(x, log):
        log.append(x.shape[0])
        return x + 1

    log = []
    call = compiled(f)
    for _ in range(5):
        call(X, log)
    assert log == [4] * 5


def test_writes_to_a_dict_keep_pythons_order():
    def f(x, d):
        d["b"] = x + 1
        del d["a"]
        d["a"] = 2
        d["new"] = 3
        d.pop("c")
        d.pop("never", None)
        return x

    ours = {"a": 1, "b": 2, "c": 3, "d": 4}
    plain = dict(ours)
    f(X, plain)
    compiled(f)(X, ours)
    assert list(ours) == list(plain)
    assert repr(ours) == repr(plain)


def test_writes_to_dict_subclasses_and_sets():
    def f(x, ordered, default, members):
        ordered.move_to_end("a")
        ordered["c"] = x + 1
        default["n"].append(1)
        members.add(5)
        members.discard(1)
        return x * 2

    def fresh():
        return (
            collections.OrderedDict(a=1, b=2),
            collections.defaultdict(list, {"m": [0]}),
            {1, 2},
        )

    ours, plain = fresh(), fresh()
    call = compiled(f)
    call(X, *ours)
    f(X, *plain)
    assert repr(ours) == repr(plain)


def test_globals_are_written():
    global COUNTER
    COUNTER = 0

    def f(x):
        global COUNTER
        COUNTER += 1
        return x + COUNTER

    call = compiled(f)
    assert torch.equal(call(X), X + 1)
    assert COUNTER == 1
    assert torch.equal(call(X), X + 2)
    assert COUNTER == 2


def test_cells_are_written():
    n, last = 0, None

    def f(x):
        nonlocal n, last
        n += 1
        last = x * n
        return last + 1

    call = compiled(f)
    for i in (1, 2, 3):
        assert torch.equal(call(X), X * i + 1)
        assert n == i
        assert torch.equal(last, X * i)


def test_effects_happen_once_and_in_order():
    class Log(dict):
        pass

    def f(x, log):
        log["first"] = 1
        y = x + 1
        log["second"] = y
        magneto.graph_break()
        log["third"] = len(log)
        return y

    ours, plain = Log(), Log()
    compiled(f)(X, ours)
    f(X, plain)
    assert repr(ours) == repr(plain)
    assert list(ours) == ["first", "second", "third"]


def test_module_buffers_and_counters():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(4))
            self.calls = 0
            self.history = []

        def forward(self, x):
            self.calls += 1
            self.total += x
            self.history.append(self.calls)
            self.last = x + self.total
            return self.last * 2

    ours, plain = Counter(), Counter()
    call = compiled(ours)
    for _ in range(4):
        assert torch.equal(call(X), plain(X))
    assert ours.calls == plain.calls == 4
    assert torch.equal(ours.total, plain.total)
    assert ours.history == plain.history
    assert torch.equal(ours.last, plain.last)
    assert list(ours.state_dict()) == list(plain.state_dict())


def test_effects_of_a_function_that_raises_are_those_of_plain_python():
    def f(x, log):
        log.append("one")
        y = x + 1
        if len(log) > 2:
            raise ValueError(f"{len(log)}")
        log.append("two")
        return y

    check_calls(f, [((X, []), {}), ((X, [1, 2]), {}), ((X, [1, 2]), {})])


def test_attributes_of_tensors():
    def f(x):
        y = x + 1
        y.note = "mine"
        x.seen = True
        return y

    for fn in (f, with_break(f)):
        x = X.clone()
        y = compiled(fn)(x)
        assert y.note == "mine"
        assert x.seen


def test_attributes_deleted_and_listed():
    def f(x, box):
        del box.count
        box.other = 1
        names = list(vars(box))
        return x + len(names), names

    ours, plain = Box(), Box()
    assert compiled(f)(X, ours)[1] == f(X, plain)[1]
    assert vars(ours).keys() == vars(plain).keys()


class Held:
    def __init__(self):
        self.count = 1


def test_attributes_whose_names_were_put_together_stay():
    """Such a name is another object than the one in the code."""

    def program(x, held):
        held.added = 1
        vars(held).popitem()
        return x + 1, held

    held = Held()
    held.__dict__["".join(["_", "level"])] = 0
    check(program, torch.ones(2), held)
