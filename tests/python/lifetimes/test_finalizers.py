# SPDX-License-Identifier: BSD-3-Clause
"""__del__, callbacks of weak references and abandoned generators run where the
program drops the last reference.
"""

from __future__ import annotations

import collections
import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check

LOG: list[Any] = []
X = torch.ones(2)


class Dies:
    def __init__(self, name: Any):
        self.name = name

    def __del__(self):
        LOG.append(("del", self.name))

    def scaled(self, x):
        return x * self.name


class Slotted:
    __slots__ = ("name",)

    def __init__(self, name: Any):
        self.name = name

    def __del__(self):
        LOG.append(("del", self.name))


class Plain:
    """Holds what it is given."""

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


class Slots:
    __slots__ = ("held",)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Dies("held")

    def forward(self, x):
        LOG.append("in")
        self.held = None
        LOG.append("out")
        return x + len(LOG)


def noted(x, word):
    LOG.append(word)
    return x + len(LOG)


# -- variables


def deleted(x, box):
    d = Dies(1)
    x = noted(x, "a")
    del d
    return noted(x, "b")


def overwritten(x, box):
    d = Dies(1)
    x = noted(x, "a")
    d = None
    return noted(x, "b"), d


def overwritten_by_tensor(x, box):
    d = Dies(1)
    x = noted(x, "a")
    d = x + 1
    return noted(d, "b")


def read_on_the_way(x, box):
    d = Dies(3)
    x = x + d.name
    LOG.append("a")
    d = d.scaled(x)
    return noted(d, "b")


def slotted(x, box):
    d = Slotted(1)
    x = noted(x, "a")
    del d
    return noted(x, "b")


def lives_to_the_end(x, box):
    d = Dies(1)
    x = noted(x, "a")
    d = (d, x)
    return noted(x, "end")


def two_names(x, box):
    d = e = Dies(1)
    x = noted(x, "a")
    del d
    x = noted(x, "b")
    e = 3
    return noted(x, "c") + e


def in_a_loop(x, box):
    for i in range(3):
        d = Dies(i)
        x = noted(x, i)
    del d
    return noted(x, "after")


def in_a_tuple(x, box):
    pair = (Dies(1), 2)
    x = noted(x, "a")
    pair = pair[1]
    return noted(x, "b") + pair


def in_a_list(x, box):
    many = [Dies(1), Dies(2)]
    x = noted(x, "a")
    many.pop()
    x = noted(x, "b")
    many = []
    return noted(x, "c"), many


def in_an_object(x, box):
    held = Plain(d=Dies(1))
    x = noted(x, "a")
    held = Plain(d=3)
    return noted(x, "b") + held.d


def unused_result(x, box):
    Dies(1)
    x = noted(x, "a")
    Dies(2).name
    return noted(x, "b")


def operand(x, box):
    x = x + Dies(2).name
    return noted(x, "a")


def method_of_temporary(x, box):
    x = Dies(2).scaled(x)
    return noted(x, "a")


def in_a_cell(x, box):
    d = Dies(1)
    x = noted(x, "a")
    read = lambda: d
    d = 2
    return noted(x, "b") + read()


def in_a_with_block(x, box):
    with torch.no_grad():
        d = Dies(1)
        x = noted(x, "a")
        d = 2
        x = noted(x, "b")
    return noted(x, "c") + d


def in_a_handler(x, box):
    d = Dies(1)
    try:
        raise ValueError(noted(x, "a"))
    except ValueError:
        d = None
        x = noted(x, "b")
    return noted(x, "c"), d


def in_finally(x, box):
    d = Dies(1)
    try:
        x = noted(x, "a")
    finally:
        del d
    return noted(x, "b")


# -- calls


def takes(d, x):
    return noted(x, d.name)


def lets_go(d, x):
    x = noted(x, d.name)
    del d
    return noted(x, "gone")


def takes_star(*ds):
    return noted(ds[1], ds[0].name)


def returns_it(d, x):
    noted(x, "inside")
    return d


def argument(x, box):
    x = takes(Dies(1), x)
    x = noted(x, "a")
    return noted(takes(Dies(2), x), "b")


def argument_let_go(x, box):
    x = lets_go(Dies(1), x)
    return noted(x, "a")


def argument_held_outside(x, box):
    d = Dies(1)
    x = lets_go(d, x)
    return noted(x, "a") + d.name


def argument_star(x, box):
    return noted(takes_star(Dies(1), x), "a")


def argument_unpacked(x, box):
    return noted(lets_go(*(Dies(1), x)), "a")


def argument_named(x, box):
    return noted(lets_go(x=x, d=Dies(1)), "a")


def argument_returned(x, box):
    d = returns_it(Dies(1), x)
    x = noted(x, "a")
    del d
    return noted(x, "b")


def made_in_a_call(x, box):
    def inner(x):
        d = Dies(1)
        x = noted(x, "in")
        d = 2
        return noted(x, "out") + d

    return noted(inner(x), "after")


def through_map(x, box):
    xs = list(map(lambda d: noted(x, d.name), [Dies(1), Dies(2)]))
    return noted(xs[0] + xs[1], "a")


# -- what the caller's objects let go of


def list_clear(x, box):
    x = noted(x, "a")
    box.list.clear()
    return noted(x, "b")


def list_pop(x, box):
    x = noted(x, "a")
    box.list.pop()
    return noted(x, "b")


def list_pop_to_variable(x, box):
    d = box.list.pop()
    x = noted(x, "a")
    d = 1
    return noted(x, "b") + d


def list_item(x, box):
    x = noted(x, "a")
    box.list[0] = 3
    return noted(x, "b")


def list_slice(x, box):
    x = noted(x, "a")
    box.list[:] = []
    return noted(x, "b")


def list_delete(x, box):
    x = noted(x, "a")
    del box.list[0]
    return noted(x, "b")


def list_grows(x, box):
    x = noted(x, "a")
    box.list.append(3)
    return noted(x, "b")


def dict_item(x, box):
    x = noted(x, "a")
    box.dict["key"] = 1
    return noted(x, "b")


def dict_delete(x, box):
    x = noted(x, "a")
    del box.dict["key"]
    return noted(x, "b")


def dict_update(x, box):
    x = noted(x, "a")
    box.dict.update(key=1)
    return noted(x, "b")


def dict_clear(x, box):
    x = noted(x, "a")
    box.dict.clear()
    return noted(x, "b")


def dict_pop(x, box):
    x = noted(x, "a")
    d = box.dict.pop("key")
    x = noted(x, d.name)
    del d
    return noted(x, "b")


def set_clear(x, box):
    x = noted(x, "a")
    box.set.clear()
    return noted(x, "b")


def deque_full(x, box):
    x = noted(x, "a")
    box.deque.append(1)
    return noted(x, "b")


def attribute(x, box):
    x = noted(x, "a")
    box.attribute = None
    return noted(x, "b")


def attribute_deleted(x, box):
    x = noted(x, "a")
    del box.attribute
    return noted(x, "b")


def attribute_read_before(x, box):
    x = x * box.attribute.name
    x = noted(x, "a")
    box.attribute = x
    return noted(x, "b")


def slot(x, box):
    x = noted(x, "a")
    box.slots.held = None
    return noted(x, "b")


def nested(x, box):
    x = noted(x, "a")
    box.nested = None
    return noted(x, "b")


def cell(x, box):
    x = box.write(x)
    return noted(x, "b")


def global_(x, box):
    global GLOBAL
    GLOBAL = box.attribute
    box.attribute = None
    x = noted(x, "a")
    GLOBAL = None
    return noted(x, "b")


def watched(x, box):
    x = noted(x, "a")
    box.watched = None
    return noted(x, "b")


def swapped(x, box):
    x = noted(x, "a")
    box.list[0], box.list[1] = box.list[1], box.list[0]
    return noted(x, box.list[0].name)


def reversed_(x, box):
    x = noted(x, "a")
    box.list.reverse()
    return noted(x, box.list[0].name)


def weakly_called_back(x, box):
    p = Plain()
    box.reference = weakref.ref(p, lambda r: LOG.append("callback"))
    x = noted(x, "a")
    del p
    return noted(x, "b")


def generator_left(x, box):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            LOG.append("left")

    for i in numbers():
        x = noted(x, i)
        break
    return noted(x, "after")


GLOBAL = None

PROGRAMS = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", "") == __name__
    and getattr(value, "__code__", None) is not None
    and value.__code__.co_varnames[:2] == ("x", "box")
]


def box() -> Plain:
    made = Plain(
        list=[Dies("l0"), Dies("l1")],
        dict={"key": Dies("d")},
        set={Dies("s")},
        deque=collections.deque([Dies("q")], maxlen=1),
        attribute=Dies(2),
        nested=Plain(inner=[{"deep": Dies("n")}]),
        watched=Plain(),
        slots=Slots(),
    )
    made.slots.held = Dies("slot")
    content = Dies("cell")

    def write(x):
        nonlocal content
        x = noted(x, "write")
        content = None
        return x

    made.write = write
    made.weak = weakref.ref(
        made.watched, lambda reference: LOG.append("callback")
    )
    return made


def outcome(program: Callable[..., Any], boxed: Any) -> Any:
    LOG.clear()
    result = program(X, boxed)
    seen = [str(each) for each in LOG]
    text = str(result)
    del result, boxed
    gc.collect()
    LOG.clear()
    return text, seen


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_dies_in_its_place(program):
    expected = outcome(program, box())
    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert outcome(compiled, box()) == expected


def test_module_attribute():
    def run(module):
        LOG.clear()
        result = module(X)
        return str(result), [str(each) for each in LOG]

    expected = run(Module())
    module = Module()
    compiled = magneto.compile(module, backend="eager")
    assert run(compiled) == expected
    module.held = Dies("held")
    assert run(compiled) == expected


class Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


class Breaking(torch.nn.Module):
    def forward(self, x):
        magneto.graph_break()
        return x + 1


def test_modules_in_books_of_torch_are_modules_as_all_others():
    net = Outer(Outer(Breaking()))
    books = torch._dynamo.utils.ExactWeakKeyDictionary()
    for module in net.modules():
        books[module] = 1
    check(net, X, calls=3, graph_breaks=1)


# What has no finalizer when the program is compiled, and one in a later call.
CHANGES = {
    "attribute": (attribute, lambda b: setattr(b, "attribute", Plain())),
    "list item": (list_item, lambda b: b.list.__setitem__(0, Plain())),
    "list": (list_clear, lambda b: setattr(b, "list", [Plain(), Plain()])),
    "dict": (dict_item, lambda b: b.dict.update(key=Plain())),
    "nested": (nested, lambda b: setattr(b, "nested", Plain(inner=[Plain()]))),
    "weakly": (watched, lambda b: setattr(b, "weak", None)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_finalizers_that_come_later(name):
    program, tame = CHANGES[name]
    compiled = magneto.compile(program, backend="eager")
    tamed = box()
    tame(tamed)
    before = magneto.stats()["graph_breaks"]
    outcome(compiled, tamed)
    assert magneto.stats()["graph_breaks"] == before
    assert outcome(compiled, box()) == outcome(program, box())


def test_the_reason_names_what_dies():
    with pytest.raises(magneto.exc.Unsupported, match="box.attribute") as info:
        magneto.compile(attribute, backend="eager", fullgraph=True)(X, box())
    assert "finalizer" in str(info.value)


def filled_by_a_comprehension(x):
    [held := Dies("cell") for _ in range(1)]
    magneto.graph_break()
    return noted(x, "after"), len([held])


def filled_and_not_read(x):
    [held := Dies("cell") for _ in range(1)]  # noqa: F841 - it dies
    magneto.graph_break()
    return noted(x, "after")


def filled_by_a_call(x):
    held = None

    def fill():
        nonlocal held
        held = Dies("cell")

    fill()
    magneto.graph_break()
    return noted(x, "after")


def filled_and_emptied(x):
    held = None

    def fill():
        nonlocal held
        held = Dies("cell")

    fill()
    magneto.graph_break()
    x = noted(x, "before")
    held = None
    return noted(x, "after")


@pytest.mark.parametrize(
    "program",
    [
        filled_by_a_comprehension,
        filled_and_not_read,
        filled_by_a_call,
        filled_and_emptied,
    ],
)
def test_variables_that_inner_functions_fill(program):
    def called(x, _):
        return program(x)

    expected = outcome(called, None)
    compiled = magneto.compile(called, backend="eager")
    for _ in range(3):
        assert outcome(compiled, None) == expected


def dead_behind_a_break(x, boxed):
    value = boxed.held  # noqa: F841
    boxed.held = None
    magneto.graph_break()
    x = noted(x, "behind")
    magneto.graph_break()
    return noted(x, "end")


def dies_with_a_tuple(x, boxed):
    first = Dies("first")
    value = boxed.held  # noqa: F841
    boxed.held = None
    magneto.graph_break()
    both = (first, 1)
    both = (value, 2)  # noqa: F841
    return noted(x, "end")


def in_another_variable(x, boxed):
    first, value = Dies("first"), boxed.held
    boxed.held = None
    magneto.graph_break()
    first, value = value, first
    return noted(x, "end")


@pytest.mark.parametrize("harmless", [None, 1, "text", [1]], ids=str)
@pytest.mark.parametrize(
    "program",
    [dead_behind_a_break, dies_with_a_tuple, in_another_variable],
    ids=lambda p: p.__name__,
)
def test_what_did_nothing_when_it_died_may_do_something_in_another_call(
    program, harmless
):
    def holder(held):
        made = types.SimpleNamespace()
        made.held = held
        return made

    compiled = magneto.compile(program, backend="eager")
    for make in [lambda: harmless, lambda: Dies("held"), lambda: harmless] * 2:
        assert outcome(compiled, holder(make())) == outcome(
            program, holder(make())
        )
