# SPDX-License-Identifier: BSD-3-Clause
"""What random programs find around them: helpers, classes, contexts."""

import contextlib

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
