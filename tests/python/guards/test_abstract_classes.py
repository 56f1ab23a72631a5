# SPDX-License-Identifier: BSD-3-Clause
"""Classes that are registered with abstract ones, and functions registered with
generic ones, after a compilation: what was compiled is used again unless it
depends on the registration.
"""

from __future__ import annotations

import abc
import collections.abc
import functools
import numbers
import warnings
import weakref
from unittest import mock

import pytest
import torch

import magneto
from support.compiled_calls import compiled


class Abstract(abc.ABC):
    pass


class Other(abc.ABC):
    pass


class Metaclass(abc.ABCMeta):
    def __subclasscheck__(cls, subclass):
        return super().__subclasscheck__(subclass)


class Checked(metaclass=Metaclass):
    pass


def matched(value):
    match value:
        case [*_]:
            return "sequence"
        case {}:
            return "mapping"
    return None


def fresh_generic():
    generic = functools.singledispatch(lambda x: "any")
    generic.register(Abstract, lambda x: "abstract")
    return generic


class Observed(weakref.WeakKeyDictionary):
    """A cache that tells who asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def __getitem__(self, key):
        self.asked.append(key.__name__)
        return super().__getitem__(key)


REGISTRATIONS = {
    "isinstance": (
        lambda cls, generic: isinstance(cls(), Abstract),
        lambda cls, generic: Abstract.register(cls),
    ),
    "issubclass": (
        lambda cls, generic: issubclass(cls, (int, Abstract)),
        lambda cls, generic: Abstract.register(cls),
    ),
    "issubclass, through a metaclass": (
        lambda cls, generic: issubclass(cls, Checked),
        lambda cls, generic: Checked.register(cls),
    ),
    "match, sequence": (
        lambda cls, generic: matched(cls()),
        lambda cls, generic: collections.abc.Sequence.register(cls),
    ),
    "match, mapping": (
        lambda cls, generic: matched(cls()),
        lambda cls, generic: collections.abc.Mapping.register(cls),
    ),
    "generic function, through an abstract class": (
        lambda cls, generic: generic(cls()),
        lambda cls, generic: Abstract.register(cls),
    ),
    "generic function, ambiguous": (
        lambda cls, generic: generic(cls()),
        lambda cls, generic: (
            generic.register(Other, lambda x: "other"),
            Abstract.register(cls),
            Other.register(cls),
        ),
    ),
    "generic function, another one for a class": (
        lambda cls, generic: generic(1.5),
        lambda cls, generic: generic.register(float, lambda x: "float"),
    ),
    "generic function, in the place of one": (
        lambda cls, generic: (generic(1), generic(True)),
        lambda cls, generic: [
            generic.register(int, lambda x: "int"),
            generic.register(int, lambda x: "another"),
        ][1],
    ),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_class_when_it_is_registered_recompiles(name):
    program, change = REGISTRATIONS[name]

    def steps(run):
        cls, generic = type("Registered", (), {}), fresh_generic()
        results = []
        for _ in range(2):
            for _ in range(2):
                try:
                    results.append(run(cls, generic))
                except RuntimeError as error:
                    results.append(type(error))
            change(cls, generic)
        return results

    assert steps(compiled(program)) == steps(program)


def test_generic_function_with_a_cache_of_its_own_asks_it():
    def program(generic, value):
        return len(generic.cache.asked), generic(value), generic(value)

    def steps(run):
        cache = Observed()
        with mock.patch("weakref.WeakKeyDictionary", return_value=cache):
            generic = fresh_generic()
        generic.cache = cache
        return [run(generic, 1) for _ in range(3)], cache.asked

    assert steps(compiled(program)) == steps(program)


def test_registrations_use_up_no_compilations():
    def program(x):
        return x + 1 if isinstance(x, Abstract) else x - 1

    call = magneto.compile(program, backend="eager", recompile_limit=3)
    x = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", magneto.exc.RecompileLimitWarning)
        for _ in range(8):
            Abstract.register(type("Registered", (), {}))
            assert torch.equal(call(x), x - 1)
    before = magneto.stats()["compilations"]
    assert torch.equal(call(x), x - 1)
    assert magneto.stats()["compilations"] == before


class Interface(abc.ABC):
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


generic.register(Interface, lambda value: 2)


def matched_kind(value):
    match value:
        case [*_]:
            return 1
        case {}:
            return 2
    return 3


PROGRAMS = {
    "isinstance": lambda x, v: x + isinstance(v, Interface),
    "issubclass": lambda x, v: x + issubclass(type(v), (int, Interface)),
    "of a library": lambda x, v: (
        x + isinstance(v, (collections.abc.Mapping, numbers.Number))
    ),
    "of a tensor": lambda x, v: x + isinstance(x, collections.abc.Sequence),
    "with a hook": lambda x, v: x + isinstance(v, Hooked),
    "generic function": lambda x, v: x + generic(v),
    "pattern": lambda x, v: x + matched_kind(v),
    "behind a break": lambda x, v: (
        x.data_ptr() and x + isinstance(v, Interface)
    ),
}


def unrelated():
    for base in (Interface, Hooked, collections.abc.Mapping, numbers.Number):
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
    (collections.abc.Sequence if name == "pattern" else Interface).register(cls)
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
    Interface.register(base)
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
    Interface.register(cls)
    observers.add(hear)
    try:
        compiled(x, cls())
    finally:
        observers.remove(hear)
    why = next(d["why"] for kind, d in heard if kind == "recompile")
    assert "Told is no subclass of Interface" in why[0]
