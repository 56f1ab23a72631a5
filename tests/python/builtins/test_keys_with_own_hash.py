# SPDX-License-Identifier: BSD-3-Clause
"""Keys of dicts that hash and compare in Python code of their own."""

import collections
import dataclasses
import enum

import pytest
import torch

import magneto
from magneto.testing import check, compare


@dataclasses.dataclass(frozen=True)
class Key:
    number: int
    name: str = "key"


@dataclasses.dataclass(frozen=True, order=True)
class Nested:
    inner: Key
    items: tuple = ()


@dataclasses.dataclass(frozen=True)
class Derived(Key):
    """Equal to no Key, though its hash may be that of one."""


class Named(collections.namedtuple("Named", "a b")):
    def __eq__(self, other):
        return type(self) is type(other) and self.a == other.a

    def __hash__(self):
        return hash(self.a)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Symbol:
    """Equal to its text, too."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        if isinstance(other, str):
            return self.text == other
        return isinstance(other, Symbol) and self.text == other.text

    def __hash__(self):
        return hash(self.text)


class Changing:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)


class Colliding(Changing):
    def __hash__(self):
        return 1


class Never(Changing):
    __hash__ = Changing.__hash__

    def __eq__(self, other):
        return False


class Same(Changing):
    def __hash__(self):
        return self.number % 2


class Counting(Changing):
    asked = 0

    def __hash__(self):
        Counting.asked += 1
        return hash(self.number)


class Noted(enum.Enum):
    ONE = 1

    def __hash__(self):
        Counting.asked += 1
        return 7


class OfClasses(type):
    def __hash__(cls):
        Counting.asked += 1
        return 7


class Classy(metaclass=OfClasses):
    pass


class Unhashable:
    def __eq__(self, other):
        return True


class Raising(Changing):
    def __hash__(self):
        raise ValueError("no hash")


class HashOnly:
    def __hash__(self):
        return 5


def found(x):
    d = {Key(1): 2}
    return x + d[Key(1)], Key(1) in d, Key(2) in d, d.get(Key(1, "other"), 8)


def missing(x):
    try:
        return {Key(1): 2}[Key(2)]
    except KeyError as error:
        return x + 1, error.args


def replaced(x):
    first, second = Key(1), Key(1)
    d = {first: 1, Key(2): 2}
    d[second] = 3
    return x + d[first], list(d), [key is first for key in d], d


def removed(x):
    d = {Key(i): i for i in range(4)}
    del d[Key(2)]
    return x + d.pop(Key(1)), d, d.setdefault(Key(9), 9), len(d)


def escapes(x):
    d = {Key(1): x + 1, Nested(Key(2), (1, 2)): x + 2}
    return d


def nested(x):
    d = {Nested(Key(1)): 1, Nested(Key(1), (2,)): 2}
    return x + d[Nested(Key(1), (2,))], d[Nested(Key(1))]


def in_tuples(x):
    d = {(Key(1), "a"): 1, (Key(1), "b"): 2}
    return x + d[Key(1), "b"], (Key(2), "a") in d, d


def of_two_classes(x):
    d = {Key(1): 1, Derived(1): 2}
    return x + d[Derived(1)], d[Key(1)], len(d)


def named(x):
    d = {Named(1, 2): 1}
    d[Named(1, 3)] = 2
    return x + d[Named(1, 4)], [tuple(key) for key in d]


def mixed(x):
    d = {Key(1): 1, "text": 2, 3: 4, None: 5, Colour.RED: 6}
    return x + d[Key(1)] + d["text"] + d[3], d[None], d[Colour.RED], list(d)[1:]


def copied(x):
    d = {Key(1): 1}
    copies = dict(d), {**d, Key(2): 2}, d | {Key(1): 3}, d.copy()
    return x + copies[2][Key(1)], copies, d == copies[0]


def defaults(x):
    d = collections.defaultdict(list)
    d[Key(1)].append(x)
    d[Key(1)].append(2)
    return x + len(d[Key(1)]), d


def counted(x):
    c = collections.Counter([Key(1), Key(2), Key(1)])
    return x + c[Key(1)], c


def hashed(x):
    return (
        x + 1,
        hash(Key(1)) == hash(Key(1)),
        hash((Key(1), 2)) == hash((Key(1), 2)),
    )


def changed_behind(x):
    key = Changing(1)
    d = {key: 1}
    key.number = 2
    return x + 1, key in d, Changing(1) in d, Changing(2) in d, list(d.values())


def changed_back(x):
    key = Changing(1)
    d = {key: 1}
    key.number = 2
    d[key] = 2
    key.number = 1
    return x + d[key], len(d), key in d


def handed_in(x, key, other):
    d = {key: 1}
    return x + d.get(other, 5), d


def as_its_text(x):
    d = {"a": 1, Symbol("b"): 2}
    return x + d["b"], d[Symbol("a")], Symbol("c") in d


def with_one_hash(x):
    d = {Colliding(1): 1, Colliding(2): 2}
    return x + d[Colliding(2)], [key.number for key in d], d


def with_an_effect(x):
    Counting.asked = 0
    d = {Counting(1): 1}
    return x + d[Counting(1)], Counting.asked


def members_with_an_effect(x):
    Counting.asked = 0
    d = {Noted.ONE: 1}
    return x + d[Noted.ONE], Counting.asked


def classes_with_an_effect(x):
    Counting.asked = 0
    d = {Classy: 1}
    return x + d[Classy], Classy in {int}, Counting.asked


def unhashable(x):
    try:
        return {Unhashable(): 1}
    except TypeError as error:
        return x + 1, str(error)


def raising(x):
    try:
        return {Raising(1): 1}
    except ValueError as error:
        return x + 1, str(error)


def told_by_identity(x):
    a, b = HashOnly(), HashOnly()
    d = {a: 1, b: 2}
    return x + d[a], d[b], HashOnly() in d


def in_sets(x):
    s = {Key(1), Key(2), Key(1)}
    return x + len(s), Key(1) in s


def in_ordered(x):
    d = collections.OrderedDict()
    d[Key(1)] = 1
    return x + d[Key(1)], d


def in_frozensets(x):
    s = frozenset([Key(1), Key(2)])
    return x + len(s), s, {s: 1}


def sets_that_grow(x):
    s = {Key(number) for number in range(12)}
    t = set()
    for number in range(20):
        t.add(Changing(number * 8))
    return x + 1, list(s), s, [key.number for key in t], len(t & s)


def sets_that_shrink(x):
    s = {Key(1), Key(2), Key(3)}
    s.discard(Key(2))
    return x + len(s), Key(2) in s


def sets_of_sets(x):
    s = {Key(1), Key(2)}
    return (
        x + 1,
        s | {Key(3)},
        set(s),
        s == {Key(2), Key(1)},
        {Key(1): 1}.keys() & s,
    )


def not_symmetric(x):
    d = {Changing(1): 1}
    d[Never(1)] = 2
    return x + len(d), d.get(Changing(1)), d.get(Never(1))


def changed_after_the_other(x):
    first, second = Same(1), Same(1)
    d = {first: 1}
    d[second] = 2
    first.number = 3
    return x + len(d), second in d, Same(3) in d


def behind_a_break(x):
    d = {Key(1): 1}
    magneto.graph_break()
    return x + d[Key(1)], d


ONE_GRAPH = [
    found,
    missing,
    replaced,
    removed,
    escapes,
    nested,
    in_tuples,
    of_two_classes,
    named,
    mixed,
    copied,
    defaults,
    counted,
    hashed,
    in_sets,
    sets_that_grow,
    told_by_identity,
    unhashable,
    raising,
]
WITH_BREAKS = [
    as_its_text,
    with_one_hash,
    with_an_effect,
    members_with_an_effect,
    classes_with_an_effect,
    in_frozensets,
    sets_that_shrink,
    sets_of_sets,
    not_symmetric,
    changed_after_the_other,
    changed_behind,
    in_ordered,
    behind_a_break,
    changed_back,
]


@pytest.mark.parametrize("program", ONE_GRAPH, ids=lambda p: p.__name__)
def test_in_one_graph(program):
    check(program, torch.ones(2), graphs=1, graph_breaks=0)


@pytest.mark.parametrize("program", WITH_BREAKS, ids=lambda p: p.__name__)
def test_with_breaks(program):
    check(program, torch.ones(2))


def test_of_the_callers():
    x = torch.ones(2)
    compiled = magneto.compile(handed_in, backend="eager", fullgraph=True)
    for keys in (
        (Key(1), Key(1)),
        (Key(1), Key(2)),
        (Key(3), Key(3)),
        (Changing(1), Changing(1)),
        (Nested(Key(1)), Key(1)),
    ):
        compare(handed_in(x, *keys), compiled(x, *keys))


def test_in_dicts_of_the_callers():
    def program(x, d):
        d[Key(2)] = d[Key(1)] + 1
        return x + d[Key(2)]

    x = torch.ones(2)
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        eager, mine = {Key(1): 1}, {Key(1): 1}
        compare(program(x, eager), compiled(x, mine))
        assert eager == mine


class Stern(Changing):
    """Compares with its own kind only."""

    __hash__ = Changing.__hash__

    def __eq__(self, other):
        if not isinstance(other, Stern):
            raise ValueError("not of its kind")
        return self.number == other.number


def test_writes_of_plain_keys_beside_them():
    """They ask the keys that are there, at once."""

    def program(x, d, notes):
        try:
            d[1] = 1
        except (ValueError, AttributeError) as error:
            notes.append(str(error))
        notes.append("done")
        return x + len(d)

    x = torch.ones(2)
    compiled = magneto.compile(program, backend="eager")
    for key in (Key(2), Stern(2), Stern(1), Changing(1), Key(1)):
        eager, mine = {key: 1}, {key: 1}
        expected, notes = [], []
        compare(program(x, eager, expected), compiled(x, mine, notes))
        assert expected == notes
        assert [*eager.items()] == [*mine.items()]


def test_ordered_dicts_hash_while_they_are_gone_over():
    def program(x, d):
        Counting.asked = 0
        return x + 1, [key.number for key in d], Counting.asked

    x = torch.ones(2)
    compiled = magneto.compile(program, backend="eager")
    d = collections.OrderedDict([(Counting(i), i) for i in range(3)])
    for _ in range(2):
        compare(program(x, d), compiled(x, d))
