# SPDX-License-Identifier: BSD-3-Clause
"""Random expressions over an instance of a class that derives from a built-in
one and has a few special methods of its own. These note that they were called,
and what they answer changes between the calls: whatever C code runs of the
program's must run each time.

    python -m tests.fuzz.specials [--count N] [--seed S]

Exits with 1 if a call differed; it is printed with what it gave.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import operator
import random
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

import magneto
from tests.fuzz.command import finding, is_python, run_many

# What instances are made of, by their base class.
BASES: dict[type, tuple[Any, ...]] = {
    object: (),
    int: (3,),
    float: (2.5,),
    complex: (1j,),
    str: ("ab",),
    bytes: (b"ab",),
    tuple: ((1, 2),),
    frozenset: ((1, 2),),
    list: ([1, 2],),
    dict: ({1: 2},),
    set: ({1, 2},),
}

CALLS: list[str] = []
STATE = [1]
ANSWERS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys("str repr format".split(), lambda: f"text{STATE[0]}"),
    **dict.fromkeys(
        "bool contains eq ne lt le gt ge".split(), lambda: STATE[0] % 2 == 1
    ),
    **dict.fromkeys("iter reversed".split(), lambda: iter([STATE[0]])),
    "float": lambda: float(STATE[0]),
    "complex": lambda: complex(STATE[0]),
    "bytes": lambda: b"x" * STATE[0],
    "hash": lambda: STATE[0] + 7,
    "divmod": lambda: (STATE[0], 1),
    "reduce_ex": lambda: (int, (STATE[0],)),
    **dict.fromkeys(
        "int index len round trunc floor ceil abs neg invert copy deepcopy "
        "add radd sub rsub mul rmul mod rmod pow rpow and rand or ror "
        "iadd imul missing".split(),
        lambda: STATE[0],
    ),
}

EXPRESSIONS = """
str(v) | repr(v) | f"{v}" | f"{v!r:>9}" | "%s" % v | "%r" % (v,) | format(v)
"{}".format(v) | "%d" % v | "%5.1f" % v | "{:{}}".format(1, v) | "%*d" % (v, 3)
int(v) | float(v) | complex(v) | bool(v) | not v | abs(v) | -v | ~v | round(v)
round(v, 1) | divmod(v, 2) | divmod(7, v) | v + 1 | 1 + v | v - 1 | 1 - v
v * 2 | 2 * v | v % 2 | 7 % v | v ** 2 | 2 ** v | v == 3 | 3 == v | v != 3
v < 3 | 3 < v | v >= 1 | v <= v | hash(v) | {v: 1}[v] | len({v, v}) | v in {3}
v in [3] | 3 in [v] | v in (3,) | [3, 4].index(v) | [v].count(3) | max(v, 1)
max([v, 1]) | min(1, v) | sum([v, 1]) | sorted([v, 1]) | math.sqrt(v)
math.floor(v) | math.ceil(v) | math.trunc(v) | math.gcd(v, 6) | math.prod([v])
math.isclose(v, 1) | math.fsum([v]) | range(v) | [1, 2, 3, 4, 5][v]
"abcdef"[v] | (1, 2, 3, 4)[:v] | hex(v) | oct(v) | bin(v) | chr(v) | len(v)
list(v) | tuple(v) | sorted(v) | list(reversed(v)) | 1 in v | "a" in v | v[0]
v[:1] | next(iter(v)) | [*v] | {**v} | list(enumerate(v)) | list(zip(v, v))
list(map(str, v)) | any(v) | all(v) | sum(v) | max(v) | ",".join(v)
",".join([v]) | v.join(["a", "b"]) | "ab".startswith(v) | "xaby".find(v)
"xaby".replace(v, "z") | "xaby".split(v) | v.upper() | v.replace("a", "b")
"a" + v | v + "a" | bytes(v) | bytes([v]) | str(v, "utf8") | v.decode()
json.dumps(v) | json.dumps([v]) | re.match("a", v) and 1 | re.sub("a", "b", v)
re.sub("a", v, "aab") | isinstance(v, int) | copy.copy(v) | copy.deepcopy(v)
list(itertools.repeat(1, v)) | list(itertools.islice([1, 2, 3], v))
list(itertools.accumulate([v, 1])) | list(itertools.chain(v))
functools.reduce(operator.add, [v, 1]) | operator.index(v) | operator.truth(v)
operator.contains(v, 1) | operator.length_hint(v) | [0] * v | "a" * v
slice(1, v).indices(5) | int("3", v) | (5).to_bytes(v, "big") | pow(v, 2, 5)
"x".center(v) | "x".zfill(v) | type(v)(v) | v or 5 | v and 5 | 5 if v else 6
[i for i in v] | v.index(1) | v.count(1) | v.get(1) | list(v.keys())
list(v.items()) | v | {1: 2} | v & {1} | v.union([5]) | v.copy() | [5] + v
{1, 2}.union(v) | (5,) + v | x + v | v + x | x * v | v * x | x - v | x == v
v == x | torch.full((2,), v) | torch.where(x > 0, x, v)
"""
# A line end separates, too; `v | {1: 2}` is one of them.
TABLE = [
    each.strip()
    for each in re.split(r" \| (?!\{1: 2\})|\n", EXPRESSIONS)
    if each.strip()
]
NAMES = {
    module.__name__: module
    for module in (copy, functools, itertools, json, math, operator, re, torch)
}

# Odder than any program: an __index__ of what C code knows to be no number, the
# length that C code asks of a set to show it, or of what is reversed, and a
# __trunc__ behind "%d".
KNOWN = (
    r"Derived\((float|str|bytes|complex)\) with .*__index__",
    r"Derived\((frozenset|set)\) with .*__len__",
    r"__len__.*reversed",
    r"__trunc__.*%",
)


def method(name: str) -> Callable[..., Any]:
    """A special method that notes its call."""

    def special(self: Any, *rest: Any) -> Any:
        CALLS.append(name)
        if name == "getitem":
            if rest[0] not in (0, 1):
                raise IndexError("no such item")
            return STATE[0]
        return ANSWERS[name]()

    return special


def derived(choose: random.Random) -> tuple[Any, str]:
    """An instance, and how its class reads."""
    base = choose.choice(list(BASES))
    names = choose.sample([*ANSWERS, "getitem"], choose.randint(1, 3))
    namespace = {f"__{name}__": method(name) for name in names}
    if "eq" in names and "hash" not in names:
        namespace["__hash__"] = None
    cls = type("Derived", (base,), namespace)
    told = f"Derived({base.__name__}) with {', '.join(namespace)}"
    return cls(*BASES[base]), told


def shown(value: Any) -> str:
    """As text, without code of the class's."""
    if type(value).__name__ == "Derived":
        return "the instance or one like it"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}{[shown(each) for each in value]}"
    return re.sub(r"0x[0-9a-f]{6,}", "", repr(value))


def runs(call: Callable[..., Any], given: Any) -> list[str]:
    """What three calls give and which methods they called."""
    found = []
    for STATE[0] in (1, 2, 2):
        CALLS.clear()
        try:
            result = shown(call(torch.ones(3), given))
        except Exception as error:
            result = f"raised {error!r}"
        found.append(f"{result} {CALLS}")
    return found


def try_seed(seed: int) -> str:
    """What differs for the expression of a seed; empty if nothing."""
    choose = random.Random(seed)
    given, told = derived(choose)
    expression = choose.choice(TABLE)
    source = (
        f"def program(x, v):\n    try:\n"
        f"        return x + 1, ({expression})\n"
        f"    except Exception as error:\n"
        f"        return x + 2, type(error).__name__, str(error)\n"
    )
    if not is_python(source):
        return ""
    namespace: dict[str, Any] = dict(NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "<program>", "exec"), namespace)
        program = namespace["program"]
        expected = runs(program, given)
        got = runs(magneto.compile(program, backend="eager"), given)
        magneto.reset()
    if expected == got:
        return ""
    differs = "\n".join([told, expression, *expected, *got])
    flat = differs.replace("\n", " ")
    if any(re.search(known, flat) for known in KNOWN):
        return ""
    return finding(seed, source, differs)


if __name__ == "__main__":
    sys.exit(run_many(__doc__, try_seed))
