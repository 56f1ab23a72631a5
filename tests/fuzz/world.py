# SPDX-License-Identifier: BSD-3-Clause
"""What random programs find around them: helpers, classes, contexts."""

import contextlib
import dataclasses
import enum
import functools
import typing

import magneto

total = 0


def reset_total():
    """Called first by each program."""
    global total
    total = 0


def add_to_total(m):
    """Writes a global variable."""
    global total
    total += m


def helper(a, m):
    """Inlined."""
    return a * 2 + m if m > 1 else a - m


def broken(a, m):
    """Inlined up to a graph break."""
    b = a + m
    magneto.graph_break()
    return b * 2


@magneto.disable
def opaque(value):
    """Not looked into."""
    return value


def counting(a, m):
    """A generator."""
    for k in range(3):
        yield a + k * m


def is_ordered(items):
    """Whether the order of a set is told by its items, not by addresses."""
    return all(isinstance(item, int | str) for item in items)


def listed(items):
    """The items of a set, in its order."""
    return list(items) if is_ordered(items) else []


def popped(items):
    """What a set gives first."""
    return items.pop() if is_ordered(items) else items.clear()


class Oops(Exception):
    """An exception class of the program's own."""


class Thing:
    """An object with state, a property, and methods."""

    def __init__(self, count, weight):
        self.count = count
        self.weight = weight
        self.items = []

    def __repr__(self):
        return "a thing"

    @property
    def double(self):
        """Computed at each look."""
        return self.count * 2

    def scale(self, a, m=1):
        """What functions are made of."""
        return a - m * self.count

    def apply(self, a):
        """Changes the object."""
        self.count += 1
        self.items.append(self.count)
        return a + self.weight

    def __call__(self, a):
        with Noted("call", self.items):
            return a * self.count

    def __getattr__(self, name):
        if name == "b":
            return self.count
        raise AttributeError(name)


class Noted:
    """A context manager that notes what happens to it."""

    def __init__(self, name, notes, swallow=()):
        self.name = name
        self.notes = notes
        self.swallow = swallow

    def __enter__(self):
        self.notes.append("enter")
        return self.name

    def __exit__(self, kind, error, tb):
        self.notes.append(kind and kind.__name__)
        return isinstance(error, self.swallow)


@contextlib.contextmanager
def noted(name, notes):
    """The same as a generator."""
    notes.append("begin")
    try:
        yield name
    finally:
        notes.append("end")


class Level:
    """A descriptor."""

    def __set_name__(self, owner, name):
        self.key = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.key, 0) if instance is not None else self

    def __set__(self, instance, value):
        instance.__dict__[self.key] = value % 7


@functools.total_ordering
class Child(Thing):
    """A subclass that overrides operators, items and what is written to it."""

    level = Level()

    def apply(self, a):
        b = super().apply(a)
        return b - self.count

    def scale(self, a, m=1):
        return super().scale(a, m) + self.weight

    def __add__(self, m):
        return type(self)(self.count + m, self.weight)

    def __matmul__(self, a):
        return a * self.count

    def __eq__(self, other):
        if not isinstance(other, Thing):
            return NotImplemented
        return self.count == other.count

    def __lt__(self, other):
        return self.count < other.count

    def __hash__(self):
        return 7

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key : key + 1] = [value]

    def __len__(self):
        return len(self.items)

    def __setattr__(self, name, value):
        if name == "extra":
            super().__setattr__("count", self.count + 1)
        super().__setattr__(name, value)


class Slotted:
    """An object without a dictionary, which is its own context."""

    __slots__ = ("count", "weight", "items", "extra")

    def __init__(self, count, weight):
        self.count = count
        self.weight = weight
        self.items = []

    @property
    def double(self):
        """As Thing's."""
        return self.count + self.count

    def apply(self, a):
        """As Thing's."""
        self.items += [self.count]
        return a - self.weight

    def scale(self, a, m=1):
        """As Child's."""
        return a - m

    def __iter__(self):
        yield self.count
        yield from self.items

    def __call__(self, a):
        return a + self.count

    def __bool__(self):
        return self.count > 1

    def __repr__(self):
        return f"slotted {self.count}"


@dataclasses.dataclass(order=True)
class Pair:
    """A dataclass."""

    first: object
    second: object = 1
    rest: list = dataclasses.field(default_factory=list)

    def scaled(self):
        """The first times the second."""
        self.rest.append(self.second)
        return self.first * self.second


class Place(typing.NamedTuple):
    """A named tuple."""

    x: object
    y: object = 0


class Tint(enum.Enum):
    """An enum with a method."""

    RED = 0
    GREEN = 1
    BLUE = 2

    def tint(self, a):
        """Depends on the member."""
        return a * self.value if self is not Tint.RED else a + 1


def twice(function):
    """A decorator."""

    @functools.wraps(function)
    def wrapper(a, m=1, *rest, **named):
        return function(function(a, m, *rest, **named), m)

    return wrapper


@functools.lru_cache(maxsize=None)
def remembered(m):
    """Computed once."""
    return m * m


def walk(items, m):
    """A generator of ints that asks and catches."""
    for item in items:
        try:
            yield m if isinstance(item, str) else 1
        except ValueError:
            yield -1
    return m
