# SPDX-License-Identifier: BSD-3-Clause
"""Strings while tracing: str(), repr(), format(), the methods of str, and their
errors.
"""
# ruff: noqa: F401, F403, F405, E501

from collections import *
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch

from support.expressions import check_error, check_expression, lines


class Named:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "str of " + self.name

    def __repr__(self):
        return f"Named({self.name!r})"

    def __format__(self, spec):
        return f"{self.name}:{spec}"

    def __len__(self):
        return 3


class Iterable:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return "abc"[i]


class Mapping(dict):
    def __missing__(self, key):
        return "missing " + key


class Indexable:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n

    def __int__(self):
        return self.n

    def __float__(self):
        return float(self.n)


class Bad:
    def __repr__(self):
        return 3


class BadFormat:
    def __format__(self, spec):
        return 3


class Raises:
    def __str__(self):
        raise ValueError("no text")


class Bytes:
    def __bytes__(self):
        return b"xy"


class Plain:
    pass


NAMESPACE = dict(globals())

EXPRESSIONS = lines(r"""
"hello world".capitalize(), "HeLLo".casefold(), "ab".center(6), "ab".center(7, "*"), "banana".count("an"), "banana".count("a", 2), "banana".count("a", 2, 4), "abc".encode("utf-16-le"), "é".encode("ascii", "ignore"), "abc".encode(errors="strict"), "abc".endswith("bc", 1), "abc".endswith(("x", "c"))
"a\tb".expandtabs(), "a\tb".expandtabs(tabsize=4), "abc".find("b", 2), "abc".find("c", -1), "abc".index("c"), "a1".isalnum(), "a".isalpha(), "a".isascii(), "1".isdecimal(), "²".isdigit(), "a_1".isidentifier(), "a".islower()
"½".isnumeric(), "a\n".isprintable(), " ".isspace(), "Ab Cd".istitle(), "AB".isupper(), "ab".ljust(4), "ab".ljust(4, "-"), "AB".lower(), "  a".lstrip(), "xxa".lstrip("x"), "a-b-c".partition("-"), "abc".partition("z")
"abc".removeprefix("a"), "abc".removesuffix("c"), "aaa".replace("a", "b", 2), "abcabc".rfind("b"), "abcabc".rindex("c"), "ab".rjust(4, "."), "a-b-c".rpartition("-"), "a b c".rsplit(None, 1), "a,b,c".rsplit(",", maxsplit=1), "a  ".rstrip(), "axx".rstrip("x"), " a  b ".split()
"a,b,c".split(",", 1), "a,b".split(sep=","), "a\nb\r\nc".splitlines(), "a\nb".splitlines(True), "a\nb".splitlines(keepends=True), "abc".startswith("b", 1), "abc".startswith(("x", "a")), " a ".strip(), "xax".strip("x"), "aB".swapcase(), "hello world".title(), "abc".translate({97: None, 98: "x", 99: 100})
"abc".translate(str.maketrans("ab", "xy", "c")), "ab".upper(), "7".zfill(3), "-7".zfill(4), "abc".__len__(), "abc".__contains__("b"), "abc".__getitem__(1), "abc".__add__("d"), "abc".__mul__(2), "abc".__rmul__(2), "abc".__eq__("abc"), "abc".__lt__("b")
"abc".__hash__() == hash("abc"), "abc".__mod__(()), "%s".__mod__("a"), list("abc".__iter__()), "abc".__str__(), "abc".__repr__(), "abc".__format__(">5"), str.join("-", "abc"), str.lower("A"), str.__len__("abc"), "{}".format(1), "a".isascii()
"{} {}".format(1, "a"), "{0} {1} {0}".format(1, 2), "{a} {b}".format(a=1, b=2), "{0.name}".format(Named("n")), "{a.name!r:>5}".format(a=Named("n")), "{0[0]} {0[1]}".format([1, 2]), "{d[key]}".format(d={"key": 5}), "{:>{w}}".format("a", w=4), "{:{}}".format("a", 5), "{{}}".format(), "{!r}".format("a"), "{!s:>10}".format(Named("q"))
"{!a}".format("é"), "{:spec}".format(Named("n")), "{}".format(Named("n")), "{}".format([1, Named("z")]), "{:.2f} {:e} {:%} {:g} {:,} {:_} {:x} {:#x} {:b} {:o} {:c} {:+d} {: d} {:05d} {:n}".format(1.5, 1.5, .5, 1.5, 1000, 1000, 255, 255, 5, 8, 97, 5, 5, 5, 5), "{:^10}|{:<5}|{:>5}|{:*^7}".format("a", "b", "c", "d"), "{0!r} {0!s}".format(Named("a")), "{x}".format_map({"x": 1}), "{y}".format_map(Mapping()), "{}".format(None), "{}".format(True), "{:d}".format(True)
"{}".format(int), "{:.3}".format("abcdef"), "{:.1f}".format(2), "{:10}|".format(3), "{a}{a}".format(**{"a": 1}), "{}-{}".format(*[1, 2]), "{0.real}".format(3), "{:>8}".format(Indexable(3).n), "{[a]}".format({"a": 1})
f"{1!r:>5}", f"{3.14159:.{2}f}", f"{'a':>{5}}", f"{1}{2}", f"{{}}", f"{None}", f"{True:d}", f"{[1, Named('a')]}", f"{ {'a': 1}['a'] }", f"{1 + 2 = }", f"{'x' = !s}", f"{Named('n')=}"
f"{x.shape[0]}", f"{x.shape}", f"{x.dtype} {x.device}", f"{tuple(x.shape)}", f"{x.ndim:>4}", f"{1000000:,}", f"{255:#x}", f"{-5:+}", f"{1e10:g}", f"{0.5:%}", f"{'abc':.2}", f"{10:b}"
f"{1+2j}", f"{b'a'}", f"{int}", f"{range(3)}", f"{(1, 'a')}", f"{frozenset([1])}", f"{len([1])}", f'{"a" if x.ndim else "b"}', f"{Named('n')!r:>12}", f"{Named('n'):>{3}}", f"{...}", f"{print.__name__}"
f"{x.shape!r}", f"{slice(1)}", f"{Named}"[:10], f"{1:{'>'}{4}}"
"%d" % 3, "%5d|%-5d|%05d|%+d|% d" % (1, 2, 3, 4, 5), "%s" % "a", "%r" % "a", "%a" % "é", "%s %s" % (1, 2), "%s" % (1,), "%s" % [1, 2], "%s" % None, "%s" % ((1, 2),), "%(a)s %(b)d" % {"a": 1, "b": 2}, "%%" % ()
"%c" % 97, "%c" % "a", "%x %X %o %#x" % (255, 255, 8, 255), "%e %E %f %g %G" % (1.5, 1.5, 1.5, 1.5, 1.5), "%.2f" % 1.234, "%*d" % (5, 3), "%-*d|" % (5, 3), "%.*f" % (2, 1.234), "%s" % Named("n"), "%r" % Named("n"), "%10s|" % Named("n"), "%.3s" % "abcdef"
"%i" % 3.7, "%u" % 3, "%s" % {"a": 1}, "%(a)s" % Mapping(), "%s" % True, "%d" % True, "%5.1f|" % 3.14159, "%s and %s" % ("a", Named("b")), "%d%%" % 50, "%ld" % 3, "%s" % x.shape, "%s" % (tuple(x.shape),)
"%d items" % len([1, 2]), "%s" % int, "%r" % [Named("a")], "%s" % Iterable
str(3), str(), str("a"), str(b"a", "ascii"), str(b"\xff", "ascii", "replace"), str(b"a", encoding="utf8"), str(object=3), str([Named("a")]), str(Named("a")), str(Ellipsis), str(NotImplemented), str(1e100)
str(-0.0), str(float("nan")), str(1j), str(range(2)), str(type(x)), str(len), str(Named)[:8], str(x.dtype), str(x.device), str(x.shape), str(torch.float32), repr(torch.float32)
repr(x.shape), repr(x.device), repr("a\n'\""), repr("é"), ascii("é\n"), repr(b"\x00"), repr(1.0), repr([]), repr(()), repr((1,)), repr({}), repr(set())
repr({1}), repr({1: (2,)}), repr(None), repr(Named("a")), repr([[1], (2, [3])]), repr({"a": [Named("b")]}), repr(type), repr(frozenset()), repr(ValueError("a")), repr(deque([1])), repr(defaultdict(list)), repr(Counter("aab"))
repr(OrderedDict([(1, 2)])), repr(ChainMap({1: 2})), repr(UserList([1])), repr(UserDict(a=1)), repr(Mapping(a=1)), repr(iter), repr(Ellipsis), str(memoryview)
"a" + "b", "a" * 0, "a" * -1, 3 * "ab", "a" "b", "abc"[0], "abc"[-1], "abc"[1:], "abc"[::-1], "abc"[::2], "abc"[5:], "b" in "abc"
"" in "", "z" not in "abc", "a" < "b", "a" <= "a", "b" > "a", "a" == "a", "a" != 1, "a" is "a", len("é"), list("abc"), tuple("ab"), set("aab") == {"a", "b"}
sorted("bca"), "".join(sorted("bca")), max("abc"), min("abc"), [c.upper() for c in "abc"], dict(zip("ab", "cd")), {c: i for i, c in enumerate("ab")}, "abc".join(["1", "2"]), ",".join(Iterable()), ",".join({"a": 1, "b": 2}), "-".join(reversed("abc")), "".join(map(chr, [97, 98]))
"".join(c for c in "abc" if c != "b"), bool(""), bool("a"), not "", "a" and "b", "" or "c", hash("a") == hash("a"), int("5") + 1, "a".__class__, isinstance("a", str), "abc".__getnewargs__(), "\u00e9".upper()
"ß".upper(), "ǆ".title(), all("abc"), any(""), iter("ab").__next__(), next(iter("ab")), [*"ab"], "a" < "B", "Z" < "a", "%s" % "", "abc".split("b")[0], "x=1;y=2".split(";")[1].split("=")[1]
"a b".split(" ")[::-1], "abc" > "abd" or "yes", "é" == "e\u0301", str.__add__("a", "b"), "abc".replace("", "-"), "tEST".capitalize(), type("a") is str, "ab" "cd".upper()
bytes(Bytes()), format(3, "5d"), format("a", "^5"), format(1.5), format(1.5, ""), format(Named("a"), "q"), format(True, ""), format(None), format([1]), format(255, "#06x"), format(1234567.891, ",.2f"), format(1e-7)
format(1+1j, ".1f"), format(0.1, ".20f"), format("abc", ".2s"), format(3, "e"), format(10**30, ","), format(-3, "=5"), format(3, "<5"), format(True, "5"), format(1.0, "g"), format(float("inf")), format(x.shape[0], "03d")
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_strings_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines(r"""
"abc".index("z")
"abc".rindex("z")
"abc".center("a")
"abc".center(5, "ab")
"abc".count(1)
"abc".split("")
"abc".split(1)
"abc".partition("")
"abc".replace("a")
"abc".replace("a", 1)
"abc".join([1, 2])
"abc".join(["a", None])
"abc".join(None)
"abc".join()
"abc".startswith(1)
"abc".strip(1)
"é".encode("ascii")
"abc".zfill("a")
"abc".ljust()
"abc".format_map()
"abc".translate()
"abc".expandtabs("a")
"abc".upper(1)
"abc".find()
str.upper(1)
str.upper()
str.join("a")
str.maketrans("a", "bc")
str.maketrans("a")
"abc" + 1
"abc" + None
"abc" * "a"
"abc" * 1.5
"abc" - "a"
"abc" / 2
"abc"[3]
"abc"[None]
"abc"[0] = "x"
del "abc"[0]
1 in "abc"
None in "abc"
"a" < 1
"{}".format()
"{0}{}".format(1, 2)
"{a}".format()
"{a}".format(b=1)
"{".format(1)
"}".format(1)
"{!z}".format(1)
"{:q}".format(1)
"{:d}".format("a")
"{:d}".format(1.5)
"{:.2d}".format(1)
"{0.nothing}".format(1)
"{0[5]}".format([1])
"{0[a]}".format({})
"{x}".format_map({})
"{:>{w}}".format(1)
"{0.name".format(Named("n"))
format(1, "q")
format("a", "d")
format("a", "=5")
format(1.5, "d")
format([], "5")
format(None, "5")
format(Plain(), "5")
format(1, 2)
format()
format(BadFormat())
f"{BadFormat()}"
f"{[]:5}"
f"{None:>5}"
f"{'a':d}"
f"{1:z}"
f"{undefined_name}"
str(Bad())
repr(Bad())
f"{Bad()!r}"
str(Raises())
f"{Raises()}"
"%s" % Raises()
"%d" % "a"
"%d" % None
"%d" % [1]
"%x" % 1.5
"%x" % "a"
"%f" % "a"
"%c" % "ab"
"%c" % 1.5
"%c" % -1
"%s %s" % 1
"%s %s" % (1,)
"%s" % (1, 2)
"%s" % ()
"a" % 1
"a" % (1,)
"%(a)s" % 1
"%(a)s" % {}
"%(a)s" % (1,)
"%q" % 1
"%" % 1
"abc%" % ()
"%(a" % {"a": 1}
"%*d" % ("a", 1)
"%5" % 1
"%d" % Named("a")
"%f" % Named("a")
"%x" % Named("a")
str(1, "ascii")
str("a", "ascii")
str(b"\xff", "ascii")
str(1, 2, 3, 4)
str(foo=1)
ascii()
repr()
repr(1, 2)
"abc".nothing()
"abc".upper = 1
ord("")
int("a b")
len(1)
len(None)
iter(1)
next(1)
next("a")
next(iter(""))
list(1)
sorted(["a", 1])
sorted([1, "a"])
max(["a", 1])
sum(["a", "b"])
"a".join(1 for _ in [1])
"abc".splitlines(keepends="a", foo=1)
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_strings_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


Pair = namedtuple("Pair", "a b")


class OnlyRepr:
    def __repr__(self):
        return "OnlyRepr()"


class Failure(ValueError):
    def __init__(self, code):
        super().__init__("failed", code)
        self.code = code


class BadText:
    def __str__(self):
        return 3


TEXT_NAMESPACE = dict(globals())

TEXT_EXPRESSIONS = lines("""
str(1), str(1.5), str("a"), str(None), str(True), str([1, "a"]), str((1,)), str({"a": 1}), str({1}), str(), str(b"ab", "utf8"), str(object="x"), str(int)
repr("a'b"), repr([1, [2, {"k": (3,)}]]), repr({}), repr(set()), repr(frozenset([1])), repr(range(3)), repr(slice(1, 2)), repr(1e100), repr(()), repr(int), repr(len), repr(...)
ascii("é"), ascii([1, "ü"]), format(3.14159, ".2f"), format("a", ">3"), format(5), format(Named("n"), "x"), format([1, 2]), format(None, "")
str(Named("n")), repr(Named("n")), [Named("a")], str([Named("a")]), repr({Named("k").name: Named("v")}), str(OnlyRepr()), f"{OnlyRepr()}", repr((OnlyRepr(),)), str(Pair(1, Named("q")))
f"{1}{'a'}{2.5:.1f}{'r'!r}{Named('n')!s}{Named('n')!r}{Named('n')}{Named('n'):spec}{'é'!a}", f"{[1, 2]}", f"{3:{'>'}{5}}", f"{x.shape}", f"{x.dtype}", f"{x.shape[0]:03d}"
"%d and %s" % (3, "a"), "%(k)r" % {"k": 1}, "%5.2f" % 3.14159, "{} {1}".replace("1", "") .format(1, 2), "{a}".format(a=5), "{0[1]}".format([1, 2]), "{:>4}".format("a")
",".join(["a", "b"]), ",".join(str(i) for i in range(3)), "".join(()), "-".join({"a": 1}), "".join(map(str, [1, 2]))
"a,b".split(","), " a ".strip(), "abc".upper(), "abc".startswith(("a", "b")), "abc".find("c"), "abcabc".replace("b", "x"), "a-b".partition("-"), "abc".encode(), b"abc".decode(), "abc".title(), "1".zfill(3), "abc".isalpha(), "aXb".swapcase(), "abc".index("b"), "a\\nb".splitlines(), "abc".endswith("c"), "abc".rfind("a")
"abc"[1], "abc"[::-1], "b" in "abc", "a" + "b", "a" * 3, "a" < "b", len("abc"), list("abc"), [c for c in "ab"], max("abc"), "abc".count("a"), "abc".translate({97: "z"}), str.upper("a"), "ab".__len__(), "a".__add__("b"), str.maketrans("a", "b")
(5).bit_length(), (1.5).is_integer(), (2.5).as_integer_ratio(), int.from_bytes(b"a", "big"), float.fromhex("0x1p3"), (1 + 2j).conjugate(), (255).to_bytes(2, "big"), (3).real, (1.5).hex(), bytes.fromhex("ff"), (7).__add__(3), (7).numerator
str(ValueError("a")), repr(ValueError("a", 1)), str(ValueError()), str(KeyError("k")), str(Failure(3)), repr(Failure(3)), Failure(3).args, str(ValueError("a", "b"))
repr(OrderedDict(a=1)), repr(OrderedDict()), repr(defaultdict(int, a=1)), repr(deque([1, 2])), repr(deque([1], 3)), repr(Pair(1, "b")), str({"a": 1}.keys()) == "dict_keys(['a'])"
[l.append(l) or repr(l) for l in [[1]]], [d.update(d=d) or repr(d) for d in [{}]]
""")


@pytest.mark.parametrize("expression", TEXT_EXPRESSIONS)
def test_text_expression_matches_eager(expression):
    check_expression(expression, TEXT_NAMESPACE)


TEXT_ERRORS = lines("""
str(BadText())
",".join([1])
",".join(3)
format(3, "q")
format([], "x")
format(3, 3)
f"{[1]:x}"
"a" + 1
"%d" % "a"
"{}".format()
"abc".index("z")
"abc".nothing
int.from_bytes()
"a".join()
b"a".decode(3)
str(3, "utf8")
"abc"[5]
""")


@pytest.mark.parametrize("expression", TEXT_ERRORS)
def test_text_error_matches_eager(expression):
    check_error(expression, TEXT_NAMESPACE)
