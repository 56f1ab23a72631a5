# SPDX-License-Identifier: BSD-3-Clause
"""int, float, complex, bool, bytes, range, slice, math and sys."""
# ruff: noqa: F401, F403, F405, E501

import enum
import math
import sys

import pytest
import torch

from magneto.testing import check
from support.expressions import check_error, check_expression, lines


def changed(container, *calls):
    return [getattr(container, name)(*args) for name, *args in calls], container


class Indexable:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


class Intable:
    def __int__(self):
        return 7


class Floatable:
    def __float__(self):
        return 2.5


class MyInt(int):
    def __add__(self, other):
        return "added"

    def __repr__(self):
        return "MyInt"


class MyFloat(float):
    pass


class MyStr(str):
    def shout(self):
        return self.upper() + "!"


class MyDict(dict):
    pass


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


NAMESPACE = dict(globals())

EXPRESSIONS = lines(r"""
math.log(Level.HIGH), math.sqrt(MyInt(4)), math.copysign(MyInt(2), -1), math.gcd(Level.HIGH, 4), math.pow(MyFloat(2.0), Level.HIGH), math.floor(Level.HIGH), math.atan2(MyInt(1), MyFloat(1.0))
97 in b"ab", b"ab" % {}, MyStr("a") + "b", "b" + MyStr("a"), MyStr("ab") % [], "ab" in MyStr("cab"), MyStr("ab") in "cab", MyStr("a") % (1,) if False else 0
(5).bit_length(), (-5).bit_count(), (5).conjugate(), (5).real, (5).imag, (5).numerator, (5).denominator, (5).as_integer_ratio(), (5).to_bytes(2), (-5).to_bytes(2, "little", signed=True), int.from_bytes(b"\x01\x02", "little"), int.from_bytes([1, 2], byteorder="big", signed=True)
(5).__int__(), (5).__index__(), (5).__float__(), (5).__bool__(), (5).__hash__(), (5).__neg__(), (5).__invert__(), (5).__abs__(), (5).__ceil__(), (5).__floor__(), (5).__trunc__(), (5).__round__(-1)
(5).__divmod__(2), (5).__pow__(2), (5).__pow__(2, 3), (5).__rpow__(2), (5).__lshift__(1), (5).__and__(4), (5).__or__(2), (5).__xor__(1), (5).__truediv__(2), (5).__rtruediv__(2), (5).__floordiv__(2), (5).__mod__(3)
(5).__eq__(5), (5).__lt__(6), (5).__ne__("a"), (5).__lt__("a"), (5).__add__("a"), (5).__repr__(), (5).__str__(), (5).__format__("x"), (5).__sizeof__(), (5).__class__, (5).__getattribute__("real")
int("12"), int("ff", 16), int("0b11", 0), int("z", base=36), int(3.9), int(True), int(), int("-1_000"), int(b"12"), int(" 12 "), int(Indexable(4)), int(Intable())
int("٣"), int(1e20), int(MyInt(3)), int(-3.9)
float("1.5"), float("inf"), float("-nan") != 0, float(3), float(), float(True), float(Floatable()), float(Indexable(4)), float(b"1.5"), float(" 1e3 "), float("1_0.5")
(1.5).is_integer(), (1.5).as_integer_ratio(), (1.5).hex(), float.fromhex("0x1.8p0"), (1.5).conjugate(), (1.5).real, (1.5).imag, (1.5).__round__(), (2.567).__round__(1), (1.5).__trunc__(), (1.5).__floor__(), (1.5).__ceil__()
(1.5).__divmod__(1), (1.5).__mod__(1), (1.5).__pow__(2), (1.5).__hash__(), (1.5).__int__(), (1.5).__repr__(), (1.5).__format__(".3f"), (1.5).__eq__(1.5), (1.5).__lt__(2), (1.5).__add__(1), (1.5).__radd__(1), (1.5).__rsub__(1)
(1.5).__rfloordiv__(4), float.__getformat__("double")
complex(1, 2), complex("1+2j"), complex(real=1), complex(imag=2), complex(), complex(1j, 1j), (1+2j).real, (1+2j).imag, (1+2j).conjugate(), abs(3+4j), (1+2j) * 2, (1+2j) ** 2
-(1+2j), (1+2j) == (1+2j), (1+2j).__repr__(), hash(1+2j), bool(0j), complex(Floatable()), complex(1.5), (1+2j).__complex__(), complex(1).__add__(2), 1j - 1, 2 / 1j
bool(1), bool(), bool("a"), bool([]), bool(None), True + 1, True & False, True | 0, True ^ True, ~True, -True, str(True)
repr(False), int(True), True.real, True.bit_length(), hash(True), True == 1, isinstance(True, int), bool.__and__(True, 1), format(True), format(True, "d"), f"{True:>6}", bool(Indexable(0))
7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, -7.5 % 2, divmod(-7, 2), divmod(7.5, 2), 2 ** -1, 2 ** 10, (-8) ** (1/3), pow(2, 10, 7)
pow(2, -1, 7), pow(2, 3), 1 << 70, -1 >> 3, 5 & 3, 5 | 3, 5 ^ 3, ~5, +5, -5, 7 / 2, 1_000
0xff, 0o17, 0b11, 10 ** 20, 0.1 + 0.2, 1e308 * 10, -0.0, 3 == 3.0, 3 < 3.5, 1 < 2 < 3, 3 > 2 > 2, round(2.5)
round(3.5), round(2.675, 2), round(1234, -2), round(-0.5), round(1.5, None), round(number=2.6), round(2.567, ndigits=1), abs(-5), abs(-5.5), sum([1, 2.5]), sum([[1], [2]], []), sum((1, 2), start=10)
min(3, 1), max(1.5, 2), min([3, 1], key=lambda v: -v), max([], default=5), max("b", "a"), hex(255), oct(8), bin(5), hex(-255), chr(97), ord("a"), hex(Indexable(17))
chr(8364), ord(b"a")
math.floor(-2.5), math.ceil(-2.5), math.trunc(-2.7), math.gcd(12, 18, 24), math.lcm(4, 6), math.gcd(), math.perm(5, 2), math.perm(5), math.comb(5, 5), math.isqrt(99), math.cbrt(27), math.exp2(3)
math.expm1(0), math.log1p(0), math.log10(1000), math.log(8, 2), math.log(2 ** 100), math.pow(2, 3), math.fmod(7, 3), math.remainder(7, 4), math.frexp(8.0), math.ldexp(0.5, 4), math.modf(-1.5), math.fabs(-3)
math.copysign(3, -0.0), math.dist((0, 0), (3, 4)), math.hypot(1, 2, 2), math.degrees(math.pi), math.radians(180), math.sin(0), math.cos(0), math.tan(0), math.asin(0), math.acos(1), math.atan(0), math.atan2(0, -1)
math.sinh(0), math.cosh(0), math.tanh(0), math.asinh(0), math.acosh(1), math.atanh(0), math.erf(0), math.erfc(0), math.gamma(5), math.lgamma(3), math.isfinite(1), math.isinf(math.inf)
math.isnan(0.0), math.isclose(1, 1.1, rel_tol=0.2), math.isclose(0, 1e-10, abs_tol=1e-9), math.nextafter(1, 2), math.ulp(1.0), math.tau, math.e, math.nan != math.nan, math.prod([]), math.prod([2, 3], start=4), math.fsum([.1] * 10), math.factorial(0)
math.sumprod if hasattr(math, "sumprod") else 0, math.floor(Floatable().__float__()), math.sqrt(Floatable()), math.gcd(Indexable(6), 4), math.floor(True), math.ceil(10 ** 20), math.fsum(v for v in (1, 2))
range(5), range(1, 5), range(1, 10, 2), range(5, 0, -1), list(range(0)), len(range(10)), range(10)[2], range(10)[-1], range(10)[2:5], range(10)[::-1], 3 in range(5), 3.0 in range(5)
"a" in range(5), range(5).index(3), range(5).count(3), range(5).start, range(5).stop, range(5).step, range(3) == range(3), range(0) == range(1, 1), hash(range(3)) == hash(range(3)), list(reversed(range(3))), range(Indexable(3)), bool(range(0))
sum(range(5)), max(range(5)), tuple(range(3)), [*range(2)], range(10 ** 20)[5], repr(range(1, 5, 2)), range(3).__len__(), range(3).__contains__(1), range(3).__getitem__(1), list(range(3).__iter__()), range(2) != range(3), next(iter(range(3)))
slice(1), slice(1, 2), slice(1, 2, 3), slice(None).start, slice(1, 2).stop, slice(1, 2, 3).step, slice(1, None).indices(5), slice(-1, None, -1).indices(5), slice(1, 2) == slice(1, 2), [1, 2, 3][slice(1, None)], "abc"[slice(2)], (1, 2, 3)[slice(None, None, -1)]
repr(slice(1, None)), slice(1, 2) < slice(1, 3), slice(x, None).start, [1, 2, 3][Indexable(1)], [1, 2, 3][Indexable(0):Indexable(2)], (1, 2)[True], slice(1, 2).__eq__(3), slice(1) != slice(2)
b"abc"[0], b"abc"[1:], b"a" + b"b", b"ab" * 2, b"a" in b"abc", 97 in b"abc", len(b"abc"), list(b"ab"), b"abc".decode(), b"abc".upper(), b"a,b".split(b","), b",".join([b"a", b"b"])
b"abc".hex(), b"abc".hex("-"), bytes(3), bytes([1, 2]), bytes("é", "utf8"), bytes(b"a"), bytes(), bytes.fromhex("ff 00"), b"abc".find(b"c"), b"abc".replace(b"a", b"x"), b"abc".startswith(b"a"), b" a ".strip()
b"%d" % 3, b"abc" == b"abc", b"a" < b"b", repr(b"a'b"), b"abc".count(b"a"), b"a-b".partition(b"-"), b"abc".translate(None, b"a"), b"ab".center(6, b"*"), b"abc".isalpha(), hash(b"a") == hash(b"a"), bytes(range(3)), bytes(v for v in [1, 2])
bytes(Indexable(2)), b"abc".index(98), b"ABC".lower(), b"abc".endswith((b"c", b"d")), b"a".ljust(3), b"ab".zfill(4), b"a\tb".expandtabs(2), b"a\nb".splitlines(), b"abc".removeprefix(b"a"), b"abc".rfind(b"c"), b"abc".rsplit(b"b"), b"abc".title()
str(b"abc"), str(b"abc", "ascii"), bytes.maketrans(b"a", b"b")[97], b"ab".__getitem__(0), b"%s|%r" % (b"a", b"b"), b"%(k)s" % {b"k": b"v"}
MyInt(3) + 1, 1 + MyInt(3), MyInt(3) * 2, repr(MyInt(3)), str(MyInt(3)), f"{MyInt(3)}", MyInt(3) == 3, [1, 2, 3, 4][MyInt(3)], type(MyInt(3) * 2), MyFloat(1.5) + 1, type(MyFloat(1.5)), MyStr("a").shout()
MyStr("a") + "b", type(MyStr("a") + "b"), len(MyStr("abc")), MyStr("a") == "a", {MyStr("a"): 1}["a"], isinstance(MyInt(3), int), MyInt(5).bit_length(), MyInt("12"), hash(MyStr("a")) == hash("a"), "%s" % MyStr("q"), MyStr("a") in "abc", sorted([MyStr("b"), "a"])
-MyInt(3), MyInt(3) < 4, MyStr("abc")[1], MyInt(True)
sys.float_info.max, sys.int_info.bits_per_digit, sys.maxsize, sys.float_info.epsilon, sys.byteorder, sys.maxunicode, sys.intern("a"), sys.implementation.name, sys.hash_info.width, sys.version_info.major, sys.version_info[:2], sys.argv is not None
sys.modules["sys"] is sys, sys.flags.debug
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_numbers_expression_matches_eager(expression):
    check_expression(expression, NAMESPACE)


ERRORS = lines(r"""
math.copysign(MyInt(2), 1j)
math.trunc([x])
math.trunc(MyStr("a"))
[x] in "abc"
slice(1) in "abc"
b"a" in MyStr("abc")
int in b"abc"
[x] in b"abc"
"a" + [x]
b"a" + [x]
MyStr("a") * [x]
b"a" * [x]
int("a")
int("12", 1)
int([])
int(None)
int("z", 10)
int(1.5, 10)
int(float("nan"))
int(float("inf"))
int("1", "2")
int(x=3)
float("a")
float([])
float(None)
float(1, 2)
float(10 ** 400)
complex("a")
complex("1", 2)
complex([])
complex(1, "a")
1 / 0
1 // 0
1 % 0
1.0 / 0
1.0 // 0.0
divmod(1, 0)
0 ** -1
pow(2, -1, 4)
pow(2, 3, 0)
pow(2.0, 3, 5)
1 << -1
1 << "a"
1 + None
1 + "a"
"a" + 1
None + 1
1 < "a"
1j < 2j
-"a"
+None
~1.5
abs("a")
round("a")
round(1.5, "a")
round(1.5, 1.5)
sum(["a"])
sum([1], "a")
sum(["a"], "")
sum(1)
min()
min([])
min(1)
min(1, "a")
max([1, "a"])
max(1, 2, default=3)
hex(1.5)
hex("a")
bin(None)
oct([])
chr(-1)
chr(0x110000)
chr("a")
ord("ab")
ord("")
ord(1)
(5).to_bytes(0, "big")
(300).to_bytes(1, "big")
(-1).to_bytes(1, "big")
(5).to_bytes(1, "middle")
int.from_bytes([300], "big")
int.from_bytes("a", "big")
(5).nothing
(5).real = 3
(1.5).as_integer_ratio(1)
float("inf").as_integer_ratio()
float("nan").as_integer_ratio()
float.fromhex("zz")
math.sqrt(-1)
math.sqrt("a")
math.sqrt(None)
math.log(-1)
math.log(0)
math.log("a")
math.log(2, 1)
math.factorial(1.5)
math.factorial(-1)
math.gcd(1.5)
math.floor("a")
math.floor(math.inf)
math.ceil(math.nan)
math.exp(1000)
math.pow(0, -1)
math.comb(5, -1)
math.comb(1.5, 2)
math.perm(-1)
math.isqrt(-1)
math.acos(2)
math.fmod(1, 0)
math.dist((1,), (1, 2))
math.prod(3)
math.fsum(["a"])
math.ldexp(1.0, "a")
math.hypot("a")
math.isclose(1, 1, rel_tol=-1)
math.sin()
math.sin(1, 2)
math.nothing
range(1.5)
range("a")
range(1, 2, 0)
range()
range(1, 2, 3, 4)
range(3)[5]
range(3)["a"]
range(3).index(7)
range(3).index("a")
range(3) < range(4)
range(3)[0] = 1
slice()
slice(1, 2).indices(-1)
slice("a").indices(3)
[1, 2]["a":]
[1, 2][1.5]
(1, 2)["a"]
(1, 2)[5]
[1, 2][::0]
hash(slice(1))
"abc"["a"]
"abc"[1.5]
"abc"[::0]
b"abc"[5]
b"abc"["a"]
b"a" + "a"
b"a" < "a"
b"\xff".decode()
bytes(-1)
bytes("a")
bytes([300])
bytes(["a"])
bytes(1.5)
bytes.fromhex("z")
b"abc".index(b"z")
b",".join(["a"])
b"a".split("a")
b"%d" % "a"
b"a" in 3
3 in b"a" + None
300 in b"abc"
"a" in b"abc"
MyInt("a")
MyStr("a").nothing
MyInt(3) + None + 1
MyInt(3) < "a"
sys.nothing
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_numbers_error_matches_eager(expression):
    check_error(expression, NAMESPACE)


BYTES = lines("""
b"a" + bytearray(b"c"), bytearray(b"c") + b"a"
b"ab" + memoryview(b"c")
bytearray(b"a") in b"cab", b"a" in bytearray(b"cab")
b"ab" * MyInt(2), MyInt(2) * b"ab"
b"%s" % bytearray(b"a"), b"ab" % {"a": [1]}, b"ab" % MyDict(a=1)
math.isclose(MyInt(1), 1.0)
""")


@pytest.mark.parametrize("expression", BYTES)
def test_what_may_break_the_graph_matches_eager(expression):
    namespace = dict(NAMESPACE, x=None)
    program = eval(f"lambda x: (x + 1, {expression})", namespace)
    check(program, torch.ones(2))
