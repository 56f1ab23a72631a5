# SPDX-License-Identifier: BSD-3-Clause
"""Binary operators: which of two operands answers, and what containers take for
equal.
"""

import collections
import enum
import math
import operator

import pytest
import torch

from magneto.testing import check, check_calls

X = torch.ones(1)


class Both:
    def __add__(self, other):
        return "add"

    def __radd__(self, other):
        return "radd"

    def __iadd__(self, other):
        return NotImplemented

    def __truediv__(self, other):
        return "truediv"

    def __rtruediv__(self, other):
        return "rtruediv"

    def __divmod__(self, other):
        return "divmod"

    def __rdivmod__(self, other):
        return "rdivmod"


class Inherits(Both):
    pass


class Overrides(Both):
    def __radd__(self, other):
        return "overridden"

    def __rtruediv__(self, other):
        return NotImplemented

    def __rdivmod__(self, other):
        return "overridden"


class Reflected:
    def __rdivmod__(self, other):
        return "rdivmod"


class Derived(Reflected):
    def __divmod__(self, other):
        return NotImplemented


def in_place(a, b):
    a += b
    return a


OPERATIONS = {
    "+": lambda a, b: a + b,
    "+=": in_place,
    "operator./": lambda a, b: operator.truediv(a, b),
    "divmod": lambda a, b: divmod(a, b),
}
OPERANDS = [Both, Inherits, Overrides, Reflected, Derived, int]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("right", OPERANDS)
@pytest.mark.parametrize("left", OPERANDS)
def test_who_answers_first(left, right, name):
    def program(x, a, b):
        try:
            result = OPERATIONS[name](a, b)
        except (TypeError, ZeroDivisionError) as error:
            result = str(error)
        return result, x + 1

    check(program, X, left(), right())


class SubOrdered(collections.OrderedDict):
    pass


class SubDefault(collections.defaultdict):
    pass


class SubCounter(collections.Counter):
    pass


class SubChain(collections.ChainMap):
    pass


class SubUser(collections.UserDict):
    pass


@pytest.mark.parametrize(
    "pair",
    [
        (collections.OrderedDict, SubOrdered),
        (collections.defaultdict, SubDefault),
        (collections.Counter, SubCounter),
        (collections.ChainMap, SubChain),
        (collections.UserDict, SubUser),
    ],
)
def test_unions_with_subclasses(pair):
    def program(x, a, b):
        return type(a | b), type(b | a), type(a | a), x + 1

    check(program, X, pair[0](), pair[1]())


class Silent(int):
    def __add__(self, other):
        return NotImplemented


class Plain(int):
    pass


@pytest.mark.parametrize("pair", [(2, 3), (2.5, 3), (7, -2)])
@pytest.mark.parametrize("kinds", [(Silent, Silent), (Plain, Silent)])
def test_numbers_of_ones_own(pair, kinds):
    a, b = kinds[0](pair[0]), kinds[1](pair[1])

    def program(x, a, b):
        results = []
        for p, q in ((a, b), (b, a), (a, a), (a, 2), (2, b)):
            for operation in (operator.add, divmod):
                try:
                    results.append(operation(p, q))
                except TypeError as error:
                    results.append(str(error))
        return results, x + 1

    check(program, X, a, b)


# -- What iteration over a text asks.


class Text(str):
    def __getitem__(self, index):
        return "X"


class Bytes(bytes):
    def __getitem__(self, index):
        return 0


class Pair(tuple):
    def __getitem__(self, index):
        return "X"


@pytest.mark.parametrize("given", [Text("abc"), Bytes(b"abc"), Pair("ab")])
def test_iteration_passes_by_getitem(given):
    def program(x, given):
        first, *rest = given
        return (
            [*given],
            first,
            rest,
            list(zip(given, given, strict=True)),
            max(given),
            [each for each in given],
            given[0],
            x + 1,
        )

    check(program, X, given)


# -- Which equal constants are one object.

TEXT = "".join(["some", "text"])
CONSTANTS = {
    "int": lambda: int("1000"),
    "float": lambda: float("1.5"),
    "nan": lambda: float("nan"),
    "str": lambda: "".join(["some", "text"]),
    "bytes": lambda: bytes([1, 2, 3]),
    "complex": lambda: complex("1j"),
    "tuple": lambda: tuple([1, 2]),
    "frozenset": lambda: frozenset([1, 2]),
    "range": lambda: range(int("3")),
    "size": lambda: torch.Size([1, 2]),
    "small": lambda: int("3"),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_told_apart(name, first):
    one, other = CONSTANTS[name](), CONSTANTS[name]()
    pairs = [(one, one), (one, other), (other, other), (other, one)]

    def program(x, a, b):
        return a is b, a is not b, [a] == [b], a in [b], x + 1

    def of_a_default(x, a, b=one):
        return b is one, any(b is each for each in (a, one)), x + 1

    for tried in (program, of_a_default):
        check_calls(
            tried,
            [((X, a, b), {}) for a, b in (pairs if first else pairs[::-1])],
        )


def test_numbers_that_vary_are_told_apart():
    def program(x, a, b):
        return a is b, x + 1

    def pairs(n):
        same = int(str(n))
        return [(same, same), (same, int(str(n)))]

    check_calls(
        program,
        [((X, *pair), {}) for n in range(300, 305) for pair in pairs(n)],
    )
    check_calls(
        program,
        [((X, *pair), {}) for n in range(300, 305) for pair in pairs(n)[::-1]],
    )


def test_equal_texts_need_one_compilation():
    """To be found in a list, they need not be one object."""

    def program(x, mode):
        return mode in ["sometext", "other"], [mode] == ["sometext"], x + 1

    texts = [TEXT, "".join(["some", "text"]), "sometext"]
    report = check_calls(program, [((X, text), {}) for text in texts])
    assert report.recompiles == 0


def test_what_is_one_object_is_equal():
    def program(x, items, n):
        nan = math.nan
        return (
            items == [n],
            [nan] == [nan],
            [nan] != [n],
            (n,) == (n,),
            (n,) < (n,),
            {"a": n} == {"a": n},
            {"a": nan}.items() == {"a": n}.items(),
            collections.deque([n]) == collections.deque([n]),
            x + 1,
        )

    check(program, X, [math.nan], math.nan)
    nan = float("nan")
    check_calls(
        program,
        [((X, [nan], nan), {}), ((X, [nan], float("nan")), {})],
    )


# -- The keys that a dict has stay its own.


class Color(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize("key", [1, True, 1.0, Color.RED])
@pytest.mark.parametrize("had", [1, True, 1.0, Color.RED])
def test_keys_that_are_found_by_others(had, key):
    def reads(x, table, key):
        return table.get(key), key in table, list(table), x + 1

    def writes(x, table, key):
        table[key] = 5
        return {k: v for k, v in table.items()}, x + 1

    def sets_a_default(x, table, key):
        table.setdefault(key, 3)
        table.update({key: 4})
        return [*table.items()], x + 1

    def sets_again(x, table, key):
        del table[key]
        table[key] = 5
        return [*table.items()], x + 1

    for program in (reads, writes, sets_a_default, sets_again):
        check(program, X, {had: "a", "b": 2}, key)


# -- Processors of which there is one have no number.


def test_devices_with_a_number():
    def program(x):
        with torch.device("cpu:0"):
            made = [torch.zeros(1)]
        made += [
            torch.zeros(1, device="cpu:0"),
            torch.arange(2, device="cpu:0"),
            torch.full((2,), 1.0, device=torch.device("cpu", 0)),
            x.new_zeros(1, device="cpu:0"),
            torch.randn_like(x, device="cpu:0"),
            x.to("cpu:0"),
            torch.empty(2, device="meta:0"),
        ]
        same = [t.device == x.device for t in made]
        return same, [str(t.device) for t in made], x.to("cpu:0") is x, x + 1

    check(program, X, graph_breaks=0)


class Refusing:
    def __rmul__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return NotImplemented


def test_reflected_methods_that_refuse_a_tensor():
    def program(x, other):
        try:
            return x * other
        except TypeError as error:
            text = str(error)
        try:
            x += other
        except TypeError as error:
            return x + 1, text, str(error)

    check(program, torch.arange(4.0), Refusing(), fullgraph=True)
