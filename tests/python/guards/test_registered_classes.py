# SPDX-License-Identifier: BSD-3-Clause
"""Classes that libraries register with abstract ones while a program runs:
what was compiled stays, unless it was told something else of a class.
"""

from __future__ import annotations

import abc
import collections.abc
import functools
import numbers

import pytest
import torch

import magneto


class Abstract(abc.ABC):
    pass


class Plain:
    pass


class Hooked(abc.ABC):
    asked = 0

    @classmethod
    def __subclasshook__(cls, subclass):
        Hooked.asked += 1
        return NotImplemented


class Failing(abc.ABC):
    fails = False

    @classmethod
    def __subclasshook__(cls, subclass):
        if Failing.fails:
            raise ValueError("this hook fails")
        return NotImplemented


@functools.singledispatch
def generic(value):
    return 1


generic.register(Abstract, lambda value: 2)


def matched(value):
    match value:
        case [*_]:
            return 1
        case {}:
            return 2
    return 3


PROGRAMS = {
    "isinstance": lambda x, v: x + isinstance(v, Abstract),
    "issubclass": lambda x, v: x + issubclass(type(v), (int, Abstract)),
    "of a library": lambda x, v: (
        x + isinstance(v, (collections.abc.Mapping, numbers.Number))
    ),
    "of a tensor": lambda x, v: x + isinstance(x, collections.abc.Sequence),
    "with a hook": lambda x, v: x + isinstance(v, Hooked),
    "generic function": lambda x, v: x + generic(v),
    "pattern": lambda x, v: x + matched(v),
    "behind a break": lambda x, v: x.data_ptr() and x + isinstance(v, Abstract),
}


def unrelated():
    for base in (Abstract, Hooked, collections.abc.Mapping, numbers.Number):
        base.register(type("Unrelated", (), {}))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_compiled_again_for_an_unrelated_class(name, backend):
    program = PROGRAMS[name]
    compiled = magneto.compile(program, backend=backend)
    x, value = torch.ones(3), Plain()
    torch.testing.assert_close(compiled(x, value), program(x, value))
    before = dict(magneto.stats())
    for _ in range(3):
        unrelated()
        for _ in range(2):
            torch.testing.assert_close(compiled(x, value), program(x, value))
    after = magneto.stats()
    assert after["compilations"] == before["compilations"]
    assert after["graphs"] == before["graphs"]


def test_new_size_behind_a_registration_is_one_compilation():
    compiled = magneto.compile(PROGRAMS["isinstance"], backend="eager")
    value = Plain()
    for size in (3, 4, 5):
        compiled(torch.ones(size), value)
        unrelated()
    before = magneto.stats()["compilations"]
    for size in (3, 6, 7):
        unrelated()
        compiled(torch.ones(size), value)
    assert magneto.stats()["compilations"] == before


@pytest.mark.parametrize("name", ["isinstance", "issubclass", "pattern"])
def test_related_class_is_compiled_for_once(name):
    program = PROGRAMS[name]
    cls = type("Related", (), {})
    compiled = magneto.compile(program, backend="eager")
    x = torch.ones(3)
    compiled(x, cls())
    unrelated()
    compiled(x, cls())
    (collections.abc.Sequence if name == "pattern" else Abstract).register(cls)
    before = magneto.stats()["compilations"]
    for _ in range(3):
        unrelated()
        torch.testing.assert_close(compiled(x, cls()), program(x, cls()))
    assert magneto.stats()["compilations"] == before + 1


def test_base_class_that_is_registered_counts():
    base = type("Base", (), {})
    cls = type("Derived", (base,), {})
    program = PROGRAMS["isinstance"]
    compiled = magneto.compile(program, backend="eager")
    x = torch.ones(3)
    compiled(x, cls())
    Abstract.register(base)
    torch.testing.assert_close(compiled(x, cls()), program(x, cls()))


def test_hooks_are_asked_when_classes_were_registered_only():
    compiled = magneto.compile(PROGRAMS["with a hook"], backend="eager")
    x, value = torch.ones(3), Plain()
    compiled(x, value)
    Hooked.asked = 0
    for _ in range(3):
        compiled(x, value)
    assert Hooked.asked == 0


def test_hook_that_fails_is_the_programs_own_error():
    def program(x, v):
        return x + isinstance(v, Failing)

    compiled = magneto.compile(program, backend="eager")
    x, value = torch.ones(3), Plain()
    compiled(x, value)
    unrelated()
    Failing.fails = True
    try:
        with pytest.raises(ValueError, match="this hook fails"):
            compiled(x, value)
    finally:
        Failing.fails = False
    torch.testing.assert_close(compiled(x, value), program(x, value))


def test_why_it_is_compiled_again_is_told():
    cls = type("Told", (), {})
    compiled = magneto.compile(PROGRAMS["isinstance"], backend="eager")
    x = torch.ones(3)
    heard = []
    from magneto import observers

    hear = lambda kind, identity, details: heard.append((kind, details))
    compiled(x, cls())
    Abstract.register(cls)
    observers.add(hear)
    try:
        compiled(x, cls())
    finally:
        observers.remove(hear)
    why = next(d["why"] for kind, d in heard if kind == "recompile")
    assert "Told is no subclass of Abstract" in why[0]
