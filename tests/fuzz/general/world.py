# SPDX-License-Identifier: BSD-3-Clause
"""What random programs find around them: helpers, classes, contexts."""

import collections
import contextlib
import dataclasses
import enum
import functools
import traceback
import typing

import torch

import magneto

total = 0
ordered: collections.OrderedDict = collections.OrderedDict()
grouped: collections.defaultdict = collections.defaultdict(list)


def reset_total():
    """Called first by each program."""
    global total
    total = 0
    global_counter.calls = 0
    Thing.level_of_all = 3
    ordered.clear()
    ordered.update(a=1, b=2)
    grouped.clear()
    linear.seen.zero_()


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


def global_counter():
    """A function that keeps its own count."""
    global_counter.calls += 1
    add_to_total(global_counter.calls % 3)


global_counter.calls = 0


def sent(items, m):
    """What a generator gives for what it is sent."""

    def echo():
        got = yield "begin"
        while True:
            try:
                got = yield got
            except ValueError as error:
                got = str(error)

    generator = echo()
    found = [next(generator)]
    for item in items:
        found.append(generator.send(item))
        if item == m:
            found.append(generator.throw(ValueError(item)))
        if len(found) > 6:
            break
    generator.close()
    return found


def traced(error):
    """The names in the traceback of an error that is caught with a context."""
    try:
        try:
            raise error
        except LookupError:
            raise ValueError("second")  # noqa: B904
        finally:
            add_to_total(1)
    except Exception as caught:
        caught.add_note("seen")
        names = [
            frame.name for frame in traceback.extract_tb(caught.__traceback__)
        ]
        return f"{names} {caught.__context__!r} {caught!r} {caught.__notes__}"


def enumerate_strings(items):
    """Pairs of numbers as texts, and items."""
    return ((str(k), item) for k, item in enumerate(items))


@functools.singledispatch
def dispatched(value, a):
    """By the class of a value."""
    return a


@dispatched.register
def _(value: int, a):
    return a * value


@dispatched.register(list)
def _(value, a):
    return a + len(value)


class Linear(torch.nn.Module):
    """A module that counts."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4, 4), 0.25))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, a):
        self.seen += 1
        return torch.nn.functional.linear(a, self.weight)


linear = Linear()


class Meter:
    """A number of its own kind."""

    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        if isinstance(other, Meter):
            return Meter(self.amount + other.amount)
        return Meter(self.amount + other)

    def __radd__(self, other):
        return Meter(other - self.amount)

    def __iadd__(self, other):
        self.amount += 1
        return self

    def __eq__(self, other):
        return isinstance(other, Meter) and self.amount == other.amount

    def __hash__(self):
        return hash(self.amount)

    def __gt__(self, other):
        return self.amount > other.amount

    def __index__(self):
        return self.amount

    def __iter__(self):
        return iter(range(self.amount))

    def __format__(self, how):
        return format(f"{self.amount}m", how)

    def __repr__(self):
        return f"Meter({self.amount})"


class Thing:
    """An object with state, a property, and methods."""

    level_of_all = 3

    @classmethod
    def made(cls, count, weight):
        """Another constructor."""
        return cls(count + 1, weight)

    @staticmethod
    def static(m):
        """Of no object."""
        return m * 2

    @functools.cached_property
    def kept(self):
        """Computed at the first look."""
        return self.count + 10

    @property
    def halved_weight(self):
        """A property that can be set."""
        return self.weight / 2

    @halved_weight.setter
    def halved_weight(self, value):
        self.weight = value * 2

    def halved(self, a):
        """Through the property."""
        return a * self.halved_weight

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
