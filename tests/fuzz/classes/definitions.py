# SPDX-License-Identifier: BSD-3-Clause
"""Random classes with special methods, descriptors, slots and metaclasses, and
programs that do to their instances whatever can be done.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import operator
import random
import types
from collections.abc import Iterator
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import NoEnd, by_calls, limited, of_sources
from tests.fuzz.support.showing import cleaned, named, told
from tests.fuzz.support.writing import caught, indented

NAMES = ["p", "q", "r", "extra"]  # of attributes

# What a class may have: its lines, of which {n} is a number of its own.
MEMBERS = {
    "p": ["p = {n}"],
    "q": ["q = [{n}]"],
    "property": [
        "@property",
        "def p(self):",
        "    noted('get p', {n})",
        "    return {n}",
        "@p.setter",
        "def p(self, value):",
        "    noted('set p', value)",
        "    self.q = value",
    ],
    "read only": [
        "@property",
        "def r(self):",
        "    return self.q",
    ],
    "cached": [
        "@functools.cached_property",
        "def r(self):",
        "    noted('once', {n})",
        "    return {n}",
    ],
    "class method": [
        "@classmethod",
        "def m(cls, value=1):",
        "    return cls.__name__, value, {n}",
    ],
    "static method": ["@staticmethod", "def m(value=1):", "    return value"],
    "method": [
        "def m(self, value=1):",
        "    noted('m', value)",
        "    self.q = value",
        "    return self, {n}",
    ],
    "super method": [
        "def m(self, value=1):",
        "    noted('super m', {n})",
        "    return super().m(value)",
    ],
    "data descriptor": ["p = Data({n})"],
    "other descriptor": ["q = Getter({n})"],
    "slots": ["__slots__ = ('q', 'extra')"],
    "annotated": ["r: int = {n}", "extra: 'list[int]'"],
    "__init__": [
        "def __init__(self, *args):",
        "    noted('init', len(args))",
        "    self.q = args",
    ],
    "super __init__": [
        "def __init__(self, *args):",
        "    super().__init__(*args)",
        "    self.r = {n}",
    ],
    "__new__": [
        "def __new__(cls, *args):",
        "    noted('new', cls.__name__)",
        "    return super().__new__(cls)",
    ],
    "__new__ other": [
        "def __new__(cls, *args):",
        "    return super().__new__(cls) if args else {n}",
    ],
    "__getattr__": [
        "def __getattr__(self, name):",
        "    noted('getattr', name)",
        "    if name == 'extra':",
        "        return {n}",
        "    raise AttributeError(name)",
    ],
    "__getattribute__": [
        "def __getattribute__(self, name):",
        "    noted('getattribute', name)",
        "    return super().__getattribute__(name)",
    ],
    "__setattr__": [
        "def __setattr__(self, name, value):",
        "    noted('setattr', name)",
        "    super().__setattr__(name, value)",
    ],
    "__delattr__": [
        "def __delattr__(self, name):",
        "    noted('delattr', name)",
        "    object.__delattr__(self, name)",
    ],
    "__eq__": [
        "def __eq__(self, other):",
        "    noted('eq', {n})",
        "    return NotImplemented if isinstance(other, int) else True",
    ],
    "__hash__": ["def __hash__(self):", "    return {n}"],
    "__lt__": [
        "def __lt__(self, other):",
        "    noted('lt', {n})",
        "    return True",
    ],
    "__bool__": [
        "def __bool__(self):",
        "    noted('bool', {n})",
        "    return {n} % 2 == 0",
    ],
    "__len__": [
        "def __len__(self):",
        "    noted('len', {n})",
        "    return {n} % 4",
    ],
    "__getitem__": [
        "def __getitem__(self, index):",
        "    noted('item', index)",
        "    if index == 2:",
        "        raise IndexError(index)",
        "    return index, {n}",
    ],
    "__setitem__": [
        "def __setitem__(self, index, value):",
        "    noted('set item', index, value)",
    ],
    "__iter__": [
        "def __iter__(self):",
        "    noted('iter', {n})",
        "    yield {n}",
        "    yield {n} + 1",
    ],
    "__contains__": ["def __contains__(self, item):", "    return item"],
    "__call__": [
        "def __call__(self, *args, **kw):",
        "    return len(args), kw, {n}",
    ],
    "__add__": [
        "def __add__(self, other):",
        "    noted('add', {n})",
        "    return NotImplemented if other == 1 else {n}",
    ],
    "__radd__": ["def __radd__(self, other):", "    return 'radd', {n}"],
    "__iadd__": [
        "def __iadd__(self, other):",
        "    noted('iadd', {n})",
        "    self.q = other",
        "    return self",
    ],
    "__neg__": ["def __neg__(self):", "    return {n}"],
    "__index__": ["def __index__(self):", "    return {n} % 3"],
    "__float__": ["def __float__(self):", "    return {n} / 2"],
    "__repr__": ["def __repr__(self):", "    return 'R{n}'"],
    "__str__": ["def __str__(self):", "    return super().__str__()[:3]"],
    "__format__": [
        "def __format__(self, spec):",
        "    return f'{n}{{spec}}'",
    ],
    "__enter__": [
        "def __enter__(self):",
        "    noted('enter', {n})",
        "    return self",
        "def __exit__(self, *args):",
        "    noted('exit', args[0])",
        "    return {n} % 2 == 0",
    ],
    "__init_subclass__": [
        "def __init_subclass__(cls, **kw):",
        "    super().__init_subclass__(**kw)",
        "    cls.r = {n}",
    ],
    "__class_getitem__": [
        "def __class_getitem__(cls, item):",
        "    return cls.__name__, item",
    ],
    "__instancecheck__": [
        "def __instancecheck__(cls, other):",
        "    noted('instance', cls.__name__)",
        "    return {n} % 2 == 0",
    ],
    "__copy__": ["def __copy__(self):", "    return {n}"],
    "__match_args__": ["__match_args__ = ('q', 'r')"],
    "__missing__": ["def __missing__(self, key):", "    return key, {n}"],
    "__dir__": ["def __dir__(self):", "    return ['p', 'q']"],
    "__reversed__": ["def __reversed__(self):", "    return iter(({n},))"],
    "__matmul__": ["def __matmul__(self, other):", "    return {n}, other"],
    "__rsub__": ["def __rsub__(self, other):", "    return {n}, other"],
}
BASES = ["object"] * 4 + ["dict", "list", "int", "Base", "Exception"]
METAS = ["", "", "", "", "metaclass=Meta"]

# What a program does: {a} and {b} are values, {c} a class, {k} a name of an
# attribute.
STEPS = [
    "r = {a}.{k}", "r = {a}.{k}", "{a}.{k} = {n}", "del {a}.{k}",
    "r = getattr({a}, '{k}', None)", "r = hasattr({a}, '{k}')",
    "r = {a}.m()", "r = {a}.m({n})", "r = {c}.m({a})", "r = {c}.m",
    "r = {c}()", "r = {c}({n})", "r = {c}({a}, {n})", "r = {c}.{k}",
    "r = {c}[{n}]", "r = type({a})", "r = type({a}).__mro__",
    "r = isinstance({a}, {c})", "r = issubclass(type({a}), {c})",
    "r = {a} == {b}", "r = {a} != {n}", "r = {a} < {b}", "r = {a} >= {b}",
    "r = {a}.__hash__ is None", "r = bool({a})", "r = not {a}", "r = len({a})",
    "r = {a}[{n}]", "{a}[{n}] = 3", "r = {a}[1:2]", "del {a}[{n}]",
    "r = [*{a}]", "r = {n} in {a}", "r = {a}({n}, z=1)", "r = callable({a})",
    "r = {a} + {b}", "r = {a} + {n}", "r = {n} + {a}", "{v} += {n}",
    "r = -{a}", "r = [1, 2, 3][{a}]", "r = float({a})", "r = int({a})",
    "r = cleaned(repr({a}))", "r = cleaned(str({a}))",
    "r = cleaned(f'{{{a}:>4}}')", "r = cleaned(f'{{{a}!r}}')",
    "r = cleaned('%s' % ({a},))", "r = dict(vars({a}))", "r = {a}.__dict__",
    "r = {a}.__class__.__name__", "r = copy.copy({a})", "r = [k for k in dir({a}) if k != '__slotnames__']",
    "r = sorted([{a}, {b}])", "r = {{{a}: 1}}[{b}]", "r = len({{{a}, {b}}})",
    "r = {a} @ {n}", "r = {n} - {a}", "r = [*reversed({a})]",
    "r = list(map({a}, [1]))", "r = {a} is {b}", "r = {a} and {b}",
    "r = super({c}, {a}).{k}", "r = super({c}, {a}).m()", "{v} = r",
    "r = operator.attrgetter('{k}')({a})", "r = {c}.__name__, {c}.__bases__",
    "r = vars({c}).get('{k}')", "setattr({a}, '{k}', [{n}])",
    "r = {a}.__init__({n})", "r = object.__getattribute__({a}, '{k}')",
    "r = {a}.__eq__({b})", "r = types.SimpleNamespace({k}={a}).{k}",
    "r = {a}.__sizeof__ is not None", "r = {a}.__doc__", "{v} = {c}()",
    "r = [k for k in {a}]", "r = max({a}, {b})",
    "x = x + {a}.{k}", "r = x * len({a})", "r = {a}.append(1)",
    "r = {c}.__init_subclass__()", "{a}.__class__ = {c}",
    "r = functools.partial({a}.m, {n})()", "r = {a}.__module__",
    "r = {a}.__annotations__", "r = {c}.__call__({n})", "raise {a}",
    "r = {c}.{k}.__get__({a}, {c})", "r = {c}.__dict__['{k}'].__set__({a}, 1)",
    "r = {c}.__weakref__", "r = {c}.mro()", "r = {c} | int",
    "r = isinstance({a}, {c} | int)", "r = {a}.__reduce_ex__(2)[0].__name__",
    "r = range({a})", "r = 'ab' * {a}", "r = divmod({a}, 2)", "r = abs({a})",
    "r = next(iter({a}))", "a1, *r = {a}", "r = dict({a})", "r = [{a}].index({b})",
    "r = [{a}, {n}].count({b})", "r = ({a},) == ({b},)", "r = any([{a}, {b}])",
    "r = x if {a} else x + 1", "magneto.graph_break()",
]  # fmt: skip
BLOCKS = [
    ["with {a} as r:", "    raise ValueError({n})"],
    ["with {a}:", "    x = x + 1"],
    ["match {a}:", "    case {c}(q={n}):", "        r = 1",
     "    case {c}(q, extra):", "        r = q, extra",
     "    case {{'k': r}}:", "        pass",
     "    case [r, *_]:", "        pass",
     "    case _:", "        r = 2"],
    ["for r in {a}:", "    notes.append(shown(r))"],
    ["while not {a}:", "    break"],
    ["if {a}:", "    r = 1", "elif {b}:", "    r = 2"],
    ["class Local({c}):", "    k = {n}", "r = Local.k, Local.{k}"],
]  # fmt: skip


class Data:
    """A data descriptor that knows its name."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = "?"

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return "class", self.number
        return getattr(instance, self.name, self.number)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance, self.name, ("set", value))


class Getter:
    """A descriptor that instances may shadow."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.number, instance is None, owner.__name__


class Meta(type):
    """A metaclass with attributes and a call of its own."""

    extra = "of Meta"

    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        cls.count = getattr(cls, "count", 0)
        return made

    def __len__(cls) -> int:
        return 3

    def __getattr__(cls, name: str) -> Any:
        if name == "p":
            return "meta p"
        raise AttributeError(f"no {name}")


class Base:
    """A plain class."""

    q = "q of Base"

    def m(self, value: Any = 1) -> Any:
        """To be overridden."""
        return "m of Base", value


class Writer:
    """Writes some classes and a program over them."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.numbers = itertools.count(1)
        self.classes = ["Base"]

    def program(self) -> str:
        """The classes, and `program(x, a, b, notes)`."""
        lines = []
        for index in range(self.choose.randint(1, 4)):
            lines += self.new_class(f"C{index}")
            self.classes.append(f"C{index}")
        lines.append("def program(x, a, b, notes):")
        lines.append("    noted.notes = notes")
        lines.append("    r = c = None")
        for _ in range(self.choose.randint(3, 12)):
            step = [*self.step(), "notes.append(shown(r))"]
            lines += caught(step, "told(error)")
        lines.append("    return x, a, b, r")
        return "\n".join(lines)

    def new_class(self, name: str) -> list[str]:
        """A class of some members."""
        members = self.choose.sample([*MEMBERS], self.choose.randint(1, 7))
        bases = [self.choose.choice([*BASES, *self.classes[1:] * 4])]
        if self.choose.random() < 0.2:
            bases.insert(0, self.choose.choice(self.classes))
        bases.append(self.choose.choice(METAS))
        body = []
        for member in members:
            number = next(self.numbers)
            body += [line.format(n=number) for line in MEMBERS[member]]
        head = f"class {name}({', '.join(filter(None, bases))}):"
        # What CPython doesn't let be is a plain class.
        return [
            "try:",
            f"    {head}",
            *indented(body, 2),
            "except Exception:",
            f"    class {name}(Base):",
            "        pass",
        ]

    def step(self) -> list[str]:
        """A line or a block."""
        if self.choose.random() < 0.12:
            lines = self.choose.choice(BLOCKS)
        else:
            lines = [self.choose.choice(STEPS)]
        values = {
            "a": self.choose.choice("aaabbcr"),
            "b": self.choose.choice("abcr"),
            "v": self.choose.choice("abc"),
            "c": self.choose.choice(self.classes),
            "k": self.choose.choice(NAMES),
            "n": self.choose.randint(0, 3),
        }
        return [line.format(**values) for line in lines]


def noted(*what: Any) -> None:
    """Called by what the classes have."""
    noted.notes.append(shown(what))


def shown(value: Any, depth: int = 0) -> Any:
    """A value in words that two runs share, and that ask it nothing."""
    kind = type(value)
    if depth > 4:
        return "..."
    if value is NotImplemented or kind in (str, int, float, bool, type(None)):
        return cleaned(value) if kind is str else value
    if kind in (list, tuple):
        return kind(shown(v, depth + 1) for v in value)
    if kind is set:
        return "set", len(value)
    if kind is dict:
        return [
            (shown(k, depth + 1), shown(v, depth + 1)) for k, v in value.items()
        ]
    if type in kind.__mro__:
        return type.__repr__(value)
    if kind is torch.Tensor:
        return value.tolist()
    return "a", kind.__name__


def state(value: Any) -> Any:
    """What an instance has, for the end of a run."""
    kind = type(value)
    found = [kind.__name__]
    for base in (dict, list):
        if base in kind.__mro__:
            found.append(
                shown(
                    base(base.__iter__(value))
                    if base is list
                    else list(dict.items(value))
                )
            )
    if int in kind.__mro__:
        found.append(int.__repr__(value))
    try:
        found.append(shown(object.__getattribute__(value, "__dict__")))
    except AttributeError:
        pass
    for name in ("q", "extra"):
        slot = next(
            (vars(c)[name] for c in kind.__mro__ if name in vars(c)), None
        )
        if isinstance(slot, types.MemberDescriptorType):
            try:
                found.append(shown(slot.__get__(value)))
            except AttributeError:
                found.append("unset")
    return found


GLOBALS = named(
    Base, Data, Getter, Meta, cleaned, copy, functools, magneto, noted,
    operator, shown, told, torch, types,
)  # fmt: skip


def made(namespace: dict[str, Any], seed: int) -> list[Any]:
    """Two instances that the program gets."""
    choose = random.Random(seed)
    noted.notes = []
    found: list[Any] = []
    while len(found) < 2:
        kind = namespace.get(f"C{choose.randint(0, 3)}", Base)
        try:
            found.append(kind() if choose.random() < 0.7 else kind(2))
        except Exception:
            found.append(Base())
    return found


@contextlib.contextmanager
def undone(cls: type) -> Iterator[None]:
    """Puts the attributes of a class back that are written inside."""
    before = dict(vars(cls))
    try:
        yield
    finally:
        for name in set(vars(cls)) - set(before):
            delattr(cls, name)
        for name, value in before.items():
            if vars(cls).get(name) is not value:
                setattr(cls, name, value)


def results(source: str, seed: int, is_compiled: bool) -> list[str]:
    """What runs in a world of their own give, each as text."""
    namespace: dict[str, Any] = dict(GLOBALS)
    found = []
    with undone(Base), undone(Data):
        exec(compile(source, "<program>", "exec"), namespace)
        program = namespace["program"]
        if is_compiled:
            program = magneto.compile(program, backend="eager")
        for _ in range(3):
            a, b = made(namespace, seed)
            notes: list[Any] = []
            try:
                with limited(5):
                    x, *rest = program(torch.zeros(1), a, b, notes)
                    result: Any = shown(x), [state(v) for v in rest]
            except NoEnd:
                result = "no end"
            except Exception as error:
                result = told(error)
            found.append(repr((result, notes, state(a), state(b))))
        magneto.reset()
    return found


differs = by_calls(results)
write, try_seed = of_sources(Writer, differs)
