# SPDX-License-Identifier: BSD-3-Clause
"""What a function does to the caller's objects: attributes, containers,
globals, cells and buffers are written as in plain Python, once and in order.
"""

import collections

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.breaking import with_break
from support.compiled_calls import compiled

X = torch.arange(4.0)


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
