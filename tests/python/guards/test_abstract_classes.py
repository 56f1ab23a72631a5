# SPDX-License-Identifier: BSD-3-Clause
"""Classes that are registered with abstract ones, and functions registered with
generic ones, after a compilation: what was compiled is used again unless it
depends on the registration.
"""

import abc
import collections.abc
import functools
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
