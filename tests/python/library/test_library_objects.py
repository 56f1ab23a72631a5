# SPDX-License-Identifier: BSD-3-Clause
"""Objects of the standard library and of NumPy, and classes, that the compiled
function makes itself: traced, or left to plain Python by a graph break, and in
either case equal to what plain Python makes.
"""

import collections
import dataclasses
import enum
import functools
import inspect
import itertools
import logging
import random
import types
import warnings
import weakref

import numpy as np
import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(4.0)


class Thing:
    pass


class Key:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


class Dispatching:
    @functools.singledispatchmethod
    def go(self, a):
        return "default"

    @go.register
    def _(self, a: int):
        return a + 1

    @go.register
    def _(self, a: str):
        return a + "s"


@functools.lru_cache(None)
def three_times(k):
    return k * 3


@functools.lru_cache(None)
def mask_of(n):
    return torch.ones(n)


def byte_arrays(x):
    b = bytearray(b"abc")
    b.append(100)
    b += b"ef"
    b[0] = 65
    b.extend([1, 2])
    del b[1]
    b.reverse()
    return x + len(b), b, bytes(b), b.find(b"e"), b.upper(), b.pop(), b[1:3]


def memory_views(x):
    m = memoryview(b"hello")
    return x + len(m), m[1], bytes(m[1:3]), m.tolist(), m.format, m.nbytes


def mapping_proxies(x):
    d = {"a": 1}
    m = types.MappingProxyType(d)
    d["b"] = 2
    return x + m["b"], dict(m), list(m), len(m), "a" in m, m | {"c": 1}


PROXY = types.MappingProxyType({"a": 1, "b": [2]})
ORDERED = types.MappingProxyType(collections.OrderedDict(z=1, a=2))


def given_mapping_proxies(x):
    return (
        x + PROXY["a"],
        list(PROXY.keys()),
        list(PROXY.values()),
        list(PROXY.items()),
        PROXY.get("q", 7),
        PROXY.get("a"),
        PROXY.copy(),
        set(ORDERED.keys()),
        list(ORDERED.items()),
        PROXY == {"a": 1, "b": [2]},
        "z" in ORDERED,
    )


def signatures(x):
    parameters = inspect.signature(three_times.__wrapped__).parameters
    return (
        x + len(set(parameters.keys())),
        [each.name for each in parameters.values()],
        dict(parameters).keys() == parameters.keys(),
    )


def mapping_proxies_are_read_only(x):
    m = types.MappingProxyType({"a": x})
    try:
        m["b"] = 2
    except TypeError as error:
        return m["a"] + 1, str(error), m


def class_namespaces(x):
    names = vars(Thing)
    return (
        x + len(names),
        "__dict__" in names,
        names["__module__"],
        names.get("__doc__", 1),
        names.get("nothing"),
        names.get("nothing", 2),
    )


def weak_references(x):
    t = Thing()
    r = weakref.ref(t)
    same = r() is t
    t.v = x
    return r().v + 1, same, r is weakref.ref(t)


def weak_reference_with_a_callback(x):
    notes = []
    t = Thing()
    r = weakref.ref(t, lambda _: notes.append(1))  # noqa: F841
    del t
    return x + 1, notes


def weak_dictionaries(x):
    t = Thing()
    by_key = weakref.WeakKeyDictionary()
    by_key[t] = x
    by_value = weakref.WeakValueDictionary()
    by_value["a"] = t
    return by_key[t] + len(by_value), by_value["a"] is t


def weak_references_as_keys(x):
    functions = {}
    for _ in range(2):
        function = lambda: ()  # noqa: E731
        functions[weakref.ref(function, functions.pop)] = 1
    texts = {weakref.ref(each): 2 for each in (Key(1), Key(2))}
    return x + 1, len(functions), len(texts)


def pairs_of_a_source_that_asks_for_them(x):
    class Source:
        count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            if self.count >= 5:
                raise StopIteration
            return next(pairs, None) if self.count == 1 else [self.count]

    pairs = itertools.pairwise(Source())
    return x + 1, list(pairs)


def default_factories(x):
    d = collections.defaultdict(list)
    d["a"].append(1)
    d.default_factory = int
    d["b"] += 2
    return x + d["b"], d, d.default_factory


def caches_with_effects(x):
    calls = []

    @functools.lru_cache(maxsize=None)
    def f(k):
        calls.append(k)
        return k * 2

    return x * f(2) + f(2) + f(3), calls


def caches_of_others(x):
    return x * three_times(2) + three_times(2)


def caches_of_tensors(x):
    one, other = mask_of(4), mask_of(4)
    return x + one, one is other


def recursive_caches(x):
    @functools.cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return x + fibonacci(10)


def dispatching_methods(x):
    return Dispatching().go(1) + x, Dispatching().go("a"), Dispatching().go(2.0)


def random_numbers(x):
    items = [1, 2, 3, 4]
    random.shuffle(items)
    drawn = random.randint(1, 10), random.choice(items), random.gauss(0, 1)
    return x * random.random(), drawn, items


def random_numbers_of_numpy(x):
    return x * np.random.rand(), np.random.randint(5)


def caught_warnings(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("hey", stacklevel=1)
        y = x + 1
    return y, [str(each.message) for each in caught]


def logged(x):
    lines = []

    class Handler(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    logger = logging.Logger("of the program")
    logger.addHandler(Handler())
    logger.warning("hi %d", 3)
    return x + 1, lines


def numpy_arrays(x):
    a = np.arange(4)
    return x + torch.from_numpy(a), a.sum(), a.mean(), (a * 2).tolist()


def numpy_scalars(x):
    s = np.float64(2.0)
    return x * s, s + 1, int(np.int64(3)), np.float32(2.5) * 2, np.sqrt(4.0)


def classes(x):
    class A:
        factor = 2

        def method(self, y):
            return y * self.factor

    class B(A):
        def method(self, y):
            return super().method(y) + 1

    return B().method(x), B.__name__, B.__qualname__


def class_that_sees_a_variable(x):
    factor = 3

    class Meta(type):
        def __new__(meta, name, bases, namespace, **keywords):
            namespace["extra"] = factor + keywords["more"]
            return super().__new__(meta, name, bases, namespace)

    y = x + 1

    class A(metaclass=Meta, more=1):
        own = factor

        def method(self):
            return y

    return A().method() * A.extra + A.own


def data_class(x):
    @dataclasses.dataclass
    class D:
        a: int
        b: float = 2.0

    d = D(1)
    return x * d.b, d.a, repr(d).split(".")[-1]


def enumeration(x):
    class E(enum.Enum):
        A = 1
        B = 2

    return x * E.B.value, E(1).name


def class_by_call(x):
    made = type("Made", (), {"v": 3})
    return x * made.v + made().v


def class_whose_body_fails(x):
    y = x + 1
    try:

        class A:
            z = 1 // 0
    except ZeroDivisionError as error:
        return y * 2, str(error)
    return A


def named_tuple_class(x):
    pair = collections.namedtuple("Pair", "a b")(1, 2)
    return x + pair.b, tuple(pair)


def iterators_of_itertools(x):
    c = itertools.count(3)
    first = next(c), c.__next__()
    types_of = [
        type(each)
        for each in (
            c,
            itertools.chain([1]),
            itertools.chain.from_iterable([[1]]),
            itertools.cycle([1]),
            itertools.repeat(1),
            itertools.islice([1], 1),
            itertools.accumulate([1]),
            itertools.product([1]),
            itertools.permutations([1]),
            itertools.combinations([1], 1),
            itertools.combinations_with_replacement([1], 1),
            itertools.groupby([1]),
            itertools.starmap(max, []),
            itertools.takewhile(bool, []),
            itertools.dropwhile(bool, []),
            itertools.compress([1], [1]),
            itertools.zip_longest([1]),
            itertools.pairwise([1]),
            itertools.filterfalse(bool, [1]),
        )
    ]
    return (
        x + first[0],
        first,
        types_of,
        isinstance(c, itertools.count),
        iter(c) is c,
        hasattr(c, "send"),
    )


def iterators_that_have_not_begun(x):
    made = [
        itertools.chain([1, 2], [3]),
        itertools.chain.from_iterable([[1], [2]]),
        itertools.islice(itertools.count(), 2, 5),
        itertools.repeat("a", 3),
        itertools.zip_longest([1], [2, 3], fillvalue=0),
        itertools.accumulate([1, 2, 3]),
    ]
    magneto.graph_break()
    return (
        x + 1,
        [type(each).__name__ for each in made[:4]],
        [list(each) for each in made],
    )


def iterator_that_has_begun(x):
    numbers = itertools.count(2)
    y = x + next(numbers)
    magneto.graph_break()
    return y * next(numbers), next(numbers)


def keys_of_an_own_class(x):
    d = {Key(1): x, Key(2): 2}
    d[Key(1)] = x + 1
    return d[Key(1)] * 2, len(d), Key(2) in d, len({Key(1), Key(1)})


def backwards_over_a_deque(x):
    d = collections.deque([1, 2, 3])
    backwards = reversed(d)
    return x + next(backwards), type(backwards).__name__, list(backwards)


def coroutines(x):
    async def doubled():
        return x * 2

    made = doubled()
    y = x + 1
    try:
        made.send(None)
    except StopIteration as stop:
        return y + stop.value


def coroutines_in_generators(x):
    async def doubled():
        return x * 2

    made = doubled()

    def plain():
        yield from made

    @types.coroutine
    def awaiting():
        return (yield from made)

    try:
        list(plain())
    except TypeError as error:
        said = str(error)
    try:
        awaiting().send(None)
    except StopIteration as stop:
        return stop.value + 1, said


def names_by_exec(x):
    names = {}
    exec("from math import *", names)
    return x + names["pi"]


def partial_methods(x):
    class A:
        def method(self, a, b):
            return a - b

        half = functools.partialmethod(method, b=1)

    return x + A().half(3)


def total_orders(x):
    @functools.total_ordering
    class A:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __lt__(self, other):
            return self.value < other.value

    return x + (A(1) <= A(2)), A(3) >= A(4)


PROGRAMS = [
    byte_arrays,
    memory_views,
    mapping_proxies,
    given_mapping_proxies,
    signatures,
    mapping_proxies_are_read_only,
    class_namespaces,
    weak_references,
    weak_reference_with_a_callback,
    weak_dictionaries,
    weak_references_as_keys,
    pairs_of_a_source_that_asks_for_them,
    default_factories,
    caches_with_effects,
    caches_of_others,
    caches_of_tensors,
    recursive_caches,
    dispatching_methods,
    random_numbers,
    random_numbers_of_numpy,
    caught_warnings,
    logged,
    numpy_arrays,
    numpy_scalars,
    classes,
    class_that_sees_a_variable,
    data_class,
    enumeration,
    class_by_call,
    class_whose_body_fails,
    named_tuple_class,
    iterators_of_itertools,
    iterators_that_have_not_begun,
    iterator_that_has_begun,
    keys_of_an_own_class,
    backwards_over_a_deque,
    coroutines,
    coroutines_in_generators,
    names_by_exec,
    partial_methods,
    total_orders,
]


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_object_is_what_it_is_in_plain_python(program):
    check(program, X, calls=3)


# Graphs and breaks of the first two calls.
CAPTURED = {
    iterators_of_itertools: (1, 0),
    backwards_over_a_deque: (1, 0),
    caches_of_others: (1, 0),
    mapping_proxies: (1, 0),
    given_mapping_proxies: (1, 0),
    signatures: (1, 0),
}


@pytest.mark.parametrize("program", CAPTURED, ids=lambda p: p.__name__)
def test_object_is_traced(program):
    graphs, breaks = CAPTURED[program]
    check(program, X, graphs=graphs, graph_breaks=breaks)
