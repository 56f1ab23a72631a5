# SPDX-License-Identifier: BSD-3-Clause
"""Strings while tracing: str(), repr(), format(), and str's methods."""
# ruff: noqa: F401  (the programs in the tables use the names)

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from support.expressions import check_error, check_expression, lines

Pair = namedtuple("Pair", "a b")


class Named:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "str of " + self.name

    def __repr__(self):
        return f"Named({self.name!r})"

    def __format__(self, spec):
        return f"{self.name}:{spec}"


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


NAMESPACE = dict(globals())

EXPRESSIONS = lines("""
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


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_text_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines("""
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


@pytest.mark.parametrize("expression", ERRORS)
def test_text_error_matches_eager(expression):
    check_error(expression, NAMESPACE)
