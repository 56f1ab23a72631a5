# SPDX-License-Identifier: BSD-3-Clause
"""Instances, made while tracing, of classes that derive from classes written in
C: what C code keeps in them leaves the graph, too.
"""

import abc
import functools
import itertools
import types
from collections import defaultdict, deque

import pytest
import torch

import magneto
from magneto.testing import check

LOG = []


class Counts(defaultdict):
    pass


class Table(defaultdict):
    """Makes itself in its own way, which must not happen twice."""

    def __init__(self, name):
        LOG.append(name)
        super().__init__(list)
        self.name = name


class Last(deque):
    def __init__(self, items, most):
        LOG.append(most)
        super().__init__(items, most)


class Part(functools.partial):
    pass


class Named(functools.partial):
    def __new__(cls, name, function, /, *args, **keywords):
        self = super().__new__(cls, function, *args, **keywords)
        self.name = name
        return self

    def __init__(self, *args, **keywords):
        LOG.append(self.name)


class Lazy(property):
    def __init__(self, wrapped):
        LOG.append("lazy")
        super().__init__(wrapped)
        self.wrapped = wrapped


class Cached(property):
    """Goes by what the property is made of."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if self.fget is None:
            raise AttributeError("no getter")
        name = "_" + self.fget.__name__
        if name not in vars(instance):
            vars(instance)[name] = self.fget(instance)
        return vars(instance)[name]

    def __set__(self, instance, value):
        if self.fset is None:
            return super().__set__(instance, value)
        LOG.append(value)
        return self.fset(instance, value + 1)

    def __delete__(self, instance):
        if self.fdel is not None:
            LOG.append("deleted")
        super().__delete__(instance)


class Owner:
    @Cached
    def read(self):
        LOG.append("read")
        return 3

    @Cached
    def written(self):
        return self.value

    @written.setter
    def written(self, value):
        self.value = value

    @written.deleter
    def written(self):
        del self.value

    empty = Cached()


class Chain(itertools.chain):
    pass


class Links(itertools.chain):
    @classmethod
    def from_iterable(cls, links):
        made = super().from_iterable(links)
        made.name = cls.__name__
        return made


class Library(types.ModuleType):
    pass


class Static(staticmethod):
    pass


class ForClasses(classmethod):
    pass


class Doubled(staticmethod):
    def __get__(self, instance, owner=None):
        function = super().__get__(instance, owner)
        return lambda value: function(value) * 2


class Naming(classmethod):
    def __get__(self, instance, owner=None):
        method = super().__get__(instance, owner)
        return lambda value: (method(value), owner.__name__)


class Members:
    @Static
    def static(value=1):
        return value

    @ForClasses
    def of_class(cls, value=1):
        return cls.__name__, value

    @abc.abstractstaticmethod
    def abstract(value=1):
        return value

    @Doubled
    def doubled(value):
        return value

    @Naming
    def named(cls, value):
        return cls.__name__, value


class MoreMembers(Members):
    def above(self):
        return super().static(2), super().of_class(2), super().doubled(2)


def documented(self):
    """What it says."""
    return self * 2


def raised(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


MAKE = {
    "defaultdict": lambda: Counts(int, a=1),
    "defaultdict with an __init__": lambda: Table("t"),
    "copied defaultdict": lambda: Counts(int, a=1).copy(),
    "merged defaultdict": lambda: Counts(int) | {3: 4},
    "deque": lambda: Last([1, 2, 3], 2),
    "deque without a limit": lambda: Last([1, 2, 3], None),
    "partial": lambda: Part(max, 3, key=abs),
    "partial of a partial": lambda: Part(Part(max, 3), 4),
    "partial with a __new__": lambda: Named("n", max, 3),
    "property": lambda: property(documented),
    "property with a text": lambda: property(documented, doc="another"),
    "derived property": lambda: Lazy(documented),
}


@pytest.mark.parametrize("name", MAKE)
def test_what_c_code_keeps_of_a_new_object(name):
    make = MAKE[name]

    def returned(x):
        LOG.clear()
        return x + 1, make(), [*LOG]

    def kept_over_a_break(x):
        LOG.clear()
        made = make()
        magneto.graph_break()
        return x + 1, made, [*LOG]

    check(returned, torch.ones(2), graph_breaks=0)
    check(kept_over_a_break, torch.ones(2), graph_breaks=1)


def used(x):
    counts, last, part = Counts(int), Last([1, 2], 2), Part(max, 3)
    counts["a"] += 1
    magneto.graph_break()
    last.append(5)
    counts["b"] += 2
    return x + 1, counts, last, part(4)


def keywords_of_a_partial(x):
    part = functools.partial(dict, b=2)
    keywords = part.keywords
    magneto.graph_break()
    keywords["new"] = 1
    return x + 1, part(), part.keywords is keywords, keywords


def parts_of_a_property(x):
    made = Lazy(documented)
    both = property(documented, print)
    return (
        isinstance(made, property) and x + 1,
        made.fget,
        made.__get__(x),
        made.__get__(None, int) is made,
        raised(lambda: made.__get__(None)),
        made.wrapped,
        both.fset,
        both.fdel,
    )


@pytest.mark.parametrize(
    "program", [used, keywords_of_a_partial, parts_of_a_property]
)
def test_new_objects_are_used(program):
    check(program, torch.ones(2))


def test_properties_of_a_class_of_the_programs():
    def program(x, owner):
        LOG.clear()
        found = owner.read + owner.read
        owner.written = 4
        found += owner.written
        del owner.written
        return (
            x + found,
            raised(lambda: owner.empty),
            raised(lambda: setattr(owner, "empty", 1)),
            raised(lambda: setattr(owner, "read", 1)),
            raised(lambda: delattr(owner, "read")),
            Owner.read.fget.__name__,
            Owner.read.fset,
            [*LOG],
        )

    def of_a_new_one(x):
        return program(x, Owner())

    check(program, torch.ones(2), Owner())
    check(of_a_new_one, torch.ones(2))


def test_a_partial_of_what_cannot_be_called():
    def program(x):
        try:
            Part(3)
        except TypeError as error:
            return x + 1, str(error)

    check(program, torch.ones(2), graph_breaks=0)


def test_words_of_methods_of_modules():
    library = Library("library")

    def program(x):
        return x + 1, raised(lambda: library.__format__())

    check(program, torch.ones(2))


def of_an_instance(x, made):
    return x + 1, made.static(), made.of_class(3), made.abstract(4)


def of_the_class(x, made):
    return x + 1, MoreMembers.static(2), MoreMembers.of_class()


def by_name(x, made):
    return x + 1, getattr(made, "of_class")(2), made.above()


def with_a_get_of_their_own(x, made):
    return x + 1, made.doubled(2), Members.doubled(3), made.named(1)


def in_the_hand(x, made):
    static, of_class = vars(Members)["static"], vars(Members)["of_class"]
    return (
        x + static(2),
        static.__get__(made)(3),
        static.__func__(4),
        of_class.__get__(made)(5),
        of_class.__get__(None, MoreMembers)(),
        vars(Members)["doubled"](6),
    )


@pytest.mark.parametrize(
    "program",
    [
        of_an_instance,
        of_the_class,
        by_name,
        with_a_get_of_their_own,
        in_the_hand,
    ],
)
def test_static_and_class_methods_of_a_class_of_the_programs(program):
    check(program, torch.ones(2), MoreMembers(), graph_breaks=0)


@pytest.mark.parametrize("cls", [Chain, Links])
def test_chains_of_a_class_of_the_programs(cls):
    def program(x, parts):
        made = cls.from_iterable(parts)
        return x + 1, type(made), vars(made), list(made)

    check(program, torch.ones(2), [[1], (2, 3)])


def test_words_of_what_derived_chains_do_not_take():
    def program(x, parts):
        none = raised(lambda: Chain.from_iterable())
        two = raised(lambda: Chain.from_iterable(parts, parts))
        return x + 1, none, two, raised(lambda: Chain([]).from_iterable())

    check(program, torch.ones(2), [[1]])


def logged(base, *names):
    """A class derived from `base` that says when it is asked by `names`."""

    def asked(name):
        def method(self, *args):
            LOG.append(name)
            return getattr(super(made, self), name)(*args)

        return method

    made = type(
        "Logged",
        (base,),
        {"__module__": __name__, **dict(zip(names, map(asked, names)))},
    )
    return made


class Steps:
    """A sequence of the program's own."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        LOG.append("len")
        return len(self.items)

    def __getitem__(self, position):
        LOG.append(position)
        return self.items[position]


def moved(iterator, count):
    for _ in range(count):
        next(iterator, None)
    return iterator


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("cls", "ask"),
    [
        (logged(tuple, "__iter__", "__len__"), tuple.__iter__),
        (logged(list, "__iter__", "__len__"), list.__iter__),
        (logged(str, "__iter__", "__len__"), str.__iter__),
        (logged(bytes, "__iter__", "__len__"), iter),
        (logged(list, "__reversed__", "__len__"), list.__reversed__),
        (logged(tuple, "__len__", "__getitem__"), reversed),
        (logged(list, "__len__", "__getitem__"), reversed),
        (Steps, reversed),
        (Steps, iter),
    ],
)
def test_iterators_of_the_base_are_made_once(cls, ask, count):
    items = "ab" if issubclass(cls, str) else [1, 2]

    def program(x, items):
        made = cls(items)
        return x + 1, moved(ask(made), count), made

    results = []
    for call in (program, magneto.compile(program, backend="eager")):
        LOG.clear()
        _, iterator, made = call(torch.ones(2), items)
        asked = list(LOG)
        left = iterator.__reduce__()
        results.append((left[0], left[2:], list(iterator), type(made), asked))
        results[-1] += (list(LOG),)
    assert results[0] == results[1]
