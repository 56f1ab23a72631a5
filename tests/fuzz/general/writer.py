# SPDX-License-Identifier: BSD-3-Clause
"""Writes random programs from the grammar's tables."""

import random
import re
import textwrap

from tests.fuzz.general import grammar

HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
HEADER = "def program(x, y, n, items, table, thing, notes, other, known):\n"
VARIABLES = {
    "t": ["x", "y"], "i": ["n"], "s": [], "l": ["items"], "d": ["table"],
    "u": ["thing.tags"], "q": [], "p": [], "w": [], "o": ["thing", "other"], "f": [],
    "g": [],
}  # fmt: skip
COMPARED = "tisluqpo"


class Writer:
    """One program. `choose` may be a `random.Random` or what acts like one."""

    def __init__(self, choose: random.Random, size: int = 12):
        self.choose = choose
        self.left = size  # statements still to be written
        self.names = {kind: list(names) for kind, names in VARIABLES.items()}
        self.made = 0
        self.functions = 0  # how many functions this is inside of

    def program(self) -> str:
        """The source of `program`."""
        lines = ["reset_total()", *self.block(top=True)]
        kept = [n for kind in COMPARED for n in self.names[kind]]
        lines.append(
            f"return world.total, table, notes, [*known.values()], "
            f"dict(ordered), dict(grouped), {', '.join(kept)}"
        )
        return HEADER + textwrap.indent("\n".join(lines), "    ") + "\n"

    def pick(self, rows: list[tuple[int, str]]) -> str:
        """A row's template, by weight."""
        at = self.choose.randrange(sum(weight for weight, _ in rows))
        for weight, template in rows:
            at -= weight
            if at < 0:
                return template
        raise AssertionError("weights are positive")

    def block(self, top: bool = False, in_loop: bool = False) -> list[str]:
        """Statements; what they define is gone behind them."""
        outside = {kind: list(names) for kind, names in self.names.items()}
        lines: list[str] = []
        count = self.left if top else 1 + self.choose.randrange(3)
        while count > 0 and (self.left > 0 or not lines):
            count -= 1
            self.left -= 1
            lines += self.statement(top).split("\n")
        if in_loop and self.choose.randrange(4) == 0:
            way = self.choose.choice(["break", "continue"])
            lines += [f"if {self.expression('b')}:", f"    {way}"]
        if not top:
            self.names = outside
        return lines

    def statement(self, top: bool) -> str:
        """One statement, of one or more lines."""
        at = self.choose.randrange(10)
        if self.left > 0 and at == 0 and self.functions < 2:
            return self.function()
        if self.left > 0 and at <= 3:
            return self.fill(self.pick(grammar.COMPOUND))
        if at == 4 and not top and self.choose.randrange(6) == 0:
            if self.functions == 0:
                return self.fill("return {t}, {i}, {l}")
        return self.fill(self.pick(grammar.SIMPLE))

    def function(self) -> str:
        """A function with the variables around it in sight."""
        template = self.pick(grammar.FUNCTIONS)
        outside = {kind: list(names) for kind, names in self.names.items()}
        name = self.new("f")
        # What the body assigns to is its own, or declared nonlocal.
        own = {kind: [] for kind in self.names}
        own |= {kind: list(self.names[kind]) for kind in "lduqpwofg"}
        own["t"], own["i"] = ["a"], ["m"]
        outer_ints = [n for n in outside["i"] if self.functions == 0]
        shared = self.choose.choice(outer_ints or ["n"])
        if "{nonlocal}" in template:
            if self.functions:
                return "pass"
            own["i"] = ["m", shared]
        self.names = own
        self.functions += 1
        text = self.fill(
            template.replace("{F}", name)
            .replace("{G}", name)
            .replace("{nonlocal}", shared)
        )
        self.functions -= 1
        self.names = outside
        self.names["g" if "yield" in template else "f"].append(name)
        return text

    def expression(self, kind: str, depth: int = 0) -> str:
        """An expression of a kind."""
        names = self.names.get(kind, [])
        leaves = names or grammar.LEAVES[kind]
        if kind not in grammar.EXPRESSIONS or depth > 2:
            return self.choose.choice(leaves)
        if self.choose.randrange(2 + depth) > 0:
            if names and self.choose.randrange(4):
                return self.choose.choice(names)
            fixed = [w for w in grammar.LEAVES[kind] if not self.hidden(w)]
            return self.choose.choice(fixed)
        return self.fill(self.pick(grammar.EXPRESSIONS[kind]), depth + 1)

    def hidden(self, leaf: str) -> bool:
        """Whether a function's own variables may be in the way."""
        return self.functions > 0 and leaf[0] in "n" and len(leaf) > 1

    def new(self, kind: str) -> str:
        """A fresh name."""
        self.made += 1
        return f"{kind}{self.made}"

    def target(self, kind: str) -> str:
        """A variable to assign to."""
        names = self.names[kind]
        if names and self.choose.randrange(3):
            name = self.choose.choice(names)
            if self.functions == 0 or kind in "ti":
                return name
        return self.new(kind)

    def fill(self, template: str, depth: int = 0) -> str:
        """The template with its holes filled, left to right."""
        targets: list[tuple[str, str]] = []  # to be defined: kind, name

        def define() -> None:
            for kind, name in targets:
                if name not in self.names[kind]:
                    self.names[kind].append(name)

        def hole(match: re.Match[str]) -> str:
            what = match.group(1)
            if what is None:
                return match.group()[0]
            if what == "k":
                return str(self.choose.randrange(5))
            if what == "c":
                return self.choose.choice(grammar.LEAVES["s"])
            if what == "E":
                return self.choose.choice(grammar.EXCEPTIONS)
            if what == "key":
                kind = self.choose.choice("oot")
                return self.choose.choice(
                    self.names[kind] or grammar.LEAVES[kind]
                )
            if what == "v":
                kinds = [k for k in "tislduqp" if self.names[k]]
                return self.choose.choice(
                    self.names[self.choose.choice(kinds or ["i"])] or ["None"]
                )
            if what[0] == "n" and len(what) == 2:
                return self.choose.choice(self.names[what[1]] or ["x"])
            if what in ("body", "loop", "function", "method"):
                define()
                lines = self.block(in_loop=what == "loop")
                deep = 8 if what == "method" else 4
                return textwrap.indent("\n".join(lines), " " * deep)
            if what.isupper():
                # Twice in one statement it is the same variable, but for T.
                kind = what.lower()
                known = dict(targets)
                if what == "T" or kind not in known:
                    targets.append((kind, self.target(kind)))
                return dict(targets)[kind]
            return self.expression(what, depth)

        text = HOLE.sub(hole, template)
        define()
        return text
