# SPDX-License-Identifier: BSD-3-Clause
"""Builtin functions and the methods of builtin classes, while tracing."""
# ruff: noqa: F401  (the programs in the tables use the names)

import abc
import collections.abc
import enum
import numbers

import pytest
import torch

import magneto
from magneto.testing import check
from support.expressions import check_error, check_expression, lines


class Point:
    kind = "point"

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __repr__(self):
        return f"Point({self.a!r}, {self.b!r})"

    def __eq__(self, other):
        return isinstance(other, Point) and self.a == other.a

    def __lt__(self, other):
        return self.a < other.a

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (self.a, self.b)[i]

    def __call__(self, z):
        return self.a + z

    def __bool__(self):
        return self.a > 0

    def __int__(self):
        return 7

    def __index__(self):
        return 3

    def __float__(self):
        return 1.5

    def __abs__(self):
        return "abs"

    def __round__(self, digits=None):
        return ("round", digits)

    def __divmod__(self, other):
        return ("divmod", other)

    def __add__(self, other):
        return Point(self.a + getattr(other, "a", other), self.b)

    def __radd__(self, other):
        return Point(self.a + other, self.b)

    def __format__(self, spec):
        return f"<{spec}>"

    def __contains__(self, item):
        return item == self.b

    def __reversed__(self):
        return iter([self.b, self.a])

    def __hash__(self):
        return 11


class Plain:
    pass


class Shape(abc.ABC):
    pass


class Square(Shape):
    pass


Shape.register(Plain)


class Checked(type):
    def __instancecheck__(cls, instance):
        return getattr(instance, "checked", False)


class Marked(metaclass=Checked):
    pass


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Word(str, enum.Enum):
    YES = "yes"


NAMESPACE = dict(globals())

EXPRESSIONS = lines("""
# sizes, truth, numbers
len([x, 1]), len((x,)), len({}), len("abc"), len(x), len(Point(1, 2))
abs(-3), abs(-2.5), abs(Point(1, 2)), abs(x)
round(2.567, 2), round(2.5), round(Point(1, 2)), round(Point(1, 2), 1)
divmod(7, 3), divmod(-7.5, 2), divmod(Point(1, 2), 4)
pow(2, 5), pow(2, 5, 7), pow(x, 2), pow(base=2, exp=3)
int("12"), int(3.7), int("ff", 16), int("ff", base=16), int(Point(1, 2)), int()
float("1.5"), float(2), float(Point(1, 2)), float("inf"), float()
bool([]), bool([0]), bool(Point(0, 1)), bool(), bool("a"), bool({}), bool(Plain())
complex(1, 2), complex("1+2j"), complex(3), complex(imag=2)
hex(255), oct(8), bin(5), hex(Point(1, 2)), chr(97), ord("a")
hash("a") == hash("a"), hash(1) == 1, hash((1, 2)) == hash((1, 2)), hash(Point(1, 2))
bytes([1, 2]), bytes(3), bytes("a", "utf8"), bytes(i for i in range(3))
# sum, min, max, any, all, sorted
sum([1, 2, 3]), sum([1.5, 2]), sum([[1], [2]], []), sum((i for i in range(4)), 10), sum([x, x]), sum([x], start=x)
sum([Point(1, 2), Point(3, 4)]).a
min(3, 1, 2), max([3, 1, 2]), min([], default=5), max("abc", "abd"), min([Point(2, 0), Point(1, 0)]).a
max([1, -5, 3], key=abs), min([1, -5, 3], key=lambda v: -v), max((1, 2), (1, 3)), min({3: "a", 2: "b"})
any([]), any([0, 1]), all([]), all([1, 0]), any(v > 1 for v in (1, 2)), all(v > 1 for v in (1, 2))
sorted([3, 1, 2]), sorted("cab"), sorted([3, 1, 2], reverse=True), sorted([(2, "b"), (1, "a"), (1, "b")])
sorted(["bb", "a", "ccc"], key=len), sorted([1, 2, 3, 4], key=lambda v: v % 2), sorted([1, 2, 3, 4], key=lambda v: v % 2, reverse=True)
[p.a for p in sorted([Point(3, 0), Point(1, 0), Point(2, 0)])]
sorted({"b": 1, "a": 2}), sorted([2.5, 1, float("-inf")]), sorted([], key=None)
# iteration
list(range(5)), list(range(2, 10, 3)), list(range(5, 0, -2)), len(range(10)), range(5)[2], range(10)[2:5], range(3) == range(0, 3)
list(enumerate("ab")), list(enumerate("ab", 5)), list(enumerate(start=2, iterable=[x]))[0][0]
list(zip([1, 2], "ab")), list(zip()), list(zip([1, 2, 3], (4, 5))), list(zip([1, 2], [3, 4], strict=True))
list(map(lambda v: v + 1, [1, 2])), list(map(lambda a, b: a * b, [1, 2], [3, 4, 5])), list(map(str, [1, 2])), list(map(len, ["a", "bc"]))
list(filter(None, [0, 1, "", "a"])), list(filter(lambda v: v > 1, [1, 2, 3])), list(filter(bool, [0, 2]))
list(reversed([1, 2, 3])), list(reversed((1, 2))), list(reversed("ab")), list(reversed(range(3))), list(reversed({"a": 1, "b": 2})), list(reversed(Point(1, 2)))
next(iter([1, 2])), next(iter([]), "none"), next(iter("ab")), next(iter({"k": 1})), next(zip([1], [2])), list(iter([5, 3, 1].pop, 3))
[v for v in iter(Point(1, 2))], list(Point(3, 4)), tuple(Point(3, 4))
# attributes
getattr(Point(1, 2), "a"), getattr(Point(1, 2), "c", 5), getattr(Point, "kind"), getattr("abc", "upper")()
hasattr(Point(1, 2), "a"), hasattr(Point(1, 2), "c"), hasattr([], "append"), hasattr(x, "shape"), hasattr(x, "nothing")
vars(Point(1, 2)), Point(1, 2).__dict__, Point(1, 2).__class__ is Point, Point.__name__, Point.__mro__[1] is object
callable(len), callable(3), callable(Point(1, 2)), callable(Plain()), callable(Point), callable(lambda: 1), callable([].append)
type(3) is int, type(Point(1, 2)) is Point, type(x) is torch.Tensor, type([]).__name__, type(None) is type(None), type(Color.RED) is Color
id(Point) == id(Point), dir(Point)[-1], "append" in dir(list)
# classes
isinstance(3, int), isinstance(True, int), isinstance(3, (str, float)), isinstance(3, (str, (float, int))), isinstance(3, int | str), isinstance("a", int | None), isinstance(None, int | None)
isinstance(Point(1, 2), Point), isinstance(Plain(), Shape), isinstance(Square(), Shape), isinstance(3, Shape), isinstance(Point(1, 2), Marked)
isinstance([], collections.abc.Sequence), isinstance({}, collections.abc.Mapping), isinstance((), collections.abc.Iterable), isinstance(3, collections.abc.Hashable), isinstance(1, numbers.Number), isinstance(1.5, numbers.Integral)
isinstance(x, torch.Tensor), isinstance(x, torch.nn.Parameter), isinstance(x, (list, torch.Tensor)), isinstance(len, type(len)), isinstance(lambda: 0, type(lambda: 0)), isinstance(Point, type)
issubclass(bool, int), issubclass(Point, (int, Point)), issubclass(Plain, Shape), issubclass(int, int | str), issubclass(dict, collections.abc.Mapping), issubclass(Point, Shape)
# enums
Color(1) is Color.RED, Color["BLUE"].value, Color.RED.name, [c.name for c in Color], Color.RED == Color.RED, Color.RED != Color.BLUE, Color.RED in Color, len(Color)
Number(2) + 1, Number.ONE < Number.TWO, int(Number.TWO), Word.YES == "yes", Word("yes").upper(), isinstance(Word.YES, str), {Color.RED: 1}[Color.RED]
f"{Color.RED}", str(Color.BLUE), repr(Color.RED), f"{Number.TWO}", str(Word.YES), f"{Word.YES}"
# slices
slice(1, 2), slice(3).indices(10), [1, 2, 3][slice(1, None)], slice(1, 5, 2).step, slice(1, 5) == slice(1, 5)
# object's own methods
object.__eq__(1, 2), (3).__eq__(3), Point(1, 2).__ne__(Point(1, 2)), Plain() == Plain(), Plain() != 3, object.__getattribute__(Point(1, 2), "a")
[o.__setattr__("a", 9) or o.a for o in [Point(1, 2)]], [object.__setattr__(o, "a", 8) or o.a for o in [Point(1, 2)]], [delattr(o, "a") or vars(o) for o in [Point(1, 2)]], [setattr(o, "q", x) or o.q for o in [Plain()]]
object.__new__(Plain).__class__ is Plain, Point.__call__(Point(1, 2), 5), type.__call__(Point, 1, 2).b, Plain.mro()[0] is Plain
(lambda f: f.__name__)(check_error), (lambda f: f.__call__(3))(lambda v: v + 1), (lambda f: f.__get__(3)())(lambda s: s * 2), Point(1, 2).__call__(4)
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_builtin_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines("""
len(3)
len(1, 2)
len()
abs("a")
round("a")
int("a")
int([])
int("1", 2, 3)
float("x")
float([])
divmod(1, "a")
hash([])
hash({})
sum(["a"], "")
sum(3)
sum([1, "a"])
min([])
max()
max(1, "a")
min(1, 2, default=3)
sorted(3)
sorted([1, "a"])
sorted([1], 2)
any(3)
range("a")
range()
range(1, 2, 0)
next([])
next(iter([]))
iter(3)
list(zip([1, 2], [1], strict=True))
list(zip([1], [1, 2], strict=True))
list(map(3, [1]))
map(len)
reversed({1})
reversed(3)
getattr(Point(1, 2), "c")
getattr(Point(1, 2), 3)
setattr(Point(1, 2))
delattr(Plain(), "a")
vars(3)
type(1, 2)
isinstance(3, 3)
isinstance("a", (int, 3))
issubclass(3, int)
Color(5)
Color["GREEN"]
object.__new__(3)
object(3)
Plain(1)
chr(-1)
hex("a")
enumerate()
enumerate([], "a")
list([1].append(2, 3))
[].index(x=3)
super()
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_builtin_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


def test_generator_protocol():
    def numbers_of(limit):
        sent = []
        try:
            for i in range(limit):
                sent.append((yield i))
        except ValueError as error:
            yield str(error)
        finally:
            sent.append("end")
        return sent

    def program(x):
        g = numbers_of(5)
        first = next(g)
        second = g.send("a")
        third = g.throw(ValueError("thrown"))
        try:
            next(g)
        except StopIteration as stop:
            returned = stop.value
        h = numbers_of(3)
        next(h)
        h.close()
        return x + second, first, third, returned, list(h), next(h, "done")

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_locals_and_super():
    class Base:
        def value(self, z):
            return z + 1

        @classmethod
        def name(cls):
            return cls.__name__

        @staticmethod
        def twice(z):
            return z * 2

        @property
        def half(self):
            return 0.5

    class Derived(Base):
        def value(self, z):
            return super().value(z) * super(Derived, self).twice(2)

        @classmethod
        def name(cls):
            return "my " + super().name()

        @property
        def half(self):
            return super().half + 1

    def program(x):
        d = Derived()
        a = 1
        return d.value(x), d.name(), d.half, sorted(locals())

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_lazy_iterators_are_lazy():
    def program(x):
        seen = []

        def note(v):
            seen.append(v)
            return v

        pairs = zip(map(note, [1, 2, 3]), [10, 20])
        before = list(seen)
        first = next(pairs)
        rest = list(pairs)
        return x * first[0], before, rest, seen

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_iterators_that_live_on_are_rebuilt():
    def program(x):
        e = enumerate([1, 2, 3], 5)
        z = zip([1, 2], [3, 4])
        m = map(abs, [-1, -2])
        f = filter(None, [0, 1, 2])
        r = reversed([1, 2, 3])
        d = {"a": 1, "b": 2}
        i = iter(d.items())
        next(e), next(i)
        return x + 1, e, z, m, f, r, d.keys(), d.values(), d.items(), i

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(2)
    y, *rest = compiled(x)
    expected = [list(part) for part in program(x)[1:]]
    assert [list(part) for part in rest] == expected
    y, *again = compiled(x)
    assert [list(part) for part in again] == expected
