# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over what the standard library makes: dataclasses, enums,
named tuples, partials, caches, context managers, copies, texts and patterns.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import operator
import random
import re
import string
import typing
import weakref
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import cleaned, named, told
from tests.fuzz.support.writing import Hole, caught, indented


@dataclasses.dataclass
class Plain:
    """Mutable, with defaults of both kinds."""

    a: Any = 1
    b: Any = dataclasses.field(default_factory=list, compare=False)
    c: Any = dataclasses.field(default=3, repr=False, kw_only=True)


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    """Hashable and ordered."""

    a: Any
    b: Any = 2
    kind: typing.ClassVar[str] = "frozen"


@dataclasses.dataclass(slots=True)
class Slotted:
    """No dictionary; computes one field."""

    a: Any
    total: Any = dataclasses.field(init=False)
    seed: dataclasses.InitVar[int] = 1

    def __post_init__(self, seed: int) -> None:
        self.total = (self.a, seed)


@dataclasses.dataclass(eq=False)
class Child(Plain):
    """Derived, compared by identity."""

    d: Any = None


class Point(typing.NamedTuple):
    """A named tuple with a method."""

    x: Any
    y: Any = 0

    def flipped(self) -> Any:
        """The other way round."""
        return self._replace(x=self.y, y=self.x)


Pair = collections.namedtuple("Pair", "left right", defaults=[None])


class Colour(enum.Enum):
    """One alias."""

    RED = 1
    BLUE = "b"
    CRIMSON = 1

    @property
    def shade(self) -> str:
        """Computed."""
        return f"{self.name.lower()}!"


class Level(enum.IntEnum):
    """Numbers."""

    LOW = 1
    HIGH = 5


class Mode(enum.Flag):
    """Combinable."""

    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


class Word(str, enum.Enum):
    """Texts."""

    YES = "yes"
    NO = "no"


@functools.total_ordering
class Version:
    """Compared by one method."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Version):
            return NotImplemented
        return self.number == other.number

    def __lt__(self, other: Any) -> Any:
        if not isinstance(other, Version):
            return NotImplemented
        return self.number < other.number

    def __repr__(self) -> str:
        return f"Version({self.number})"

    @functools.cached_property
    def doubled(self) -> int:
        """Computed once."""
        return self.number * 2

    @functools.singledispatchmethod
    def told(self, value: Any) -> str:
        """By the class of the argument."""
        return f"some {type(value).__name__}"

    @told.register
    def _(self, value: int) -> str:
        return f"int {value}"

    bound = functools.partialmethod(told, 5)


@functools.singledispatch
def dispatch(value: Any) -> str:
    """By the class of the argument."""
    return "any"


@dispatch.register
def _(value: int | float) -> str:
    return f"number {value}"


@dispatch.register(list)
def _(value: Any) -> str:
    return f"list of {len(value)}"


@functools.lru_cache(maxsize=4)
def cached(a: Any, b: Any = 0) -> Any:
    """Remembered."""
    return (a, b)


@functools.lru_cache(maxsize=3)
def counted(a: Any, b: Any = 0) -> Any:
    """Of numbers, so that the cache hears of each call."""
    return (a, b) if a else counted(b or 1)


def add(a: Any, b: Any = 10, *rest: Any, scale: Any = 1, **more: Any) -> Any:
    """All kinds of parameters."""
    return (a + b) * scale, rest, sorted(more)


@contextlib.contextmanager
def noted(notes: list[Any], name: Any) -> Any:
    """Says when it is entered and left."""
    notes.append(("in", name))
    try:
        yield name
    except KeyError as error:
        notes.append(("swallowed", str(error)))
    finally:
        notes.append(("out", name))


MADE = {
    "o": ["Plain({v})", "Plain({v}, b=[{v}])", "Plain(b={v}, c={n})",
          "Frozen({v})", "Frozen({n}, {n})", "Slotted({v})",
          "Slotted({n}, seed={n})", "Child({v}, d={v})",
          "dataclasses.replace({o}, a={v})", "copy.copy({o})",
          "copy.deepcopy({o})"],
    "p": ["Point({v})", "Point({n}, {v})", "Pair({v})", "Pair({v}, right={v})",
          "Point._make([{v}, {v}])", "{p}._replace({f}={v})",
          "copy.copy({p})"],
    "e": ["Colour.RED", "Colour('b')", "Colour['CRIMSON']", "Level.HIGH",
          "Level({n})", "Mode.READ", "(Mode.READ | Mode.RUN)", "Mode({n})",
          "Word.YES", "Word('no')", "(~Mode.WRITE)", "Mode(0)", "Colour({v})",
          "copy.deepcopy({e})"],
    "r": ["Version({n})", "copy.copy({r})"],
    "g": ["functools.partial(add, {n})", "functools.partial(add, b={n})",
          "functools.partial({g}, scale={n})", "add", "cached",
          "functools.partial(Plain, c={n})", "dispatch", "{r}.told",
          "{r}.bound", "operator.attrgetter({q})", "operator.itemgetter({n})",
          "operator.methodcaller('count', {v})", "functools.wraps(add)(lambda *a: a)"],
    "v": ["{n}", "{s}", "x", "[{n}, {s}]", "({n},)", "None", "{{{s}: {n}}}",
          "{o}", "{e}", "{r}", "{p}", "2.5", "True"],
    "n": ["0", "1", "2", "5", "7", "n", "-1"],
    "s": ["'b'", "'red Fox 12'", "'a,b;c'", "'yes'", "f'{{{n}}}'", "str({n})",
          "'%s' % ({v},)", "format({n}, '03d')", "'x=1, y=22'"],
    "q": ["'a'", "'b'", "'x'", "'missing'", "'name'", "'__class__'"],
    "f": ["x", "y", "left", "right"],
    "t": [r"'(\\w+)=(\\d+)'", r"'[aeiou]'", r"'\\s+'", "'(?P<k>b)|c'", "','"],
}  # fmt: skip
LOOKS = [
    "{o} == {o}", "{o} < {o}", "repr({o})", "hash({o}) is None", "{o}.{a}",
    "dataclasses.asdict({o})", "dataclasses.astuple({o})",
    "[f.name for f in dataclasses.fields({o})]", "{o}.__dict__",
    "getattr({o}, {q}, 'none')", "dataclasses.is_dataclass({v})",
    "{o} in [{o}, {o}]", "{o} is {o}", "type({o}).__match_args__",
    "{p} == {p}", "{p}[0]", "{p}._asdict()", "{p}._fields", "{p}.{f}",
    "{p} + (1,)", "len({p})", "{p}.flipped()", "[*{p}]", "repr({p})",
    "{p} < {p}", "{p}.index({v})", "type({p})._field_defaults",
    "{e}.name", "{e}.value", "{e} is {e}", "{e} == {v}", "repr({e})",
    "str({e})", "{e} in {e}", "{e} | {e}", "{e} & {e}", "{e} ^ {e}",
    "[*type({e})]", "type({e}).__members__.keys()", "{e} + 1", "{e}.shade",
    "f'{{e}} {{e!r:>12}} {{o}}'", "bool({e})", "len(type({e}))", "hash({e}) != 0",
    "{e} < {e}", "isinstance({e}, (int, str))", "[*{e}]", "{e}.upper()",
    "{r} < {r}", "{r} >= {r}", "{r}.doubled", "{r}.told({v})", "{r}.bound()",
    "max({r}, {r})", "sorted([{r}, {r}, {r}])", "{r} == {v}", "vars({r})",
    "{g}({v})", "{g}({n}, {n})", "{g}({n}, {n}, {v}, k={v})", "{g}()",
    "{g}({v}, scale={n})", "{g}.args", "{g}.keywords", "{g}.func.__name__",
    "inspect.signature({g})", "{g}.__name__", "dispatch({v})", "cached({v})",
    "counted({n})", "counted({n}, b={n})", "counted.cache_info()",
    "cached({n}, {n})", "dispatch.dispatch(int)({n})",
    "functools.reduce({g}, [{n}, {n}, {n}])", "list(map({g}, [{v}, {v}]))",
    "sorted([{n}, {n}, {n}], key=functools.cmp_to_key(lambda a, b: b - a))",
    "re.findall({t}, {s})", "re.sub({t}, '-', {s})", "re.split({t}, {s})",
    "re.match({t}, {s})", "re.compile({t}).search({s}).groups()",
    "re.search({t}, {s}).group(0)", "re.fullmatch({t}, {s}) is None",
    "[m.span() for m in re.finditer({t}, {s})]", "re.escape({s})",
    "re.sub({t}, lambda m: m.group(0).upper(), {s})",
    "string.Template('$a-${{b}}').safe_substitute(a={v})",
    "'{{:>{{}}}}|{{!r}}'.format({s}, {n} + 4, {v})",
    "'{{0}}{{a.a}}'.format({n}, a={o})", "'{{x[0]}}'.format(x={p})",
    "'%(k)s %(k)r' % {{'k': {v}}}", "'%-6s|%5.1f' % ({s}, {n})",
    "f'{{{n}:>{{{n} + 3}}}}'", "f'{{p!s:.4}} {{n=}}'", "f'{{{n} / 3:.3e}}'",
    "format({v}, '')", "format({v}, '>12')", "{s}.split({s})",
    "{s}.partition(' ')", "{s}.title().swapcase()", "{s}.translate({{98: 'B'}})",
    "{s}.encode().hex()", "{s}.join([{s}, {s}])", "{s}.replace({s}, '.')",
    "typing.get_type_hints(Frozen)['a']", "typing.cast(int, {v})",
    "copy.deepcopy([{o}, {o}])", "copy.copy({{'k': {v}}})",
    "(lambda a, b: a is b)(*copy.deepcopy([{v}] * 2))",
    "weakref.ref({r})() is None", "weakref.proxy(o).{a}",
    "isinstance({v}, (Plain, Point, enum.Enum))", "callable({v})",
    "collections.ChainMap({{'a': {n}}}, {{'b': {v}}})['b']",
    "collections.Counter({s}).most_common(2)", "operator.eq({v}, {v})",
    "[k for k, _ in itertools.groupby([{v}, {v}, {n}], key=dispatch)]",
    "match_of({v})", "match_of({o})", "match_of({p})", "match_of({e})",
]  # fmt: skip
CHANGES = [
    "{o}.{a} = {v}", "{o}.{a} = {v}", "setattr({o}, {q}, {v})", "del {o}.{a}",
    "{o}.b.append({v})", "{p}.x = {v}", "{r}.number = {n}", "{e}.extra = {v}",
    "x = x + 1", "n = {n}", "magneto.graph_break()", "magneto.graph_break()",
    "object.__setattr__({o}, 'a', {v})", "cached.cache_clear()",
    "counted.cache_clear()",
    "{r}.__dict__.pop('doubled', None)", "n += 1", "{e}.name = 'z'",
]  # fmt: skip


def match_of(value: Any) -> Any:
    """By the form of a value."""
    match value:
        case Plain(a=a, b=[first, *_]):
            return "plain", a, first
        case Plain(a) | Frozen(a, b=2):
            return "a", a
        case Point(x, y=0) | Pair(x, None):
            return "short", x
        case Colour.RED | Level.LOW | Mode.READ:
            return "member"
        case (a, b):
            return "two", a, b
        case {"b": found, **others}:
            return "mapping", found, others
        case str() | int():
            return "simple"
    return None


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.depth = 0

    def program(self) -> str:
        """A function of a tensor, a number, some objects, and notes."""
        lines = ["def program(x, n, o, p, e, r, g, notes):"]
        for _ in range(self.choose.randint(3, 9)):
            lines += caught(self.statement(), "told(error)")
        lines.append("    return x, n, o, p, e, r, g")
        return "\n".join(lines)

    def statement(self) -> list[str]:
        """The lines of one."""
        kind = self.choose.random()
        if kind < 0.25:
            name = self.choose.choice("opergg")
            return [f"{name} = {self.made(name)}"]
        if kind < 0.4:
            return [self.filled(self.choose.choice(CHANGES))]
        look = f"notes.append({self.filled(self.choose.choice(LOOKS))})"
        if kind < 0.85:
            return [look]
        around = self.choose.choice(
            [
                "with noted(notes, {n}):",
                "with contextlib.suppress(TypeError, AttributeError):",
                "with contextlib.ExitStack() as stack:",
                "with noted(notes, {s}) as name, contextlib.nullcontext(1):",
                "for i, v in enumerate([{v}, {v}]):",
                "if {e}:",
                "if isinstance({v}, (int, Plain, str)):",
            ]
        )
        body = self.statement()
        if "stack" in around:
            body.insert(0, "stack.enter_context(noted(notes, 'deep'))")
            body.append("stack.callback(notes.append, 'called')")
        return [self.filled(around), *indented(body), look]

    def filled(self, template: str) -> str:
        """With something in each hole."""
        holes = {
            name: Hole(functools.partial(self.hole, name)) for name in MADE
        }
        return template.format(a=self.choose.choice("abcd"), **holes)

    def made(self, name: str) -> str:
        """Something of a sort: by its name, or new."""
        rows = MADE[name]
        if self.depth > 2:
            rows = [row for row in rows if "{" not in row] or ["n"]
        self.depth += 1
        made = self.filled(self.choose.choice(rows))
        self.depth -= 1
        return made

    def hole(self, name: str) -> str:
        """Another choice for each hole."""
        is_named = name in "opergn" and self.choose.random() < 0.6
        return name if is_named else self.made(name)


def shown(value: Any, depth: int = 0) -> Any:
    """In words that two runs share."""
    if depth > 6:
        return "..."
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, list | tuple):
        name = type(value).__name__
        return name, [shown(v, depth + 1) for v in value]
    if isinstance(value, dict):
        return {cleaned(repr(k)): shown(v, depth + 1) for k, v in value.items()}
    if isinstance(value, functools.partial):
        return shown([value.args, value.keywords], depth + 1)
    if dataclasses.is_dataclass(value) or isinstance(value, Version):
        names = [*getattr(value, "__dict__", {}), "a", "total"]
        return type(value).__name__, [
            (name, shown(getattr(value, name, None), depth + 1))
            for name in dict.fromkeys(names)
        ]
    try:
        return cleaned(repr(value))
    except AttributeError as error:
        return type(value).__name__, told(error)


GLOBALS = named(
    collections, contextlib, copy, dataclasses, enum, functools, inspect,
    itertools, magneto, operator, re, string, typing, weakref, Plain, Frozen,
    Slotted, Child, Point, Pair, Colour, Level, Mode, Word, Version, dispatch,
    cached, counted, add, noted, match_of, told,
)  # fmt: skip


def result_of(call: Any) -> str:
    """What a call gives, notes and leaves, as text."""
    cached.cache_clear()
    counted.cache_clear()
    notes: list[Any] = []
    objects = Plain([1], [2]), Point(1, [2]), Colour.BLUE, Version(3), add
    result: Any
    try:
        result = call(torch.zeros(1), 2, *objects, notes)
    except Exception as error:
        result = told(error)
    return repr(
        [shown(v) for v in (result, notes, objects, counted.cache_info())]
    )


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
