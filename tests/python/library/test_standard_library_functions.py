# SPDX-License-Identifier: BSD-3-Clause
"""The standard library's modules, function by function."""
# ruff: noqa: F401, F403, F405, E501

import abc
import bisect
import cmath
import collections
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import inspect
import itertools
import json
import keyword
import logging
import math
import numbers
import operator
import pprint
import random
import re
import reprlib
import statistics
import string
import textwrap
import time
import types
import typing
import uuid
import warnings
import weakref
from dataclasses import KW_ONLY, InitVar, dataclass, field
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto

import pytest
import torch

from support.expressions import check_error, check_expression, lines


@dataclass
class Config:
    size: int = 3
    name: str = "c"
    tags: list = field(default_factory=list)

    def __post_init__(self):
        self.tags.append("made")


@dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2


@dataclass(slots=True)
class Slotted:
    a: int
    b: int = 5


@dataclass(kw_only=True)
class KwOnly:
    a: int
    b: int = 1


@dataclass
class Derived(Config):
    extra: float = 1.5


@dataclass(eq=False)
class NoEq:
    a: int = 1


@dataclass(unsafe_hash=True)
class Hashed:
    a: int = 1


@dataclass
class Nested:
    inner: Frozen
    items: list
    d: dict = field(default_factory=dict)


@dataclass
class WithInit:
    a: int
    scale: InitVar[int] = 2
    b: int = field(init=False, repr=False)
    c: int = field(default=7, compare=False)

    def __post_init__(self, scale):
        self.b = self.a * scale


@dataclass(frozen=True)
class FrozenDefault:
    a: int = 1
    t: tuple = ()


class Color(Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1

    def describe(self):
        return self.name.lower()

    @property
    def double(self):
        return self.value * 2

    @classmethod
    def first(cls):
        return cls.RED


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Perm(Flag):
    R = auto()
    W = auto()
    RW = R | W


class IPerm(IntFlag):
    X = 1
    Y = 2


class Mode(StrEnum):
    TRAIN = "train"
    EVAL = auto()


class Str(str, Enum):
    A = "a"


class Planet(Enum):
    EARTH = (1, 2)

    def __init__(self, m, r):
        self.m, self.r = m, r


def add(a, b=1, *, c=0):
    return a + b + c


def annotated(x: int, *args: str, flag: bool = True, **kw) -> list:
    "doc"
    return [x]


def gen(n):
    for i in range(n):
        yield i


@functools.lru_cache
def cached(n):
    return n * 3


@functools.singledispatch
def kind(v):
    return "object"


@kind.register
def _(v: int):
    return "int"


@kind.register(list)
def _(v):
    return "list"


@functools.total_ordering
class Ordered:
    def __init__(self, k):
        self.k = k

    def __eq__(self, o):
        return self.k == o.k

    def __lt__(self, o):
        return self.k < o.k


class Method:
    v = 5

    def base(self, a, b):
        return self.v + a + b

    plus_one = functools.partialmethod(base, 1)

    @functools.cached_property
    def prop(self):
        return self.v * 2

    @functools.singledispatchmethod
    def kind(self, value):
        return "other"

    @kind.register
    def _(self, value: int):
        return "int"

    @staticmethod
    def st(a):
        return a

    @classmethod
    def cl(cls):
        return cls.v

    @functools.lru_cache
    def remembered(self):
        return self.v


def deco(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k) + 1

    return inner


@deco
def decorated(a):
    "docs of decorated"
    return a


@contextlib.contextmanager
def cm(log, name="n"):
    log.append("in " + name)
    try:
        yield name.upper()
    finally:
        log.append("out " + name)


class CM:
    def __init__(self, swallow=False):
        self.swallow, self.log = swallow, []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *a):
        self.log.append(a[0])
        return self.swallow


class Deco(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False


@Deco()
def in_deco(a):
    return a + 1


def with_(manager, body=lambda m: m):
    with manager as m:
        return body(m)


def exits(log):
    with contextlib.ExitStack() as s:
        a = s.enter_context(cm(log, "a"))
        s.callback(log.append, "cb")
        s.push(lambda *e: log.append(e[0]))
        b = s.enter_context(cm(log, "b"))
        return a, b


def suppressed(*kinds):
    with contextlib.suppress(*kinds):
        raise KeyError("k")
    return "after"


def popped(log):
    with contextlib.ExitStack() as s:
        s.enter_context(cm(log))
        t = s.pop_all()
    log.append("between")
    t.close()
    return log


class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Impl(Base):
    def f(self):
        return 1


class Proto(typing.Protocol):
    def f(self): ...


@typing.runtime_checkable
class RProto(typing.Protocol):
    def f(self): ...


T = typing.TypeVar("T")


class Gen(typing.Generic[T]):
    def __init__(self, v=1):
        self.v = v


class TD(typing.TypedDict):
    a: int


NT = typing.NewType("NT", int)


class Copied:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return Copied(self.v + 1)

    def __deepcopy__(self, memo):
        return Copied(copy.deepcopy(self.v, memo) + 10)


class Node:
    def __init__(self, v, parent=None):
        self.v, self.parent, self.kids = v, parent, []


class State:
    def __init__(self):
        self.a, self.b = 1, [2]

    def __getstate__(self):
        return {"a": self.a}

    def __setstate__(self, s):
        self.__dict__.update(s)
        self.b = "restored"


class NewArgs:
    def __new__(cls, a):
        o = super().__new__(cls)
        o.a = a
        return o

    def __getnewargs__(self):
        return (self.a,)


class Red:
    def __init__(self, a):
        self.a = a

    def __reduce__(self):
        return Red, (self.a + 1,)


def sort_in(items, **k):
    items.sort(**k)
    return items


def heap_ops(heap):
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    a = heapq.heappop(heap)
    b = heapq.heappushpop(heap, 9)
    c = heapq.heapreplace(heap, 4)
    return heap, a, b, c


def insorted(items, v):
    bisect.insort(items, v)
    return items


add_two = functools.partial(add, 2)
caller_partial = functools.partial(add, 2, c=5)
ig, ag, mc = (
    operator.itemgetter(1),
    operator.attrgetter("size"),
    operator.methodcaller("upper"),
)
PATTERN = re.compile(r"(\w)(?P<n>\d)")
ref_target = Config()
REF = weakref.ref(ref_target)


def reraise(f):
    try:
        f()
    except Exception as e:
        return type(e).__name__, str(e), e.args


def tee2(it):
    a, b = itertools.tee(it)
    next(a)
    return list(a), list(b)


def groups(it):
    return [(k, list(g)) for k, g in itertools.groupby(it)]


@property
def held_property(self):
    """Of no class."""
    return self, 5


NAMESPACE = dict(globals())

EXPRESSIONS = lines(r"""
Config(), Config(5).size, Config(1, "n") == Config(1, "n"), Config() != Config(2), repr(Config()), str(Config()), Frozen(1) < Frozen(2), Frozen(1) <= Frozen(1), Frozen(1, 3) > Frozen(1), hash(Frozen(1)) == hash(Frozen(1)), Frozen(1) in [Frozen(1)], Frozen(1)
dataclasses.replace(Frozen(1), b=9), dataclasses.replace(Config(), size=9).size, dataclasses.asdict(Config()), dataclasses.astuple(Config()), dataclasses.asdict(Nested(Frozen(1), [Frozen(2)], {"k": Frozen(3)})), dataclasses.astuple(Nested(Frozen(1), [1])), dataclasses.asdict(Frozen(x.ndim), dict_factory=list), [f.name for f in dataclasses.fields(Config)], [f.default for f in dataclasses.fields(Frozen)][1], dataclasses.is_dataclass(Config()), dataclasses.is_dataclass(3), Slotted(1)
Slotted(1).b, Slotted(1) == Slotted(1), [setattr(s, "a", 9) or s.a for s in [Slotted(1)]], dataclasses.replace(Slotted(1), a=4), KwOnly(a=1), Derived(1, extra=2.5), Derived().tags, NoEq() == NoEq(), hash(Hashed()) == hash(Hashed(1)), WithInit(3).b, WithInit(3, scale=5).b, repr(WithInit(1))
WithInit(1) == WithInit(1), Config.__dataclass_fields__["size"].type, Config.__match_args__, copy.copy(Config(4)).size, copy.deepcopy(Nested(Frozen(1), [[1]])), Config(tags=["q"]).tags, Nested(Frozen(x), [x]).inner.a is x, FrozenDefault(), vars(Config()), Config().__dict__, dataclasses.MISSING is not None, Config(size=x).size is x
sorted([Frozen(2), Frozen(1)]), max(Frozen(1), Frozen(2)), [c.size for c in [Config(i) for i in range(2)]], dataclasses.asdict(Slotted(1)), dataclasses.fields(Config())[0].name, Config.__eq__(Config(), Config()), dataclasses.asdict(Config(x.ndim)), dataclasses.astuple(Frozen(1), tuple_factory=list), Slotted(1).__slots__, isinstance(Config(), Config), repr(Slotted(2)), repr(Nested(Frozen(1), [Frozen(2)]))
Color.RED, Color.RED.name, Color.RED.value, Color(1), Color["GREEN"], Color.RED is Color.CRIMSON, Color.RED == Color.RED, Color.RED != Color.GREEN, list(Color), len(Color), Color.RED in Color, [c.name for c in Color]
Color.RED.describe(), Color.RED.double, Color.first(), repr(Color.RED), str(Color.RED), f"{Color.RED}", "%s" % Color.RED, hash(Color.RED) == hash(Color.RED), {Color.RED: 1}[Color.RED], isinstance(Color.RED, Color), Color.RED is not Color.GREEN, type(Color.RED)
Level.LOW + 1, Level.LOW < Level.HIGH, Level.LOW == 1, Level(2), [10, 20, 30][Level.LOW], str(Level.LOW), repr(Level.LOW), f"{Level.LOW}", format(Level.LOW, "03d"), max(Level), sum(Level), sorted(Level)
Level.LOW * 2, -Level.LOW, Level.LOW in (1, 2), {1: "a"}[Level.LOW], int(Level.HIGH), Level.LOW.bit_length(), Perm.R | Perm.W, Perm.RW & Perm.R, Perm.R in Perm.RW, ~Perm.R, Perm.R ^ Perm.W, bool(Perm.R & Perm.W)
Perm(3), repr(Perm.RW), str(Perm.R | Perm.W), list(Perm.RW), Perm.RW.name, Perm(0), IPerm.X | 2, IPerm.X | IPerm.Y, IPerm(3) & 1, IPerm.X + 1, Mode.TRAIN == "train", Mode.EVAL.value
Mode("train"), Mode.TRAIN.upper(), f"{Mode.TRAIN}", str(Mode.TRAIN), {"train": 1}[Mode.TRAIN], Mode.TRAIN in ("train", "x"), Str.A == "a", Str.A.value, Str.A + "b", f"{Str.A.value}", Planet.EARTH.m, Planet.EARTH.value
reversed(Color).__class__ is not None, [c for c in reversed(Color)], Color.RED.__class__, getattr(Color, "RED"), hasattr(Color, "BLUE"), Color._member_names_, Color._value2member_map_[1], copy.copy(Color.RED) is Color.RED, copy.deepcopy({"c": Color.RED}), dict(zip(Color, [1, 2])), [c.value for c in Color if c is not Color.RED], Color.RED or 1
bool(Color.RED), Mode.TRAIN.value.title(), "-".join([Mode.TRAIN, Mode.EVAL]), Color.RED.__hash__(), Level.LOW.__eq__(1), Color.GREEN.__eq__(Color.RED), enum.auto, isinstance(Level.LOW, int), issubclass(Color, Enum), sorted(Color, key=lambda c: -c.value), Level.HIGH / 2, Level["LOW"]
Level.LOW | 2, Mode.EVAL > Mode.TRAIN, Color.RED in {Color.RED}, Color.RED in [Color.GREEN]
functools.partial(add, 1)(), functools.partial(add, b=5)(1), functools.partial(add, 1, c=2)(3, c=9), functools.partial(add, 1).func, functools.partial(add, 1).args, functools.partial(add, c=1).keywords, add_two(3), caller_partial(b=1), caller_partial.keywords, functools.partial(add_two, 5)(), functools.partial(add_two, 5).args, functools.partial(add, x)(1)
callable(functools.partial(add)), isinstance(functools.partial(add), functools.partial), functools.partial(Config, 5)().size, functools.partial(torch.add, x)(1), list(map(functools.partial(add, 1), [1])), sorted([3, 1], key=functools.partial(operator.mul, -1)), copy.copy(functools.partial(add, 1))(), Method().plus_one(2), Method.plus_one(Method(), 3), Method().prop, [m.prop + m.prop for m in [Method()]], Method.st(1)
Method.cl(), Method().remembered(), functools.reduce(add, [1, 2, 3]), functools.reduce(operator.mul, [1, 2], x), functools.reduce(lambda a, b: a + [b], "ab", []), functools.reduce(add, [5]), cached(4), cached.__wrapped__(2), cached.__name__, kind(1), kind([])
kind("s"), kind(True), Ordered(1) < Ordered(2), Ordered(1) >= Ordered(1), Ordered(2) > Ordered(1), Ordered(1) <= Ordered(2), max(Ordered(1), Ordered(2)).k, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), decorated(1), decorated.__name__, decorated.__doc__, decorated.__wrapped__(1)
deco(lambda a: a)(2), deco(add)(1), deco(add).__name__, deco(annotated).__annotations__, deco(annotated).__doc__, functools.wraps(add)(len) if False else 0, functools.update_wrapper(lambda: 1, add).__name__, functools.WRAPPER_ASSIGNMENTS, functools.cached_property, cached.cache_parameters() if hasattr(cached, "cache_parameters") else 0, functools.partial(add, 1) is not None, functools.partial(functools.partial(add, 1), c=4)(2)
functools.partialmethod,
Method.prop.__get__(Method()), Method.prop.__get__(Method(), Method), Method.__dict__["prop"].__get__(None, Method) is Method.prop, held_property.__get__(7), held_property.__get__(True, Method), held_property.__get__("text", int), held_property.__get__(x.ndim), held_property.fget(7)
list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([1, 2], lambda a, b: a * b, initial=3)), list(itertools.accumulate([x, x]))[1], list(itertools.chain([1], "a", (x,))), list(itertools.chain.from_iterable(["ab", "c"])), list(itertools.combinations("abc", 2)), list(itertools.combinations([1, 2], 3)), list(itertools.combinations("ab", 0)), list(itertools.combinations_with_replacement("ab", 2)), list(itertools.compress("abc", [1, 0, 1])), list(itertools.islice(itertools.count(), 3)), list(itertools.islice(itertools.count(1.5, .5), 2))
list(itertools.islice(itertools.count(step=2), 2)), list(itertools.islice(itertools.cycle("ab"), 5)), list(itertools.cycle([])), list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])), list(itertools.filterfalse(lambda v: v % 2, range(4))), list(itertools.filterfalse(None, [0, 1])), groups("aab"), groups([]), [(k, list(g)) for k, g in itertools.groupby([1, 2, 4], key=lambda v: v % 2)], [k for k, g in itertools.groupby("aab")], list(itertools.islice("abcdef", 2)), list(itertools.islice("abcdef", 2, None))
list(itertools.islice("abcdef", 0, None, 2)), list(itertools.islice("abc", None)), list(itertools.islice("abc", 0)), list(itertools.pairwise("abc")), list(itertools.pairwise([])), list(itertools.permutations("abc")), list(itertools.permutations("ab", 1)), list(itertools.permutations([1], 2)), list(itertools.product("ab", [1, 2])), list(itertools.product("ab", repeat=2)), list(itertools.product()), list(itertools.product([], [1]))
list(itertools.repeat(1, 3)), list(itertools.islice(itertools.repeat(x), 2)), list(itertools.repeat(1, times=2)), list(itertools.repeat(1, 0)), list(itertools.starmap(add, [(1, 2), (3,)])), list(itertools.starmap(pow, [[2, 3]])), list(itertools.takewhile(lambda v: v < 2, [1, 2, 1])), tee2([1, 2, 3]), [list(i) for i in itertools.tee("ab", 3)], itertools.tee([1], 0), list(itertools.zip_longest("ab", [1])), list(itertools.zip_longest("a", [1, 2], fillvalue=x))
list(itertools.zip_longest()), next(itertools.count(5)), next(itertools.chain([1])), sum(itertools.repeat(2, 3)), dict(zip("ab", itertools.count())), list(zip(itertools.count(), "ab")), list(map(add, itertools.repeat(1), [1, 2])), max(itertools.chain([1], [5])), list(itertools.chain(*[[1], [2]])), [a for a in itertools.chain(range(2), "a")], itertools.chain is not None, len(list(itertools.product(range(3), repeat=3)))
list(reversed(list(itertools.permutations([1, 2])))), sorted(itertools.chain("ba")), list(itertools.islice(gen(5), 1, 4)), iter(itertools.count()) is not None, [next(i) for i in [itertools.cycle([1, 2])] for _ in range(3)], list(itertools.islice((v * v for v in itertools.count()), 3)), tuple(itertools.repeat("a", 2)), list(enumerate(itertools.repeat(1, 2))), list(filter(None, itertools.chain([0], [1]))), any(itertools.repeat(True, 1)), list(itertools.accumulate("abc")), list(itertools.accumulate([]))
list(itertools.accumulate([], initial=1)), list(itertools.accumulate([3, 1, 2], max))
operator.abs(-1), operator.add(1, 2), operator.and_(6, 3), operator.attrgetter("a.b") is not None, operator.concat("a", "b"), operator.contains("abc", "b"), operator.countOf([1, 1], 1), operator.delitem([1], 0), operator.eq(1, 1), operator.floordiv(7, 2), operator.ge(1, 2), operator.getitem({"a": 1}, "a")
operator.gt(1, 2), operator.iadd([1], [2]), operator.iand(6, 3), operator.iconcat([1], [2]), operator.index(5), operator.indexOf("abc", "c"), operator.inv(5), operator.invert(5), operator.is_(1, 1), operator.is_not(None, 1), ig([1, 2]), ag(Config())
mc("a"), operator.itemgetter("a")({"a": 1}), operator.itemgetter(slice(1))([1, 2]), operator.itemgetter(1, 0)((5, 6)), operator.methodcaller("split", ",")("a,b"), operator.methodcaller("replace", "a", "b")("a"), operator.le(1, 1), operator.lshift(1, 2), operator.lt(1, 2), operator.matmul(x, x), operator.mod(7, 3), operator.mul("a", 2)
operator.ne(1, 2), operator.neg(x), operator.not_([]), operator.or_(1, 2), operator.pos(1), operator.pow(2, 3), operator.rshift(8, 1), operator.setitem([1], 0, 2), operator.sub(3, 1), operator.truediv(1, 2), operator.truth([]), operator.xor(1, 3)
operator.call(add, 1, c=2), operator.attrgetter("size", "name")(Config()), list(map(operator.itemgetter(0), ["ab", "c"])), list(map(operator.methodcaller("upper"), "ab")), sorted([Config(2), Config(1)], key=operator.attrgetter("size"))[0].size, operator.attrgetter("__class__.__name__")(3), operator.itemgetter(-1)([1, 2]), operator.__add__(1, 2), operator.ipow(2, 3), operator.imul([1], 2), operator.ior({1}, {2})
copy.copy([1, [2]]), copy.copy((1,)), copy.copy({1: 2}), copy.copy({1}), copy.copy("a"), copy.copy(Config(4)), copy.copy(Copied(1)).v, copy.deepcopy(Copied(1)).v, copy.deepcopy([1, [2]]), copy.deepcopy(([1], {"a": [2]})), copy.deepcopy({1, (2, 3)}), copy.deepcopy(frozenset([1]))
copy.deepcopy(None), copy.deepcopy(Config), copy.deepcopy(len), copy.deepcopy(add), copy.copy(Node(1)).v, copy.deepcopy(Node(1, Node(2))).parent.v, [c.kids is not n.kids for n in [Node(1)] for c in [copy.deepcopy(n)]], [c.kids is n.kids for n in [Node(1)] for c in [copy.copy(n)]], copy.copy(State()).b, copy.deepcopy(State()).b, copy.copy(NewArgs(3)).a, copy.copy(Red(1)).a
copy.deepcopy(Red(1)).a, copy.copy(collections.deque([1], 2)), copy.copy(ValueError("a")).args, copy.deepcopy(ValueError([1])).args, copy.copy(slice(1)), copy.copy(range(2)), copy.deepcopy(1.5), [c[0] is c[1] for l in [[[1]] * 2] for c in [copy.deepcopy(l)]], [l.append(l) or copy.deepcopy(l)[1][1][0] for l in [[1]]], copy.copy(types.SimpleNamespace(a=1)).a, copy.deepcopy({"a": types.SimpleNamespace(b=[1])})["a"].b, copy.error
copy.copy(Slotted(3)), copy.deepcopy(Slotted([1])), copy.replace if hasattr(copy, "replace") else 0, copy.copy(Gen(4)).v, copy.deepcopy([Color.RED, torch.float32, None]), copy.deepcopy(x.dtype), copy.copy(functools.partial(add, 1)).args, copy.copy(Frozen(1)), copy.deepcopy(Frozen([1])), copy.copy(iter) is iter, copy.copy(Method().st)
with_(contextlib.nullcontext(5)), with_(contextlib.nullcontext()), with_(cm([], "q")), [(with_(cm(l)), l) for l in [[]]], [(exits(l), l) for l in [[]]], suppressed(KeyError), suppressed(ValueError, KeyError), suppressed(LookupError), popped([]), in_deco(1), with_(CM()).log, [(reraise(lambda: with_(c, lambda m: 1 / 0)), c.log) for c in [CM()]]
[(with_(c, lambda m: 1 / 0), c.log) for c in [CM(True)]], [(reraise(lambda: with_(cm(l), lambda m: [][1])), l) for l in [[]]], isinstance(CM(), contextlib.AbstractContextManager), contextlib.suppress(), with_(contextlib.closing(types.SimpleNamespace(close=lambda: 1)), lambda m: 2), with_(contextlib.ExitStack(), lambda s: 3), cm([])(lambda: 5)(), contextlib.AbstractContextManager, with_(contextlib.chdir(".")) if False else 0
types.SimpleNamespace(a=1), repr(types.SimpleNamespace(a=1, b="x")), types.SimpleNamespace(a=1) == types.SimpleNamespace(a=1), [setattr(n, "c", x) or n.c is x for n in [types.SimpleNamespace()]], vars(types.SimpleNamespace(a=1)), types.MethodType(add, 5)(2), types.FunctionType, isinstance(add, types.FunctionType), isinstance(len, types.BuiltinFunctionType), isinstance(gen(1), types.GeneratorType), types.NoneType, isinstance(None, types.NoneType)
list[int], dict[str, int].__args__, int | None, isinstance(3, int | str), types.ModuleType, isinstance(math, types.ModuleType), types.new_class if False else 0, types.MethodType(lambda s: s, 3).__self__, types.CellType(3).cell_contents, types.DynamicClassAttribute, isinstance(Method().base, types.MethodType), types.LambdaType
types.CodeType, types.EllipsisType
typing.cast(int, 3), typing.get_type_hints(annotated)["x"], typing.Optional[int], typing.Union[int, str], typing.List[int], typing.Dict[str, int], typing.get_origin(typing.List[int]), typing.get_args(typing.Dict[str, int]), typing.Callable[[int], str], typing.Any, typing.TYPE_CHECKING, Gen[int]
Gen[int](5).v, Gen(3).v, isinstance(Gen(), Gen), typing.Tuple[int, ...], typing.Literal["a"], typing.get_args(typing.Literal["a", "b"]), TD(a=1), NT(5), isinstance(Impl(), Base), issubclass(Impl, Base), Impl().f(), typing.NamedTuple
typing.Annotated[int, 3].__metadata__, typing.ClassVar, typing.Sequence[int], isinstance([], typing.Sequence), isinstance([], typing.List), typing.Type[int], typing.TypeVar, typing.no_type_check, typing.overload, typing.assert_type(3, int) if hasattr(typing, "assert_type") else 3, typing.get_type_hints(Config)["size"], typing.Optional[int] == typing.Union[int, None]
typing.Generic, Gen.__orig_bases__, Gen.__parameters__, typing.is_typeddict(TD), typing.Iterable, TD.__annotations__, abc.ABC, Base.__abstractmethods__, typing.List[int] == typing.List[int], hash(typing.List[int]) == hash(typing.List[int]), typing.Union[int, str] | None, repr(typing.List[int])
str(typing.Optional[int]), numbers.Number, isinstance(3, numbers.Number), isinstance(1.5, numbers.Real), isinstance(True, numbers.Integral)
list(inspect.signature(add).parameters), inspect.signature(annotated).return_annotation, inspect.signature(add).parameters["b"].default, inspect.isfunction(add), inspect.isclass(Config), inspect.ismethod(Method().base), inspect.getfullargspec(add).args, inspect.isgeneratorfunction(gen), inspect.isgenerator(gen(1)), inspect.iscoroutinefunction(add), inspect.isbuiltin(len), inspect.ismodule(math)
inspect.callable if False else 0, inspect.signature(add).parameters["c"].kind, "b" in inspect.signature(add).parameters, len(inspect.signature(decorated).parameters), inspect.signature(Config).parameters["size"].default, inspect.getdoc(annotated), inspect.unwrap(decorated) is decorated.__wrapped__, inspect.isroutine(len), inspect.Parameter.empty, inspect.getmodule(add) is not None, inspect.getmro(Derived)[1], inspect.isabstract(Base)
inspect.ismethoddescriptor(str.upper),
re.sub("a", "b", "banana"), re.findall("a.", "abac"), re.match("x", "y"), re.match("(x)(y)?", "x").groups(), re.search("b", "abc").start(), re.search("(?P<n>b)", "abc").group("n"), re.split(",", "a,b"), re.compile("a").match("a").group(), PATTERN.match("a1").group(2), PATTERN.match("a1")["n"], PATTERN.findall("a1b2"), PATTERN.sub(r"\2\1", "a1")
PATTERN.search("zz") is None, re.sub("a", lambda m: m.group().upper(), "banana"), re.fullmatch("a", "a").span(), [m.group() for m in re.finditer("a", "banana")], re.escape("a.b"), re.IGNORECASE, re.match("A", "a", re.I).group(), re.subn("a", "b", "aa"), bool(re.match("x", "x")), PATTERN.pattern, PATTERN.groups, PATTERN.split("xa1y")
re.match("(a)(b)", "ab").groupdict(), PATTERN.fullmatch("a1").end(), re.sub(r"(\d+)", lambda m: str(int(m.group(1)) + 1), "a1b2"), re.compile("a|b").sub("", "abc"), re.match("(?:layer)(\d+)", "layer12").group(1), [n for n in ["w", "b"] if re.search("w", n)], any(re.search(p, "layer.w") for p in ["w$", "z"])
heapq.heappop([1, 2]), heap_ops([3, 1, 2]), heapq.nlargest(2, [1, 3, 2]), heapq.nsmallest(2, [3, 1, 2], key=lambda v: -v), list(heapq.merge([1, 3], [2])), bisect.bisect([1, 2, 3], 2), bisect.bisect_left([1, 2, 3], 2), bisect.bisect_right([1, 2], 5), insorted([1, 3], 2), bisect.bisect_left([1, 2, 3], 2, lo=1, hi=2), bisect.bisect([1, 2], -1, key=lambda v: -v), statistics.mean([1, 2, 3])
statistics.median([3, 1, 2]), statistics.stdev([1, 2, 3]), statistics.pstdev([1, 2]), statistics.mode([1, 1, 2]), statistics.variance([1, 2, 3]), statistics.fmean([1, 2]), statistics.median_low([1, 2]), statistics.harmonic_mean([1, 2]), statistics.quantiles([1, 2, 3], n=2), string.ascii_lowercase, string.digits, string.capwords("a b")
string.Template("$a b").substitute(a=1), textwrap.dedent(" a"), textwrap.indent("a", "  "), fractions.Fraction(1, 2) + 1, json.dumps({"a": [1, None]}), json.loads("[1, 2]"), keyword.iskeyword("if"), math.prod(x.shape), textwrap.shorten("a b c", 3, placeholder=""), reprlib.repr([1, 2]), heapq.nlargest(1, [Frozen(1), Frozen(2)]), statistics.mean([1.5, 2.5])
REF() is ref_target, weakref.WeakKeyDictionary, weakref.proxy, isinstance(REF, weakref.ref), warnings.catch_warnings, logging.getLogger("a").level, logging.getLogger("a").name, logging.DEBUG, logging.getLogger("a.b").isEnabledFor(10), logging.getLogger("a").debug("x"), logging.getLevelName(10), random.Random
len([1]), weakref.getweakrefcount(3) if False else 0
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_modules_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines(r"""
Config(1, 2, 3, 4)
Config(foo=1)
Frozen()
setattr(Frozen(1), "a", 2)
delattr(Frozen(1), "a")
Frozen(1).a = 3
dataclasses.replace(Frozen(1), q=1)
dataclasses.replace(WithInit(1), b=1)
dataclasses.replace(3)
dataclasses.asdict(3)
dataclasses.astuple(Config)
dataclasses.fields(3)
Config() < Config()
Frozen(1) < 3
KwOnly(1)
hash(Config())
setattr(Slotted(1), "zz", 2)
Slotted(1).zz
Slotted()
Color(5)
Color["BLUE"]
Color.BLUE
Color.RED.name = "x"
Color.RED < Color.GREEN
Color.RED + 1
Level(9)
Perm(99)
Perm.R | 1
Mode("zz")
Level.LOW < "a"
functools.partial()
functools.partial(3)
functools.partial(add)()
functools.partial(add, 1)(1, 2, 3)
functools.partial(add, 1, zz=2)()
functools.reduce(add, [])
functools.reduce(add, 3)
functools.reduce()
functools.reduce(1, [1, 2])
kind()
Ordered(1) < 3
cached([])
cached(1, 2)
deco(3)(1)
functools.wraps(3)(lambda: 1).__name__ + 1
list(itertools.accumulate(3))
list(itertools.accumulate([1, "a"]))
itertools.chain(1).__next__()
list(itertools.chain([1], 2))
list(itertools.chain.from_iterable([1]))
itertools.combinations([1], -1)
itertools.combinations(1, 1)
itertools.combinations_with_replacement([1], -1)
list(itertools.compress(1, [1]))
itertools.count("a")
itertools.cycle(1)
list(itertools.dropwhile(1, [1]))
itertools.groupby(1)
itertools.islice([1])
itertools.islice([1], 1, 2, 3, 4)
itertools.islice([1], "a")
itertools.islice([1], -1)
itertools.islice([1], 0, -1)
itertools.islice([1], 0, 1, 0)
itertools.islice([1], None, "a")
itertools.islice(1, 1)
itertools.pairwise(1)
itertools.permutations(1)
itertools.permutations([1], -1)
itertools.permutations([1], "a")
itertools.product(1)
itertools.product([1], repeat=-1)
itertools.repeat(1, "a")
list(itertools.starmap(add, [1]))
list(itertools.starmap(1, [(1,)]))
list(itertools.takewhile(lambda: 1, [1]))
itertools.tee([1], -1)
itertools.tee(1)
itertools.zip_longest([1], 1)
next(itertools.repeat(1, 0))
next(itertools.count(5), 1, 2)
operator.add(1)
operator.add(1, "a")
operator.index(1.5)
operator.itemgetter()
operator.itemgetter(5)([1])
operator.itemgetter("a")({})
operator.itemgetter(1)(3)
operator.attrgetter()
operator.attrgetter(1)
operator.attrgetter("zz")(3)
operator.attrgetter("real.zz")(3)
operator.methodcaller()
operator.methodcaller(1)
operator.methodcaller("zz")(3)
operator.methodcaller("upper", 1)("a")
operator.concat(1, 2)
operator.indexOf([1], 5)
operator.contains(1, 1)
operator.getitem([1], 5)
operator.setitem((1,), 0, 1)
operator.delitem([1], 5)
operator.not_()
operator.call()
operator.call(1)
operator.iconcat(1, 2)
copy.copy()
copy.deepcopy()
copy.copy(1, 2)
with_(3)
with_(contextlib.nullcontext(1), lambda m: m / 0)
suppressed(ValueError)
with_(cm())
with_(cm([]), lambda m: {}["q"])
contextlib.nullcontext(1, 2)
contextlib.ExitStack(1)
contextlib.closing()
types.SimpleNamespace(1)
types.SimpleNamespace(a=1).b
types.MethodType(add)
types.MethodType(1, 2)
typing.Optional[int, str]
typing.Union[()]
typing.List[int](3)[0]
typing.Any()
typing.cast(int)
isinstance([], typing.List[int])
Base()
Impl(1)
Gen[int, str]
inspect.signature(3)
inspect.signature(add).parameters["zz"]
re.match("(", "a")
re.match("a")
re.sub("a", 1, "b")
re.match("a", 3)
re.compile("a").match("a").group(1)
re.match("x", "y").group()
heapq.heappop([])
heapq.heapify(3)
heapq.heapify([1, "a"])
bisect.bisect(3, 1)
bisect.bisect([1, 2], "a")
statistics.mean([])
statistics.median([])
statistics.mode([])
statistics.stdev([1])
fractions.Fraction(1, 0)
json.loads("{")
json.dumps({1, 2})
string.Template("$a").substitute()
logging.getLogger(3)
abc.abstractmethod()
math.sumprod([1])
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_modules_error_matches_eager(expression):
    check_error(expression, NAMESPACE)
