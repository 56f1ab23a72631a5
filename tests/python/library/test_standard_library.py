# SPDX-License-Identifier: BSD-3-Clause
"""The standard library while tracing."""
# ruff: noqa: F401  (the programs in the tables use the names)

import cmath
import contextlib
import copy
import dataclasses
import functools
import inspect
import itertools
import logging
import math
import operator
import os
import random
import re
import sys
import time
import types
import typing
import warnings
import weakref

import pytest
import torch

import magneto
from magneto.testing import check
from support.expressions import check_error, check_expression, lines


@dataclasses.dataclass
class Config:
    size: int = 3
    name: str = "c"
    tags: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.tags.append("made")


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: int = 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []

    @functools.cached_property
    def double(self):
        return self.value * 2


class Copied:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return Copied(self.v + 1)

    def __deepcopy__(self, memo):
        return Copied(copy.deepcopy(self.v, memo) + 10)


@functools.lru_cache(maxsize=None)
def cached(n):
    return n * 3


def add(a, b=1, *, c=0):
    return a + b + c


def double_all(values, /, scale: int = 2) -> list:
    return [v * scale for v in values]


add_two = functools.partial(add, 2)
add_three = functools.partial(add, b=3)
first_and_second = operator.itemgetter(0, 1)
size_of = operator.attrgetter("size")
upper = operator.methodcaller("upper")


class Method:
    def __init__(self):
        self.v = 5

    def base(self, a, b):
        return self.v + a + b

    plus_one = functools.partialmethod(base, 1)

    @functools.lru_cache(maxsize=None)
    def remembered(self):
        return self.v

    @functools.singledispatchmethod
    def kind(self, value):
        return "other"


@contextlib.contextmanager
def note(log, name):
    log.append("enter " + name)
    try:
        yield name.upper()
    except KeyError as error:
        log.append(f"caught {error}")
    finally:
        log.append("exit " + name)


NAMESPACE = dict(globals())

EXPRESSIONS = lines("""
# math
math.sqrt(16), math.pi, math.floor(2.5), math.ceil(2.1), math.log(8, 2), math.gcd(12, 18), math.prod([1, 2, 3]), math.prod([2, x]), math.isclose(1, 1 + 1e-12), math.inf, math.isnan(math.nan), math.factorial(5), math.comb(5, 2)
math.fsum([0.1, 0.2]), math.hypot(3, 4), math.exp(0), math.trunc(2.7), math.copysign(1, -2), math.atan2(1, 1), math.log2(8), math.modf(1.5), math.isqrt(17), math.prod((i for i in [1, 2]), start=5), cmath.sqrt(-1), cmath.phase(1j)
# operator
operator.add(1, 2), operator.mul(x, 2), operator.itemgetter(1)([1, 2]), operator.itemgetter(0, 1)("ab"), operator.attrgetter("size")(Config()), operator.attrgetter("size", "name")(Config()), operator.not_(0), operator.truth([]), operator.is_(None, None), operator.contains([1], 1), operator.getitem([1, 2], 1), operator.index(3)
operator.iadd([1], [2]), operator.neg(x), operator.abs(-1), operator.countOf([1, 1], 1), operator.indexOf([1, 2], 2), operator.concat([1], [2]), operator.lt(1, 2), operator.pow(2, 3), operator.floordiv(7, 2), operator.matmul(x, x), first_and_second([5, 6, 7]), size_of(Config()), operator.call(add, 1)
sorted([(2, "a"), (1, "b")], key=operator.itemgetter(0)), sorted([Config(3), Config(1)], key=operator.attrgetter("size"))[0].size
# functools
functools.reduce(operator.add, [1, 2, 3]), functools.reduce(lambda a, b: a * b, [x, x], 2), functools.partial(add, 1)(), functools.partial(add, 1, c=5)(b=2), add_two(), add_two(5, c=1), add_three(1), functools.partial(functools.partial(add, 1), 2)(), functools.partial(add, 1).func is add, functools.partial(add, 1, c=2).keywords, functools.partial(add, 7).args
cached(4), Method().plus_one(2), Method().remembered(), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), Node(4).double, [n.double + n.double for n in [Node(2)]], list(map(functools.partial(add, 1), [1, 2]))
functools.wraps(add)(lambda *a: 1).__name__, functools.wraps(add)(lambda *a: 1).__wrapped__ is add
# itertools
list(itertools.chain([1], (2,), "a")), list(itertools.chain.from_iterable([[1], [2, 3]])), list(itertools.islice(range(10), 3)), list(itertools.islice(range(10), 2, 8, 2)), list(itertools.islice(itertools.count(5), 2)), list(itertools.repeat(x, 2)), list(itertools.islice(itertools.cycle([1, 2]), 5)), list(itertools.islice(itertools.count(True), 2)), list(itertools.islice(itertools.count(False, 2), 2))
list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([1, 2, 3], operator.mul)), list(itertools.accumulate([1, 2], initial=10)), list(itertools.product([1, 2], "ab")), list(itertools.product([1, 2], repeat=2)), list(itertools.combinations([1, 2, 3], 2)), list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations_with_replacement([1, 2], 2))
list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.filterfalse(None, [0, 1])), list(itertools.compress("abc", [1, 0, 1])), list(itertools.starmap(add, [(1, 2), (3, 4)])), list(itertools.zip_longest([1, 2], [3], fillvalue=0)), list(itertools.pairwise([1, 2, 3])), [list(t) for t in itertools.tee([1, 2])]
[(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 1])], [(k, list(g)) for k, g in itertools.groupby(["a", "b", "cc"], key=len)], [k for k, g in itertools.groupby("aabb")]
# dataclasses
Config().size, Config(size=5).tags, Config(1, "n") == Config(1, "n"), Frozen(1) < Frozen(2), Frozen(1, 3).b, [f.name for f in dataclasses.fields(Config)], dataclasses.replace(Config(), size=9).size, dataclasses.is_dataclass(Config), dataclasses.asdict(Frozen(1)), dataclasses.astuple(Frozen(1)), repr(Frozen(1))
# copy
copy.copy([1, [2]]), copy.deepcopy([1, [2, {"a": (3, [4])}]]), copy.copy(Config(5)).size, copy.deepcopy(Config(5)).tags, copy.copy(Copied(1)).v, copy.deepcopy(Copied(1)).v, copy.deepcopy((1, 2)), copy.copy({1: 2}), copy.deepcopy({"a": {1, 2}}), copy.copy(3), copy.deepcopy(Frozen(1))
[c is not l and c[0] is c[1] and c[0] is not l[0] for l in [[k, k] for k in [[1]]] for c in [copy.deepcopy(l)]], copy.copy(Slotted(4)).a, copy.deepcopy(Node(1, Node(2))).parent.value, [l.append(l) or copy.deepcopy(l)[0] is not l for l in [[]]]
# types and typing
types.SimpleNamespace(a=1, b=x).a, types.MethodType(add, 5)(2), typing.cast(int, 3), typing.get_type_hints(double_all)["scale"] is int, typing.Optional[int] == typing.Optional[int]
# inspect, sys, os, re
list(inspect.signature(add).parameters), inspect.signature(double_all).return_annotation is list, inspect.isfunction(add), inspect.isclass(Config), inspect.ismethod(Method().base), inspect.getfullargspec(add).args
sys.version_info[0], sys.version_info >= (3, 8), sys.getrecursionlimit() > 0, sys.maxsize, sys.exc_info(), sys.platform, os.environ.get("MAGNETO_NOT_SET"), os.getenv("MAGNETO_NOT_SET", "d"), "PATH" in os.environ, os.path.join("a", "b"), os.path.basename("a/b.c"), os.sep
re.sub("a", "b", "banana"), re.findall("a.", "abac"), re.match("x", "y") is None, bool(re.match("x", "x")), re.split(",", "a,b")
# errors as values
(lambda e: (e.args, str(e), type(e).__name__))(ValueError("a", 2)), ValueError("a").with_traceback(None).args, StopIteration(5).value, isinstance(KeyError(), LookupError), ValueError("x").__cause__
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_library_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines("""
math.sqrt(-1)
math.sqrt("a")
math.sqrt()
math.factorial(-1)
math.log(0)
math.floor("a")
operator.add(1)
operator.itemgetter()
operator.itemgetter(5)([1])
operator.attrgetter(1)
operator.attrgetter("nothing")(Config())
functools.reduce(operator.add, [])
functools.partial()
functools.partial(add)()
list(itertools.islice([1], -1))
list(itertools.combinations([1], -1))
itertools.islice([1])
itertools.repeat(1, None)
itertools.count(None)
list(itertools.product([1], repeat=None))
Frozen(1).__setattr__("a", 2)
setattr(Frozen(1), "a", 2)
Config(1, 2, 3, 4)
dataclasses.replace(Frozen(1), q=1)
operator.index("a")
types.MethodType(add, None)
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_library_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


def test_context_managers():
    def program(x):
        log = []
        with note(log, "outer") as name:
            with note(log, "inner"), contextlib.suppress(ValueError):
                x = x + 1
                raise ValueError("dropped")
            with note(log, "third"):
                raise KeyError("k")
        with contextlib.nullcontext(5) as five:
            x = x * five
        with contextlib.ExitStack() as stack:
            stack.enter_context(note(log, "a"))
            stack.callback(log.append, "called")
            stack.enter_context(note(log, "b"))
        return x, log, name

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_weak_reference_of_the_callers():
    module = torch.nn.Linear(2, 2)
    reference = weakref.ref(module)

    def program(x):
        return reference()(x)

    check(program, torch.ones(2), fullgraph=True, graphs=1)


def test_logging_below_the_level_is_traced():
    logger = logging.getLogger("magneto.test.natives")
    logger.setLevel(logging.ERROR)

    def program(x):
        logger.debug("not shown %s", x)
        logger.info("nor this")
        return x + 1

    check(program, torch.ones(2), fullgraph=True, graphs=1)


@pytest.mark.parametrize(
    "effect",
    lines("""
    print("shown")
    warnings.warn("shown")
    logging.getLogger("magneto.test.shown").warning("shown")
    random.gauss(0, 1)
    random.shuffle([1, 2, 3])
    time.perf_counter()
    open(os.devnull).close()
    eval("1 + 1")
    """),
)
def test_what_has_an_effect_breaks_the_graph(effect):
    scope = dict(NAMESPACE)
    exec(
        f"def program(x):\n    y = x + 1\n    {effect}\n    return y * 2\n",
        scope,
    )
    program = scope["program"]
    with pytest.raises(magneto.exc.Unsupported):
        magneto.compile(program, backend="eager", fullgraph=True)(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(program, torch.ones(2), graphs=2)


def test_partials_live_on():
    def program(x):
        p = functools.partial(add, 1, c=x)
        g = operator.itemgetter(1, 0)
        n = types.SimpleNamespace(a=x, b=2)
        return x + 1, p, g, n

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for _ in range(2):
        y, p, g, n = compiled(x)
        assert p.func is add
        assert p.args == (1,)
        assert p.keywords["c"] is x
        assert g("ab") == ("b", "a")
        assert n == types.SimpleNamespace(a=x, b=2)


def test_cached_property_is_kept():
    def program(x, node):
        return x * node.double, node.double

    node = Node(3)
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(2)
    assert compiled(x, node)[1] == 6
    assert node.__dict__["double"] == 6
    assert torch.equal(compiled(x, node)[0], x * 6)


def test_class_that_makes_no_instances():
    def program(x, kind):
        try:
            return kind()
        except TypeError as error:
            return x + 1, str(error)

    check(program, torch.ones(2), type(functools.cmp_to_key(None)))
