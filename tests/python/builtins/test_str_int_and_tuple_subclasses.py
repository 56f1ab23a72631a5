# SPDX-License-Identifier: BSD-3-Clause
"""Subclasses of str, the numbers and tuple: C code calls the methods of the
class, and where it has none of its own the call is evaluated while tracing.
"""

import collections
import re
import sys

import numpy
import packaging.version
import pytest
import torch
from packaging.version import Version

import magneto
from magneto.testing import check
from support.under_backends import check_under

X = torch.arange(4.0)


class Text(str):
    pass


class Data(bytes):
    pass


class Whole(int):
    pass


class Real(float):
    pass


class Row(tuple):
    pass


Pair = collections.namedtuple("Pair", "a b")


class Compared(str):
    """Says itself how it compares, as torch.__version__ does."""

    def __eq__(self, other):
        return isinstance(other, str) and len(self) == len(other)

    def __lt__(self, other):
        return len(self) < len(other)

    def __ge__(self, other):
        return super().__ge__(other)

    def __hash__(self):
        return 3


class Shown(str):
    def __str__(self):
        return "shown"

    def __format__(self, spec):
        return "formatted"

    def __repr__(self):
        return "represented"


class Counted(str):
    def __len__(self):
        return 7

    def __iter__(self):
        yield "iterated"

    def __getitem__(self, index):
        return "item"

    def __contains__(self, part):
        return True


class Added(str):
    def __add__(self, other):
        return "added"

    def __mod__(self, other):
        return "filled"

    def __mul__(self, other):
        return "multiplied"


class Position(int):
    def __index__(self):
        return 1

    def __int__(self):
        return 2


class Equal(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def error(function):
    try:
        return function()
    except Exception as caught:
        return type(caught).__name__, str(caught)


PATTERN = re.compile(r"(?P<digit>\d)|(b)")

OF_TEXTS = {
    "comparisons": lambda a: (
        a == "1b2",
        "1b2" == a,
        a != "1b2",
        a < "2",
        "2" < a,
        a <= a,
        a > "1",
        a >= "1",
        "1" >= a,
        a == 3,
    ),
    "ordered": lambda a: (sorted([a, "0", "z"]), max(a, "0"), min([a, "z"])),
    "in": lambda a: (a in "01b23", "b" in a, a in ["1b2"], "1b2" in (a,)),
    "keys": lambda a: ({"1b2": 1}.get(a), {a: 2}.get("1b2"), {a, "1b2"}),
    "items": lambda a: (a[0], a[-2:], len(a), list(a), [*reversed(a)]),
    "sums": lambda a: (a + "x", "x" + a, a * 2, 2 * a, a + a),
    "percent": lambda a: ("%s" % a, "%r" % a, "%5s" % a, "%(a)s" % {"a": a}),
    "written": lambda a: (f"{a}", f"{a!r}", f"{a:>5}", "{}".format(a), str(a)),
    "truth": lambda a: (bool(a), not a, 1 if a else 2),
    "numbers": lambda a: (
        error(lambda: int(a)),
        error(lambda: int(a, 16)),
        error(lambda: int(a, base=36)),
        error(lambda: float(a)),
        error(lambda: complex(a)),
    ),
    "methods": lambda a: (
        a.upper(),
        a.split("b"),
        a.partition("b"),
        a.find("2"),
        a.isdigit(),
        a.encode(),
        a.startswith("1"),
        a.startswith(("x", "1")),
        a.replace("b", "c"),
        a.zfill(6),
        a.center(7, "*"),
    ),
    "arguments of methods": lambda a: (
        "01b2".split(a),
        "01b2".find(a),
        "01b2".endswith(a),
        "01b2".endswith(("x", a)),
        "01b2".replace(a, a),
        "01b2".count(a),
        "01b2".partition(a),
        "1b2".strip(a),
        "1b2".removeprefix(a),
        error(lambda: "01b2".index(a)),
    ),
    "joined": lambda a: (a.join(["x", "y"]), ",".join([a, a]), "".join((a,))),
    "of its own": lambda a: (
        a.split(a),
        a.replace(a, a),
        a.find(a),
        a.count(a),
    ),
    "translated": lambda a: (
        a.translate({98: "c"}),
        a.translate(str.maketrans("b", "c")),
    ),
    "characters": lambda a: (
        error(lambda: ord(a[0])),
        a.casefold() == "1b2",
        a.isascii(),
    ),
    "re functions": lambda a: (
        re.match(r"\d", a).group(),
        re.search("b", a).span(),
        re.fullmatch(".*", a) is not None,
        re.sub("b", "c", a),
        re.split("b", a),
        re.findall(r"\d", a),
        re.escape(a),
        [m.group() for m in re.finditer(r"\d", a)],
    ),
    "patterns": lambda a: (
        PATTERN.match(a).groups(),
        PATTERN.search(a).groupdict(),
        PATTERN.sub("c", a),
        PATTERN.subn("c", a, 1),
        PATTERN.split(a),
        PATTERN.findall(a),
        PATTERN.match(a)["digit"],
        PATTERN.match(a).group("digit", 2),
        [m.start() for m in PATTERN.finditer(a)],
    ),
    "made of it": lambda a: (
        re.compile(a).pattern,
        re.match(a, "1b2") is not None,
        re.sub(a, "x", "01b2"),
        re.sub("1", a, "01"),
        PATTERN.sub(a, "b"),
    ),
    "attributes": lambda a: (a.__class__.__name__, isinstance(a, str)),
    "identity": lambda a: (a is a, str(a) == a, type(str(a)).__name__),
}


@pytest.mark.parametrize("make", [Text, Compared, Shown, Counted, Added])
@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts(name, make):
    look = OF_TEXTS[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, make("1b2"))


def whole_graphs():
    """What of the table is one graph for each class: all, but what C code has
    to ask of a class that says something of its own."""
    asks = {
        Compared: {"keys", "made of it"},
        Shown: {"numbers", "made of it"},
        Counted: {"made of it"},
        Added: {"made of it"},
        Text: set(),
    }
    return [
        (name, make)
        for make, leave in asks.items()
        for name in OF_TEXTS
        if name not in leave
    ]


@pytest.mark.parametrize(("name", "make"), whole_graphs())
def test_texts_in_one_graph(name, make):
    look = OF_TEXTS[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, make("1b2"), graph_breaks=0)


@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts_that_the_trace_makes(name):
    look = OF_TEXTS[name]

    def program(x):
        return x + 1, look(Text("1b2"))

    check(program, X, graph_breaks=0)


OF_BYTES = {
    "comparisons": lambda a: (a == b"1b2", b"1b2" == a, a < b"2", b"2" > a),
    "methods": lambda a: (a.split(b"b"), a.find(b"2"), a.decode(), a.hex()),
    "arguments of methods": lambda a: (b"01b2".split(a), b"01b2".count(a)),
    "in": lambda a: (a in b"01b2", b"b" in a, 49 in a),
    "items": lambda a: (a[0], a[1:], len(a), list(a)),
    "sums": lambda a: (a + b"x", b"x" + a, a * 2),
    "patterns": lambda a: (re.match(rb"\d", a).group(), re.sub(b"b", b"c", a)),
    "keys": lambda a: ({b"1b2": 1}.get(a), {a: 2}.get(b"1b2")),
}


@pytest.mark.parametrize("name", OF_BYTES)
def test_bytes(name):
    look = OF_BYTES[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, Data(b"1b2"), graph_breaks=0)


OF_NUMBERS = {
    "comparisons": lambda a: (a == 3, 3 == a, a != 3, a < 4, 4 < a, a <= a),
    "with others": lambda a: (a == 3.0, 2.5 < a, a > True, a == "3", a == ""),
    "arithmetic": lambda a: (a + 1, 1 + a, a * a, 2 - a, -a, abs(a), a % 2),
    "divided": lambda a: (a / 2, a // 2, divmod(a, 2), 7 // a, a**2, 2**a),
    "conversions": lambda a: (int(a), float(a), bool(a), complex(a), round(a)),
    "ordered": lambda a: (max(a, 2), min([a, 5]), sorted([a, 1, 4])),
    "keys": lambda a: ({3: 1}.get(a), {a: 2}.get(3), a in {3}, hash(a) == 3),
    "written": lambda a: (str(a), repr(a), f"{a:5}", f"{a}", "%d" % a),
}
OF_INTEGERS = {
    "positions": lambda a: ([0, 1, 2, 3][a], "abcd"[a], (0, 1, 2, 3)[:a]),
    "counts": lambda a: ([*range(a)], "ab" * a, [0] * a, (1,) * a),
    "bits": lambda a: (a & 1, 1 | a, a ^ 2, a << 1, 1 << a, ~a, a.bit_length()),
    "texts": lambda a: (hex(a), bin(a), chr(a + 60), "%x" % a),
    "arguments": lambda a: ("abcabc".split("b", a), "ab".center(a + 3)),
    "sizes": lambda a: (torch.zeros(a), X[:a], X[a], X.view(a + 1, -1)),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("make", [Whole, Real])
def test_numbers(name, make):
    look = OF_NUMBERS[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, make(3), graph_breaks=0)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name):
    look = OF_INTEGERS[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, Whole(3), graph_breaks=0)


@pytest.mark.parametrize("table", [OF_NUMBERS, OF_INTEGERS])
@pytest.mark.parametrize("make", [Position, Equal])
def test_numbers_that_say_something(table, make):
    for look in table.values():

        def program(x, a, look=look):
            return x + 1, look(a)

        check(program, X, make(3))


OF_TUPLES = {
    "comparisons": lambda a: (
        a == (1, 2),
        (1, 2) == a,
        a != (1, 2),
        a < (1, 3),
        (1,) < a,
        a >= a,
        a > (0, 9),
        a == [1, 2],
    ),
    "items": lambda a: (a[0], a[1:], len(a), 2 in a, a.index(2), a.count(1)),
    "sums": lambda a: (a + (3,), (0,) + a, a * 2),
    "ordered": lambda a: (max(a, (0, 0)), sorted([a, (0, 5), (2, 0)])),
    "keys": lambda a: ({(1, 2): 1}.get(a), {a: 2}.get((1, 2)), a in {(1, 2)}),
    "conversions": lambda a: (list(a), tuple(a), set(a), dict([a]), sum(a)),
    "taken": lambda a: (*a, *map(str, a), *zip(a, a, strict=True)),
    "prefixes": lambda a: (isinstance(a, tuple), bool(a)),
}


@pytest.mark.parametrize("name", OF_TUPLES)
@pytest.mark.parametrize("make", [Row, Pair._make])
def test_tuples(name, make):
    look = OF_TUPLES[name]

    def program(x, a):
        return x + 1, look(a)

    check(program, X, make((1, 2)), graph_breaks=0)


V = torch.__version__

OF_VERSIONS = {
    "text": lambda: (V >= "2.4", V < "2.4", "2.4" <= V, V == "2.4", V != "2.4"),
    "tuples": lambda: (V >= (2, 4), V > (1, 13), (2, 4) <= V, V < (3,)),
    "no version": lambda: (V > "parrot", V == "parrot", V <= "parrot"),
    "of packaging": lambda: (
        packaging.version.parse(V) >= packaging.version.parse("2.0"),
        Version(V).release[0],
        Version(V).base_version > "2",
        Version(V).major,
        str(Version("2.1.0rc1+cpu")),
        Version("2.1.0.dev5") < Version("2.1.0"),
        Version("1!2.0.post1") > Version("2.1.0"),
    ),
    "of torch's own copy": lambda: (
        torch.torch_version.Version(V) >= torch.torch_version.Version("2.0"),
        torch.__version__ >= torch.torch_version.Version("1.10"),
    ),
    "cut": lambda: (
        tuple(int(p) for p in V.split("+")[0].split(".")[:2]) >= (2, 0),
        float(".".join(V.split(".")[:2])),
        [int(p) for p in re.findall(r"\d+", V)][:2],
        int(V[0]),
        V.startswith("2"),
        "2." in V,
        re.match(r"(\d+)\.(\d+)", V).groups(),
        PATTERN.match(V).group(1),
    ),
    "written": lambda: (f"{V}", str(V), "%s" % V, repr(V)),
    "numpy": lambda: Version(numpy.__version__) >= Version("1.20"),
    "of the interpreter": lambda: (
        sys.version_info >= (3, 8),
        sys.version_info[:2] < (4, 0),
        sys.version_info.major,
        sys.version_info > (3,),
    ),
}


@pytest.mark.parametrize("name", OF_VERSIONS)
def test_versions(name):
    look = OF_VERSIONS[name]

    def program(x):
        return x + 1, look()

    check(program, X, graphs=1, graph_breaks=0)


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (OF_TEXTS, Text("1b2")),
        (OF_TEXTS, Compared("1b2")),
        (OF_BYTES, Data(b"1b2")),
        (OF_NUMBERS, Whole(3)),
        (OF_TUPLES, Pair(1, 2)),
        (OF_VERSIONS, None),
    ],
    ids=["text", "compared", "bytes", "number", "tuple", "versions"],
)
def test_under_aot_eager(table, value):
    def program(x, a):
        found = [
            look() if a is None else error(lambda: look(a))
            for look in table.values()
        ]
        return x + 1, found

    check_under("aot_eager", program, X, value)


def test_a_version_decides_what_is_computed():
    def program(x):
        if torch.__version__ >= "2.4" and torch.__version__ < (99,):
            return x + 1
        return x - 1

    check(program, X, graphs=1, graph_breaks=0)
    compiled = magneto.compile(program, backend="inductor", fullgraph=True)
    assert torch.equal(compiled(X), X + 1)


def test_a_class_that_gets_a_method_later():
    class Later(str):
        pass

    def program(x, a):
        return (
            x + 1,
            re.sub("b", "c", a),
            int(a[0]),
            a == "1b2",
            {"1b2": 1}.get(a),
        )

    compiled = magneto.compile(program, backend="eager")
    a = Later("1b2")
    assert compiled(X, a)[1:] == ("1c2", 1, True, 1)
    Later.__eq__ = lambda self, other: False
    Later.__hash__ = lambda self: 5
    Later.__getitem__ = lambda self, index: "7"
    assert compiled(X, a)[1:] == program(X, a)[1:] == ("1c2", 7, False, None)
