# SPDX-License-Identifier: BSD-3-Clause
"""str() and repr() of objects whose text has their address in it: one graph,
and the text that plain Python gives.
"""

import pytest
import torch

import magneto
from magneto.testing import compare
from support.compiled_calls import graphs_of

X = torch.arange(1.0, 7.0).reshape(2, 3)


class Plain:
    pass


class Named:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


class Shown:
    def __str__(self):
        return "<" + super().__str__() + ">"


PLAIN, SHOWN, OBJECT = Plain(), Shown(), object()


ENTRIES: dict[str, int] = {}


def counts_by_text(x, thing):
    key = f"{thing!r}:count"
    return x + len(key.split(":")), key


def inner_class():
    class Inner:
        pass

    return Inner()


INNER = inner_class()


TEXTS = {
    "str": lambda x: (x + 1, str(PLAIN)),
    "repr": lambda x: (x + 1, repr(PLAIN)),
    "in an f-string": lambda x: (x + 1, f"{PLAIN} and {PLAIN!r}"),
    "format": lambda x: (x + 1, format(PLAIN), "{}".format(PLAIN)),
    "percent": lambda x: (x + 1, "%s %r" % (PLAIN, PLAIN)),
    "its length": lambda x: x + len(str(PLAIN)),
    "super's": lambda x: (x + 1, str(SHOWN), repr(SHOWN)),
    "by hand": lambda x: (x + 1, object.__repr__(PLAIN), object.__str__(SHOWN)),
    "of a number": lambda x: (x + 1, object.__repr__(x.dim())[:11]),
    "plain object": lambda x: (x + 1, str(OBJECT)),
    "local class": lambda x: (x + 1, str(INNER)),
    "in a list": lambda x: (x + 1, str([PLAIN, (PLAIN,), {"a": PLAIN}])),
    "decides": lambda x: x + 1 if "Plain object" in str(PLAIN) else x - 1,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", TEXTS.values(), ids=TEXTS)
def test_text_with_an_address(program, backend):
    calls = [(X,), (X + 1,), (X,)]
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_one_graph_for_texts_of_all_objects(backend):
    things = [Plain() for _ in range(4)]
    calls = [(X, thing) for thing in things]
    program = lambda x, thing: (x + 1, f"{thing}")
    assert graphs_of(program, *calls, backend=backend, fullgraph=True) == 1
    assert graphs_of(counts_by_text, *calls, backend=backend) <= 4


def test_text_knows_of_another_name_of_the_class():
    class Renamed:
        pass

    thing = Renamed()
    program = lambda x: (x + 1, str(thing))
    compiled = magneto.compile(program, backend="eager")
    compare(program(X), compiled(X))
    Renamed.__qualname__ = "Other"
    compare(program(X), compiled(X))
    Renamed.__module__ = "elsewhere"
    compare(program(X), compiled(X))
    Renamed.__repr__ = lambda self: "mine"
    compare(program(X), compiled(X))


def test_text_of_what_the_trace_makes():
    def program(x):
        return x + len(str(Plain()).split("0x")[0])

    compare(program(X), magneto.compile(program, backend="eager")(X))
