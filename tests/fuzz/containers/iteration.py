# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that go over containers, of the caller's and their own, which
change meanwhile, with breaks of the graph between all of it.
"""

from __future__ import annotations

import collections
import itertools
import operator
import random
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import NoEnd, difference_of, limited, of_sources
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import caught, indented


class Table(dict):
    """A dict with keys that it hasn't."""

    def __missing__(self, key: Any) -> str:
        return f"no {key}"


class Own(dict):
    """A dict that goes over something else."""

    def __iter__(self) -> Any:
        return reversed(sorted(super().__iter__(), key=str))


class Thing:
    """Has attributes."""


def thing(**attributes: Any) -> Thing:
    """One with these."""
    made = Thing()
    made.__dict__.update(attributes)
    return made


# How each is made; all programs are given one, and may make another.
MADE = {
    "d": "{'a': 1, 'b': 2, 'c': 3}",
    "o": "collections.OrderedDict(a=1, b=2, c=3)",
    "e": "collections.defaultdict(list, a=[1], b=[])",
    "k": "collections.Counter('abbc')",
    "u": "Table(a=1, b=2)",
    "w": "Own(a=1, b=2)",
    "s": "{1, 2, 'a'}",
    "l": "[1, 2, 'a', 4]",
    "q": "collections.deque([1, 2, 3], 5)",
    "t": "thing(a=1, b=2)",
}
KEYS = ["'a'", "'b'", "'c'", "'n'", "'m'", "1", "7"]
# A program has keys come or go, not both: who goes over a table with as many as
# before, but others, sees how it is laid out.
CHANGES = {
    "l": [
        "l.append({v})",
        "l.insert(0, {v})",
        "l.pop()",
        "del l[0]",
        "l[1:2] = [{v}, {v}]",
        "l.extend([{v}])",
        "l.remove({k})",
        "l.reverse()",
        "l.clear()",
        "l[0] = {v}",
        "l += [{v}]",
    ],
    "q": [
        "q.append({v})",
        "q.appendleft({v})",
        "q.popleft()",
        "q.rotate(1)",
        "q.pop()",
        "q.clear()",
        "q[0] = {v}",
    ],
    "o": ["o.move_to_end({k})", "o.move_to_end({k}, False)"],
}
GROWTH = CHANGES | {
    "mapping": [
        "{c}[{k}] = {v}",
        "{c}[{k}] = {v}",
        "{c}.setdefault({k}, {v})",
        "{c}.update({{{k}: {v}}})",
    ],
    "d": ["d |= {{{k}: {v}}}"],
    "e": ["e[{k}].append({v})"],
    "k": ["k[{k}] += 1", "k.update('ab')", "k.subtract(a=1)"],
    "s": ["s.add({k})", "s.add((1, 2))", "s |= {{{k}}}"],
    "t": [
        "t.a = {v}",
        "t.n = {v}",
        "vars(t)['m'] = {v}",
        "setattr(t, 'c', {v})",
    ],
}
SHRINKING = CHANGES | {
    "mapping": ["{c}.pop({k}, None)", "del {c}[{k}]",
                "notes.append({c}.popitem())"],
    # Not of dicts: to go backwards over one that was cleared when it was empty
    # reads memory that CPython 3.11 doesn't have.
    "o": [*CHANGES["o"], "o.popitem(False)", "o.clear()"],
    "s": ["s.discard({k})", "notes.append(s.pop())", "s.clear()", "s -= {{1}}"],
    "t": ["del t.a", "del t.b", "vars(t).pop('b')", "vars(t).clear()"],
}  # fmt: skip
WAYS = {
    "mapping": ["{c}", "{c}.items()", "{c}.values()", "{c}.keys()",
                "reversed({c})", "reversed({c}.items())", "list({c})"],
    "w": ["dict.__iter__(w)"],
    "k": ["k.elements()", "k.most_common()"],
    "s": ["s", "s", "frozenset(s)", "s - {{1}}"],
    "l": ["l", "l", "reversed(l)", "l[1:]", "enumerate(l, 2)"],
    "q": ["q", "reversed(q)", "list(q)"],
    "t": ["vars(t)", "vars(t).items()", "t.__dict__.values()", "list(vars(t))"],
}  # fmt: skip
AROUND = [
    "enumerate({})", "zip({}, itertools.count())", "map(str, {})",
    "filter(None, {})", "itertools.islice({}, 3)", "itertools.chain({}, 'xy')",
    "(v for v in {})", "over({}, notes)", "itertools.pairwise({})",
    "itertools.accumulate({}, lambda p, q: (p, q))", "iter({})",
    "walk({}, notes)", "itertools.islice(itertools.cycle({}), 7)", "itertools.zip_longest({}, l)",
]  # fmt: skip
MAPPINGS = ["d", "o", "e", "k", "u", "w"]
LONGEST = 40  # notes, then all loops end


def over(items: Any, notes: list[Any]) -> Any:
    """A generator that breaks the graph."""
    for item in items:
        magneto.graph_break()
        yield item


def walk(items: Any, notes: list[Any]) -> list[Any]:
    """A function with a loop that breaks the graph."""
    found = []
    for item in items:
        if len(found) > 5:
            break
        magneto.graph_break()
        found.append(item)
    return found


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.names = choose.sample([*MADE], choose.randint(1, 3))
        self.changes = choose.choice([GROWTH, SHRINKING])

    def program(self) -> str:
        """A function of a tensor, the containers by name, and notes."""
        lines = ["def program(x, given, notes):", "    i = j = iter(())"]
        for name in self.names:
            made = f"given[{name!r}]"
            if self.choose.random() < 0.3:
                made = MADE[name]
            lines.append(f"    {name} = {made}")
        lines.append("    l = l if 'l' in locals() else [5, 6]"
                     if "l" not in self.names else "    pass")  # fmt: skip
        for _ in range(self.choose.randint(3, 8)):
            lines += caught(self.statement(0), "repr(error)")
        kept = ", ".join(self.names)
        lines.append(f"    return x + 1, i, j, [{kept}]")
        return "\n".join(lines)

    def statement(self, depth: int) -> list[str]:
        """The lines of one."""
        kind = self.choose.random()
        target = self.choose.choice("ij")
        if kind < 0.3 - 0.1 * depth:
            return self.loop(depth)
        if kind < 0.5:
            return [self.change()]
        if kind < 0.6:
            return [f"{target} = iter({self.items()})"]
        if kind < 0.75:
            return [f"notes.append(next({target}, None))"]
        if kind < 0.85:
            return ["magneto.graph_break()"]
        return [
            self.choose.choice(
                [
                    f"notes.append([*itertools.islice({target}, 9)])",
                    f"notes.append([v for v in {self.items()} if v])",
                    f"notes.append(dict(enumerate({self.items()})))",
                    f"notes.append({self.choose.choice(KEYS)}"
                    f" in {self.items()})",
                    f"first, *rest = {self.items()}; notes.append(first)",
                    f"given['kept'] = {target}",
                    f"i = iter({target})",
                    "i, j = j, i",
                    f"notes.append(operator.length_hint({target}))",
                    f"notes.append(len({self.choose.choice(self.names)}))",
                    f"x = x + len({self.choose.choice(self.names)})",
                ]
            )
        ]

    def loop(self, depth: int) -> list[str]:
        """A for statement."""
        over = self.choose.choice(["i", "j", *[self.items()] * 4])
        lines = [
            f"for v{depth} in {over}:",
            f"    notes.append(v{depth})",
            f"    if len(notes) > {LONGEST}: break",
        ]
        for _ in range(self.choose.randint(0, 3)):
            lines += indented(self.statement(depth + 1))
        if self.choose.random() < 0.3:
            lines.append(f"    if len(notes) > {self.choose.randint(2, 9)}:")
            lines.append(
                "        " + self.choose.choice(["break", "continue", "pass"])
            )
        if self.choose.random() < 0.2:
            lines += ["else:", f"    {self.statement(3)[0]}"]
        return lines

    def of(self, table: dict[str, list[str]], name: str) -> str:
        """A row of a table that is for a container."""
        rows = list(table.get(name, []))
        if name in MAPPINGS:
            rows += table["mapping"] * (1 if not rows else 2)
        return self.choose.choice(rows).format(
            c=name,
            k=self.choose.choice(KEYS),
            v=self.choose.choice(["0", "11", "'v'", "None", "x", "(1, 2)"]),
        )

    def change(self) -> str:
        """A write."""
        return self.of(self.changes, self.choose.choice(self.names))

    def items(self) -> str:
        """Something to go over."""
        items = self.of(WAYS, self.choose.choice(self.names))
        while self.choose.random() < 0.3:
            items = self.choose.choice(AROUND).format(items)
        return items


GLOBALS = named(
    Own, Table, collections, itertools, magneto, operator, over, thing, walk
)


def shown(value: Any, depth: int = 0) -> Any:
    """In words that two runs share; iterators by what they have left."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, Thing):
        return shown(vars(value), depth)
    if isinstance(value, str | int | float | None) or depth > 4:
        return value if depth <= 4 else "..."
    if isinstance(value, dict):
        items = value.items() if type(value) is not Own else dict.items(value)
        return type(value).__name__, shown([*items], depth + 1)
    if not hasattr(value, "__next__"):
        name = type(value).__name__
        return name, [shown(v, depth + 1) for v in value]
    left = []
    try:
        for v in itertools.islice(value, 12):
            left.append(shown(v, depth + 1))
    except Exception as error:
        left.append(repr(error))
    return "iterator", left


def result_of(call: Any) -> str:
    """What a call gives and leaves, as text."""
    notes: list[Any] = []
    given = {n: eval(m, dict(GLOBALS)) for n, m in MADE.items()}
    result: Any
    try:
        with limited(5):
            result = call(torch.zeros(1), given, notes)
    except NoEnd:
        result = "no end"
    except Exception as error:
        result = repr(error)
    return repr([shown(v) for v in (notes, result, given)])


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
