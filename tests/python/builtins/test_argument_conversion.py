# SPDX-License-Identifier: BSD-3-Clause
"""How functions written in C convert their arguments: which special methods
they call, in which order, how far they advance an iterator before they raise,
and with which message.
"""

import bisect
import collections
import enum
import json
import math
import operator
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import magneto

NOTES: list[Any] = []


class Place(enum.IntEnum):
    """A position with a name."""

    FIRST = 0
    SECOND = 1


class Anything:
    """Has each attribute that it is asked for."""

    def __getattr__(self, name):
        NOTES.append(name)
        return 3


class Keyed:
    """A mapping whose method is made anew, and whose keys are made late."""

    def __init__(self, last=3):
        self.last = last

    @property
    def keys(self):
        NOTES.append("keys")
        return self.made

    def made(self):
        for key in (1, 2, self.last):
            NOTES.append(("key", key))
            yield key

    def __getitem__(self, key):
        NOTES.append(("item", key))
        return key


class Counting:
    """A position that notes that it was asked."""

    def __index__(self):
        NOTES.append("index")
        return 0


class Noting(dict):
    """A dict that notes what is written."""

    def __setitem__(self, key, value):
        NOTES.append(("set", key))
        super().__setitem__(key, value)


def noted(*items):
    for item in items:
        NOTES.append(item)
        yield item


PROGRAMS = {
    "a tensor as a mapping": lambda: "%(k)s" % torch.tensor(2),
    "a tensor that isn't used up": lambda: "text" % torch.ones(2),  # noqa: F507
    "a count of substitutions": lambda: re.sub("a", "b", "aa", 1.0),
    "a count that is a text": lambda: re.subn("a", "b", "aa", "1"),
    "a sum up to what is no number": lambda: math.fsum(noted(1, 2, "a", 3)),
    "keys up to what has no hash": lambda: dict.fromkeys(noted(1, [], 2)),
    "keys one by one": lambda: Noting.fromkeys(noted(1, 2)),
    "not a number as an integer": lambda: "%d" % math.nan,
    "infinity as an integer": lambda: "%i" % math.inf,
    "a letter that stands for nothing": lambda: "%y" % 1,  # noqa: F509
    "a precision that is too large": lambda: "%.*f" % (10**20, 1.0),
    "a width that is too large": lambda: "%*f" % (10**20, 1.0),
    "a base that is too large": lambda: int(2.5, 10**20),
    "a base that is no position": lambda: int("1", Anything),
    "a slice of a deque": lambda: collections.deque([1])["a" : Counting()],
    "a slice of a deque that is deleted": lambda: collections.deque(
        [1]
    ).__delitem__(slice(Counting(), None)),
    "what is no position before a tensor": lambda: torch.ones(3)[
        "a" : torch.ones(2)
    ],
    "the step of a slice first": lambda: torch.ones(3)[
        Counting() : torch.ones(2) : "a"
    ],
    "a step that is zero": lambda: [1, 2]["a" : Counting() : 0],
    "a step that is false": lambda: (1, 2)["a" : Counting() : False],
    "what is no position before one": lambda: [1, 2]["a" : Counting()],
    "a position before what is none": lambda: [1, 2][Counting() : "a"],
    "a position before a tensor": lambda: torch.ones(3)[
        Counting() : torch.tensor(2)
    ],
    "a place that is too large": lambda: bisect.bisect_left([1], 1, 10**20),
    "a place that is too small": lambda: bisect.insort([1], 1, 0, -(10**20)),
    "a named place": lambda: (
        bisect.bisect_left([], 1, Place.SECOND, Place.SECOND),
        bisect.bisect([1, 2], 1, False, True),
        bisect.bisect_left([1, 2, 3], 5, 0, -1),
        bisect.bisect_left([1, 2, 3], 5, 0, -2),
    ),
    "a dict of any attribute": lambda: dict(Anything()),
    "a dict that is updated with any attribute": lambda: {}.update(Anything()),
    "a default dict of any attribute": lambda: collections.defaultdict(
        int, Anything()
    ),
    "an ordered dict of any attribute": lambda: collections.OrderedDict(
        Anything()
    ),
    "a dict of keys": lambda: dict(Keyed()),
    "a dict of keys, up to an error": lambda: dict(Keyed([])),
    "an ordered dict of keys": lambda: collections.OrderedDict(Keyed()),
    "an ordered dict of keys, up to an error": lambda: collections.OrderedDict(
        Keyed([])
    ),
    "a function of torch with any attribute": lambda: torch.nn.functional.pad(
        Anything(), (1, True)
    ),
}


# Sequences only, whatever `+` does.
CONCATENATED = {
    "a list and what adds": lambda: operator.concat(
        [1], noting(object, "__radd__", 1)
    ),
    "a tuple and a size": lambda: operator.concat((1.5,), torch.Size([2])),
    "a size and a tuple": lambda: operator.concat(torch.Size([2]), (1,)),
    "a named tuple": lambda: operator.concat(Two(1.5, 2), torch.Size([2])),
    "what has items": lambda: operator.concat(noting(list, "__add__", 1), [1]),
    "a list and a tensor": lambda: operator.concat([1], torch.ones(1)),
    "a tensor": lambda: operator.concat(torch.ones(1), [1]),
    "a list and an array": lambda: operator.concat([1], np.ones(1)),
    "in place": lambda: operator.iconcat([1], noting(object, "__radd__", 1)),
    "in place of a tuple": lambda: operator.iconcat((1,), (2,)),
    "in place of a list": lambda: operator.iconcat([1], (2,)),
}
Two = collections.namedtuple("Two", "p q")


def told(call):
    NOTES.clear()
    try:
        result = call()
        result = type(result), repr(result)
    except Exception as error:
        result = type(error), str(error)
    return result, [*NOTES]


ALL = PROGRAMS | CONCATENATED


@pytest.mark.parametrize("program", ALL.values(), ids=ALL)
def test_arguments_are_asked_as_in_python(program):
    def attempted():
        try:
            result = program()
            return type(result), repr(result)
        except Exception as error:
            return type(error), str(error)

    compiled = magneto.compile(attempted, backend="eager")
    for _ in range(2):
        assert told(compiled) == told(attempted)


def test_an_iterator_stands_behind_the_item_that_was_refused():
    def program(items):
        try:
            return math.fsum(items)
        except TypeError as error:
            return str(error), [*items]

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert compiled(iter([1, "a", 2, 3])) == (
            "must be real number, not str",
            [2, 3],
        )


def noting(base, name, answer):
    """An instance of a class that is derived from a constant's, and notes that
    its method was called."""

    def method(self, *others):
        NOTES.append(name)
        return answer

    return type("Odd", (base,), {name: method})()


BASES = [str, float, bytes, tuple, frozenset, complex, int]
SEQUENCES = ["abcd", b"abcd", range(4), [1, 2, 3], (1, 2, 3), torch.arange(4)]
REPEATED = {
    "a text": lambda odd: "ab" * odd,
    "itself": lambda odd: odd * odd,
    "bytes": lambda odd: odd * b"ab",
}


@pytest.mark.parametrize("repeated", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("base", [str, bytes])
def test_a_count_derived_from_a_constant_is_asked_in_each_call(base, repeated):
    def program(odd):
        try:
            return repeated(odd)
        except Exception as error:
            return type(error), str(error)

    odd = noting(base, "__index__", 2)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(3):
        assert told(lambda: compiled(odd)) == told(lambda: program(odd))


SUBSCRIPTS = {
    "an item": lambda items, odd: items[odd],
    "a slice": lambda items, odd: items[odd:odd],
    "a slice from it": lambda items, odd: items[odd:],
    "a slice of a step": lambda items, odd: items[::odd],
}


@pytest.mark.parametrize("subscript", SUBSCRIPTS.values(), ids=SUBSCRIPTS)
@pytest.mark.parametrize("base", BASES)
def test_a_position_derived_from_a_constant_is_asked_in_each_call(
    base, subscript
):
    def program(items, odd):
        try:
            return subscript(items, odd)
        except Exception as error:
            return type(error), str(error)

    odd = noting(base, "__index__", 1)
    for items in SEQUENCES:
        compiled = magneto.compile(program, backend="eager")
        for _ in range(3):
            expected = told(lambda items=items: program(items, odd))
            found = told(lambda c=compiled, items=items: c(items, odd))
            assert found == expected


def test_a_group_of_a_match_whose_position_is_asked():
    def program(match, odd):
        return match[odd]

    odd, match = noting(str, "__index__", 1), re.match("(a)", "a")
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        NOTES.clear()
        assert compiled(match, odd) == "a"
        assert NOTES == ["__index__"]


def test_an_option_derived_from_a_constant_is_asked_in_each_call():
    def program(odd):
        return json.dumps({"b": 1, "a": 2}, sort_keys=odd)

    odd = noting(str, "__bool__", True)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert told(lambda: compiled(odd)) == told(lambda: program(odd))


def test_a_text_of_a_derived_class_is_searched_without_its_methods():
    def program(text):
        return re.sub("a", lambda match: "b", text)

    class Text(str):
        def __len__(self):
            NOTES.append("length")
            return 0

        def __getitem__(self, key):
            NOTES.append("item")
            return "other"

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        text = Text("xaya")
        assert told(lambda t=text: compiled(t)) == told(
            lambda t=text: program(t)
        )


def test_a_slice_of_itself_asks_no_iterator():
    class Items(list):
        def __iter__(self):
            NOTES.append("iterated")
            return super().__iter__()

    def program(items, other):
        items[1:1] = items
        items[::2] = other
        return [*items]

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        expected = told(lambda: program(Items([1, 2]), Items([3, 4])))
        assert told(lambda: compiled(Items([1, 2]), Items([3, 4]))) == expected


@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_that_vary_beyond_64_bits(dynamic):
    def program(n):
        try:
            return torch.Size([n, 2]).numel()
        except Exception as error:
            return type(error), str(error)

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for n in (3, 4, 10**20, 5, -(10**20), 10**20 + 1, -7):
        assert compiled(n) == program(n)


class Equal(int):
    """A number that notes that it was compared."""

    __hash__ = int.__hash__

    def __eq__(self, other):
        NOTES.append("compared")
        return int(self) == other


def test_guards_ask_no_number_in_a_size():
    def program(size):
        return len(size)

    compiled = magneto.compile(program, backend="eager")
    for size in ([2, 3], [Equal(2), 3], [Equal(2), 3], [2, 3]):
        NOTES.clear()
        assert compiled(torch.Size(size)) == 2
        assert NOTES == []


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("item", [Place.SECOND, Equal(1), np.int64(1), True, 1])
def test_a_size_keeps_its_numbers(item, dynamic):
    def program(items, x):
        size = torch.Size(items)
        of_tensor = torch.Size((torch.tensor(2), *items))
        kinds = [type(item) for item in (*size, *of_tensor)]
        texts = str(size), f"{of_tensor}", repr([size])
        both = size + size
        return kinds, size.numel(), x.expand(2, *size).shape, both, texts

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for _ in range(2):
        assert compiled([item], torch.ones(1)) == program([item], torch.ones(1))


REFUSED = {
    "a direction that is too large": lambda n: sorted([2, 1], reverse=n),
    "a direction that is too small": lambda n: [2, 1].sort(reverse=-n),
    "a precision": lambda n: "%.*f" % (n, 1.0),
    "a base": lambda n: int("1", n),
    "a match as a text": lambda n: re.sub("a", lambda match: match, "aba"),
    "a number as a text": lambda n: re.subn("b", lambda match: 3, "aba"),
    "a method with too many arguments": lambda n: Keeping([1]).method(1, 2),
    "a list that is assigned": lambda n: torch.ones(2).__setitem__(
        slice("a", torch.ones(2)), [[1], [2, 3]]
    ),
    "a text that is assigned": lambda n: torch.ones(2).__setitem__(
        slice(torch.ones(2), None), "a"
    ),
    "a step of zero": lambda n: torch.ones(3)["a" : torch.tensor(1) : 0],
}


class Items(list):
    """A list of another name."""


class Keeping:
    """Holds the method of another object."""

    def __init__(self, items):
        self.method = Items(items).__getitem__


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_arguments_are_refused_in_the_same_words(program, dynamic):
    def attempted(n):
        try:
            return program(n)
        except Exception as error:
            return type(error), str(error)

    compiled = magneto.compile(attempted, backend="eager", dynamic=dynamic)
    for n in (10**20, 10**20, 10**20 + 1):
        assert compiled(n) == attempted(n)


def test_a_complex_number_that_is_truncated():
    def program(odd):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "%d" % odd

    odd = noting(complex, "__trunc__", 3)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert compiled(odd) == "3"


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "data",
    [
        lambda x, n: [x, (n, 2)],
        lambda x, n: [(n, 2), x],
        lambda x, n: [x[0], n],
        lambda x, n: [n, x],
        lambda x, n: [x[:1], n],
        lambda x, n: [n, x.sum()],
    ],
)
def test_a_tensor_of_numbers_that_vary_and_tensors(data, dynamic):
    def program(x, n):
        try:
            return torch.tensor(data(x, n))
        except Exception as error:
            return type(error), str(error)

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for n in (1, 2, 3):
        assert str(compiled(torch.ones(2), n)) == str(program(torch.ones(2), n))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_slice_of_a_tensor_by_a_real_number_and_a_tensor(dynamic):
    def program(x, start, stop):
        try:
            return x[start:stop]
        except Exception as error:
            return type(error), str(error)

    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for start, stop in ((2.0, torch.ones(2)), (3.0, torch.tensor(1))):
        expected = program(torch.ones(4), start, stop)
        assert compiled(torch.ones(4), start, stop) == expected
