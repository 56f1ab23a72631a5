# SPDX-License-Identifier: BSD-3-Clause
"""Classes and functions that the program writes to between two calls."""

import abc
import dataclasses
import enum
import functools
import inspect
import itertools
import types
import typing

import pytest
import torch

import magneto
from magneto.testing import check

# Made anew for each program.
WORLD = '''
class Base:
    """doc"""
    a: int = 1
    def m(self, q=1): "text"
class Sub(Base):
    @classmethod
    def cm(cls, z=1): return z
    @staticmethod
    def sm(z=1): return z
    prop = property(lambda self: 1, doc="text")
class Apart:
    def __init__(self): pass
class Other(Base):
    def m(self, q=2): "other"
class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): pass
@dataclasses.dataclass
class Data:
    x: int = 1
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Error(Exception): pass
class OtherError(Exception): pass
class Raised(Error): pass
def f(a: int, b: str = "x", *, c=3) -> None: "text"
@functools.wraps(f)
def g(*args, **kw): return args
def named(a: "int"): pass
def generator(): yield 1
obj = Sub()
'''
NAMES = {
    "abc": abc,
    "dataclasses": dataclasses,
    "enum": enum,
    "functools": functools,
    "inspect": inspect,
    "torch": torch,
    "types": types,
    "typing": typing,
    "__name__": __name__,
}

# What is looked at, and what happens before the second call.
CHANGED = """
isinstance(obj, Base)                 | Sub.__bases__ = (Apart,)
issubclass(Sub, (int, Base))          | Sub.__bases__ = (Apart,)
[k.__name__ for k in Sub.mro()]       | Sub.__bases__ = (Apart,)
Sub.__base__.__name__                 | Sub.__bases__ = (Apart,)
super(Sub, obj).m.__doc__             | Sub.__bases__ = (Other,)
obj.m.__doc__                         | Sub.__bases__ = (Other,)
caught(Raised)                        | Raised.__bases__ = (OtherError,)
matched(obj)                          | Sub.__bases__ = (Apart,)
Base.__subclasses__()                 | class New(Base): pass
Abstract.__abstractmethods__          | unabstract()
inspect.isabstract(Abstract)          | unabstract()
type(Abstract()).__name__             | unabstract()
str(inspect.signature(f))             | f.__defaults__ = (5,)
str(inspect.signature(f))             | f.__kwdefaults__["c"] = 5
str(inspect.signature(f))             | f.__kwdefaults__ = None
str(inspect.signature(f))             | f.__annotations__["a"] = str
str(inspect.signature(f))             | f.__code__ = (lambda z, y=1, *, c: 1).__code__
str(inspect.signature(f))             | f.__signature__ = inspect.signature(len)
str(inspect.signature(g))             | g.__wrapped__ = lambda q: 1
str(inspect.signature(g))             | f.__defaults__ = (5,)
ring(inspect.signature)               | f.__wrapped__ = g
str(inspect.signature(Base))          | Base.__init__ = lambda self, z: None
str(inspect.signature(Data))          | Data.__init__.__defaults__ = (7,)
str(inspect.signature(obj.m))         | Base.m.__defaults__ = (7,)
inspect.getfullargspec(f).defaults    | f.__defaults__ = (5,)
typing.get_type_hints(f)              | f.__annotations__["a"] = str
typing.get_type_hints(f)              | f.__annotations__ = {}
typing.get_type_hints(named)          | int = str
typing.get_type_hints(Base)           | Base.__annotations__["a"] = str
typing.get_type_hints(Sub)            | Base.__annotations__["n"] = str
f.__defaults__                        | f.__defaults__ = (5,)
f.__defaults__                        | f.__defaults__ = None
obj.m.__defaults__                    | Base.m.__defaults__ = (7,)
f.__kwdefaults__                      | f.__kwdefaults__ = {"c": 8}
f.__kwdefaults__["c"]                 | f.__kwdefaults__["c"] = 8
f.__module__                          | f.__module__ = "other"
f.__module__                          | f.__module__ = None
f.__annotations__                     | f.__annotations__ = {"a": int}
f.__annotations__.get("a")            | f.__annotations__["a"] = str
g.__annotations__                     | del f.__annotations__["a"]
f.__name__, f.__qualname__, f.__doc__ | f.__name__ = f.__qualname__ = f.__doc__ = "n"
generator().__name__                  | generator.__name__ = "n"
generator().__qualname__              | generator.__qualname__ = "n"
Sub.cm(), Sub.sm()                    | Sub.sm.__defaults__ = (9,)
Sub.cm(), Sub.sm()                    | Sub.cm.__func__.__defaults__ = (9,)
Sub.prop.__doc__                      | Sub.prop.__doc__ = "other"
Sub.prop.fget is None                 | Sub.prop = property()
dir(Base)                             | Base.more = 1
dir(Sub)                              | Base.more = 1
Base.__dict__["a"]                    | Base.a = 7
"more" in Base.__dict__               | Base.more = 7
[*Base.__dict__]                      | Base.more = 7
len(vars(Base)), vars(Base).get("n")  | Base.n = 7
Color.RED.label                       | Color.RED.label = 7
hasattr(Color.RED, "label")           | Color.RED.label = 7
repr(Sub), str(Sub), f"{Sub}"         | Sub.__module__ = "other"
repr(Sub), str(Sub), f"{Sub}"         | Sub.__qualname__ = "Other"
repr(f)                               | f.__qualname__ = "other"
[*obj]                                | Sub.__iter__ = lambda self: iter([1])
print(*obj)                           | Sub.__getitem__ = lambda self, i: [][i]
list(obj)                             | Sub.__iter__ = lambda self: iter([1])
""".strip().splitlines()  # noqa: E501

HELPERS = """
def ring(ask):
    try:
        return str(ask(g))
    except ValueError:
        return "a ring"
def unabstract():
    Abstract.f = 1
    abc.update_abstractmethods(Abstract)
def caught(kind):
    try:
        raise kind
    except Error:
        return 1
    except Exception:
        return 2
def matched(value):
    match value:
        case Base(a=1):
            return 1
    return 2
"""


def run(call):
    try:
        return repr(call(torch.ones(1)))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("row", CHANGED)
def test_what_changes_between_calls(row):
    look, change = (part.strip() for part in row.split(" | "))
    world = dict(NAMES)
    exec(WORLD + HELPERS, world)
    exec(
        "def program(x):\n"
        "    try:\n"
        f"        return {look}, x + 1\n"
        "    except (AttributeError, TypeError) as error:\n"
        "        return repr(error), x + 1",
        world,
    )
    program = world["program"]
    compiled = magneto.compile(program, backend="eager")
    before = run(program)
    assert run(compiled) == before
    assert run(compiled) == before
    exec(change, world)
    after = run(program)
    assert after != before, "the change shows"
    assert run(compiled) == after


def test_a_signature_with_annotations_in_words_is_captured():
    def helper(a: "int", b: "list[str]" = 1):
        return a

    def program(x):
        return list(inspect.signature(helper).parameters), x + 1

    check(program, torch.ones(2), graphs=1, graph_breaks=0)


DEFAULTS = [None, (), (2,), (2, 9), (9, 2), (1, 2, 3)]
KEYWORD_DEFAULTS = [None, {}, {"c": 3}, {"c": 4}, {"d": 1}]
CALLS = {
    "one": lambda f, x: f(x),
    "none": lambda f, x: f(),
    "two": lambda f, x: f(1, 2),
    "three": lambda f, x: f(1, 2, 3),
    "keyword": lambda f, x: f(1, 2, c=3),
    "other": lambda f, x: f(b=1),
}


def made(defaults, keyword_defaults):
    def function(a, b, *, c):
        return a, b, c

    function.__defaults__ = defaults
    function.__kwdefaults__ = keyword_defaults
    return function


@pytest.mark.parametrize("name", CALLS)
def test_defaults_that_change(name):
    """How many there are says whose they are; there may be too many."""

    def program(function, x):
        try:
            return call(function, x), x + 1
        except TypeError as error:
            return str(error), x + 1

    call = CALLS[name]
    x = torch.ones(1)
    states = [*itertools.product(DEFAULTS, KEYWORD_DEFAULTS)]
    for before, after in itertools.product(states, states[::3]):
        compiled = magneto.compile(program, backend="eager")
        function = made(*before)
        assert repr(compiled(function, x)) == repr(program(function, x))
        function.__defaults__, function.__kwdefaults__ = after
        assert repr(compiled(function, x)) == repr(program(function, x))
        magneto.reset()


def test_unused_defaults_are_not_guarded():
    def program(x):
        return helper(x, 1, c=2)

    def helper(a, b=2, *, c=3):
        return a * b + c

    compiled = magneto.compile(program, backend="eager")
    x = torch.ones(2)
    before = compiled(x)
    recompiles = magneto.stats()["recompiles"]
    helper.__defaults__, helper.__kwdefaults__ = (5,), {"c": 6}
    assert torch.equal(compiled(x), before)
    assert magneto.stats()["recompiles"] == recompiles


def test_bases_are_written_while_others_are_compiled():
    """Only what was compiled before is compiled again, once."""

    class First:
        level = 1

    class Second:
        level = 2

    class Third(First):
        pass

    def program(value, x):
        return x * value.level if isinstance(value, First) else x + value.level

    compiled = magneto.compile(program, backend="eager")
    x, value = torch.ones(2), Third()
    for base in (First, Second, First, Second):
        Third.__bases__ = (base,)
        for _ in range(3):
            assert torch.equal(compiled(value, x), program(value, x))
    with pytest.raises(TypeError, match="can only assign tuple"):
        Third.__bases__ = "x"
    with pytest.raises(TypeError, match="__bases__ item causes an inheritance"):
        Third.__bases__ = (Third,)
    assert torch.equal(compiled(value, x), program(value, x))


def test_bases_of_new_classes_are_written():
    """A definition of a NamedTuple writes to its class's bases."""

    class Base:
        pass

    def program(value, x):
        return x + 1 if isinstance(value, Base) else x

    compiled = magneto.compile(program, backend="eager")
    x = torch.ones(2)
    assert torch.equal(compiled(Base(), x), x + 1)
    recompiles = magneto.stats()["recompiles"]

    class Point(typing.NamedTuple):
        x: int

    class Unknown(Base):
        pass

    Unknown.__bases__ = (Base,)
    assert Point(1).x == 1
    assert torch.equal(compiled(Base(), x), x + 1)
    assert magneto.stats()["recompiles"] == recompiles
    assert torch.equal(compiled(Unknown(), x), x + 1)


def test_bases_of_a_class_above_are_written():
    """What only a class between derives from, and a metaclass."""

    class Root:
        level = 1

    class Other:
        level = 2

    class Meta(type):
        pass

    class Middle(Root):
        pass

    class Leaf(Middle, metaclass=Meta):
        pass

    class Counting(type):
        def __len__(cls):
            return 3

    def program(value, x):
        return x * value.level + (len(Leaf) if hasattr(Leaf, "__len__") else 0)

    def measure(x):
        try:
            return x * len(Leaf)
        except TypeError:
            return x

    compiled = magneto.compile(program, backend="eager")
    measured = magneto.compile(measure, backend="eager")
    x = torch.ones(2)
    leaf = Leaf()
    assert torch.equal(compiled(leaf, x), x)
    assert torch.equal(measured(x), x)
    Middle.__bases__ = (Other,)
    assert torch.equal(compiled(leaf, x), x * 2)
    Meta.__bases__ = (Counting,)
    assert torch.equal(compiled(leaf, x), program(leaf, x))
    assert torch.equal(measured(x), x * 3)
