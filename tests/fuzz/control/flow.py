# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of nothing but control flow: generators driven in every way,
exceptions with their chains and lines, `finally`, `with`, loops and breaks of
the graph between all of it, and what of torch's state holds where.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
import sys
from typing import Any

import torch

import magneto
from tests.fuzz.control.state import shown, told, torch_state, usual_state
from tests.fuzz.support.running import (
    NoEnd,
    difference_of,
    limited,
    of_sources,
)
from tests.fuzz.support.showing import named
from tests.fuzz.support.writing import BlockWriter, indented

ERRORS = ["ValueError", "KeyError", "LookupError", "StopIteration", "OSError"]
CAUGHT = [*ERRORS, "Exception", "(KeyError, OSError)", "GeneratorExit"]
DEEPEST = 5


class Manager:
    """Notes what comes and goes, and keeps some errors to itself."""

    def __init__(self, notes: list[Any], number: int) -> None:
        self.notes = notes
        self.number = number

    def __enter__(self) -> int:
        self.notes.append(("enter", self.number))
        if self.number % 7 == 0:
            raise ValueError("no way in")
        return self.number

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.notes.append(("exit", self.number, kind, told(error)))
        if self.number % 5 == 0:
            raise OSError(self.number)
        return self.number % 3 == 0


class Turns:
    """An iterator of a class, with an end or an error at the end."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __iter__(self) -> Turns:
        return self

    def __next__(self) -> int:
        self.left -= 1
        if self.left == 0:
            raise StopIteration
        if self.left < -1:
            raise KeyError("past the end")
        return self.left


class Writer(BlockWriter):
    """Writes one program of a few functions, each of which may call those
    before it.
    """

    def __init__(self, choose: random.Random) -> None:
        super().__init__(choose)
        self.is_in_handler = False

    def program(self) -> str:
        """The functions, of which the last is `program(x, notes)`."""
        return self.all_functions(self.choose.randint(1, 3), 0.7)

    def function(self, name: str, is_generator: bool) -> list[str]:
        """A whole function."""
        self.room = self.choose.randint(3, 10)
        self.is_generator = is_generator
        self.is_in_loop = self.is_in_handler = False
        body = ["n = 0", "r = None", "it = iter(())"]
        while self.room > 0:
            lines = self.statement(0)
            if self.choose.random() < 0.6:
                lines = ["try:", *indented(lines)]
                lines += ["except Exception as error:"]
                lines += ["    notes.append(told(error))"]
            body += lines
        if is_generator:
            body.append(f"yield {self.number()}")
        if name == "program":
            body.append("return x, n, r, it")
        else:
            body.append(f"return {self.choose.choice(['x', 'n', 'r'])}")
        return [f"def {name}(x, notes):", *indented(body)]

    def statement(self, depth: int) -> list[str]:
        """One, with what is in it."""
        self.room -= 1
        kinds = [self.simple] * 4 + [self.iterator] * 4
        kinds += [self.raising, self.leave]
        if depth < DEEPEST and self.room > 0:
            kinds += [self.attempt] * 3 + [self.group, self.loop, self.loop]
            kinds += [self.managed, self.choice, self.inner]
        if self.is_generator:
            kinds += [self.yielding] * 3
        return self.choose.choice(kinds)(depth)

    def simple(self, depth: int) -> list[str]:
        """What has no control flow of its own."""
        pick = self.choose.choice
        steps = [
            f"notes.append({self.number()})",
            "notes.append(('n', n))",
            "notes.append(told(sys.exc_info()[1]))",
            "n += 1",
            "x = x + 1",
            "magneto.graph_break()",
            "notes.append(torch_state())",
            "notes.append(torch_state())",
            "notes.append((x.view(1, 1) @ x.view(1, 1)).dtype)",
            f"torch.set_grad_enabled(n {pick(['==', '!='])} 0)",
            "torch.set_default_dtype(torch.float64)",
            f"n, r = r, {self.number()}",
            f"r = [k for k in {self.items()}]",
            f"r = any(k == 2 for k in {self.items()})",
            f"notes.append(max({self.items()}, default=None))",
            f"r = dict(zip({self.items()}, {self.items()}))",
        ]
        calls = [
            f"r = {name}(x, notes)" for name, generates in self.functions
            if not generates
        ]  # fmt: skip
        return [pick([*steps, *calls])]

    def items(self) -> str:
        """Something to go over."""
        made = [f"{name}(x, notes)" for name, generates in self.functions
                if generates]  # fmt: skip
        more = ["range(3)", "Turns(3)", "it", "[1, 2]", "iter([4, 5])"]
        return self.choose.choice([*more, *made, *made])

    def iterator(self, depth: int) -> list[str]:
        """A step with the iterator at hand."""
        error = self.choose.choice(ERRORS)
        steps = [
            f"it = iter({self.items()})",
            f"it = iter({self.items()})",
            f"it = (k for k in {self.items()})",
            f"it = zip({self.items()}, {self.items()})",
            f"it = map(lambda k: k, {self.items()})",
            f"it = itertools.chain({self.items()}, {self.items()})",
            f"it = itertools.islice({self.items()}, 2)",
            "r = next(it)",
            "r = next(it, None)",
            "r = list(it)",
            "a, *r = it",
            f"r = it.send({self.number()})",
            "r = it.send(None)",
            f"r = it.throw({error}({self.number()}))",
            "r = it.close()",
            "notes.append(next(it, 'end'))",
        ]
        return [self.choose.choice(steps)]

    def raising(self, depth: int) -> list[str]:
        """Something that raises, mostly under a condition."""
        error = f"{self.choose.choice(ERRORS)}({self.number()})"
        raised = [f"raise {error}", f"raise {error} from None"]
        raised += [f"raise {error} from OSError('cause')", "assert n == 0, n"]
        raised += ["[][n]", "{}[n]", "n.missing", "unknown"]
        raised += [f"raise ExceptionGroup('g', [{error}, KeyError(0)])"]
        if self.is_in_handler:
            raised += ["raise", "raise error", f"raise {error} from error"]
        line = self.choose.choice(raised)
        if self.choose.random() < 0.7:
            return [
                f"if n {self.choose.choice(['==', '!='])} 0:",
                f"    {line}",
            ]
        return [line]

    def leave(self, depth: int) -> list[str]:
        """A way out of a loop or a function."""
        ways = ["return n", "return x"] if depth > 0 else ["pass"]
        if self.is_in_loop:
            ways = ["break", "continue", *ways]
        way = self.choose.choice(ways)
        if self.choose.random() < 0.7:
            return [f"if n == {self.choose.randint(0, 2)}:", f"    {way}"]
        return [way]

    def attempt(self, depth: int) -> list[str]:
        """A `try` with some of what it can have."""
        lines = ["try:", *indented(self.block(depth))]
        has_handler = self.choose.random() < 0.8
        if has_handler:
            for _ in range(self.choose.randint(1, 2)):
                kind = self.choose.choice(CAUGHT)
                lines.append(f"except {kind} as error:")
                body = ["notes.append(told(error))"]
                body += self.block(depth, is_in_handler=True)
                lines += indented(body)
            if self.choose.random() < 0.3:
                lines += ["else:", *indented(self.block(depth))]
        if not has_handler or self.choose.random() < 0.4:
            lines += ["finally:", *indented(self.block(depth))]
        return lines

    def group(self, depth: int) -> list[str]:
        """A `try` for groups, which nothing leaves by a jump."""
        error = self.choose.choice(["ValueError", "KeyError", "OSError"])
        return [
            "try:",
            *indented(self.block(depth)),
            f"except* {error} as error:",
            "    notes.append(told(error))",
        ]

    def loop(self, depth: int) -> list[str]:
        """A loop, maybe with an `else`."""
        if self.choose.random() < 0.7:
            lines = [f"for n in {self.items()}:"]
            body = []
        else:
            lines = ["m = 0", "while m < 3:"]
            body = ["m += 1"]
        lines += indented(body + self.block(depth, is_in_loop=True))
        if self.choose.random() < 0.3:
            lines += ["else:", *indented(self.block(depth))]
        return lines

    def managed(self, depth: int) -> list[str]:
        """A `with` statement."""
        manager = self.choose.choice(
            [
                f"Manager(notes, {self.number()})",
                f"Manager(notes, {self.number()})",
                "contextlib.suppress(LookupError)",
                "contextlib.closing(it)",
                "contextlib.nullcontext(3)",
                "torch.no_grad()",
                "torch.enable_grad()",
                "torch.set_grad_enabled(n == 0)",
                "torch.inference_mode()",
                "torch.autocast('cpu', torch.bfloat16)",
                "torch.autocast('cpu', enabled=False)",
                "torch.device('meta')",
                "graded(notes)",
                f"entered(notes, {self.number()})",
            ]
        )
        return [f"with {manager}:", *indented(self.block(depth))]

    def choice(self, depth: int) -> list[str]:
        """An `if` with an `else`, or a `match`."""
        if self.choose.random() < 0.5:
            return super().choice(depth)
        case = self.choose.choice(["[a, *b]", "{}", "0 | 1", "int(a)"])
        lines = ["match r:", f"    case {case}:"]
        lines += indented(indented(self.block(depth)))
        return [*lines, "    case _:", *indented(indented(self.block(depth)))]

    def inner(self, depth: int) -> list[str]:
        """A generator of its own that has this function's variables."""
        before = self.is_generator
        name = f"inner{self.number()}"
        body = ["nonlocal n", "yield n"]
        body += self.block(
            depth, is_generator=True, is_in_loop=False, is_in_handler=False
        )
        self.is_generator = before
        drive = self.choose.choice(
            [f"it = {name}()", f"r = [*{name}()]", f"it = {name}(); next(it)"]
        )
        lines = [f"def {name}(x=x, notes=notes, it=it, r=r):", *indented(body)]
        return [*lines, drive]

    def yielding(self, depth: int) -> list[str]:
        """A step out of a generator."""
        return [
            self.choose.choice(
                [
                    f"yield {self.number()}",
                    "yield n",
                    f"r = yield {self.number()}",
                    "notes.append((yield n))",
                    f"r = yield from {self.items()}",
                ]
            )
        ]


@contextlib.contextmanager
def entered(notes: list[Any], number: int) -> Any:
    """A manager that is a generator."""
    notes.append(("entered", number))
    try:
        yield number
    except ValueError as error:
        notes.append(told(error))
        if number % 2:
            raise KeyError(number) from error
    finally:
        notes.append(("left", number))


@contextlib.contextmanager
def graded(notes: list[Any]) -> Any:
    """One that changes torch's state around its body."""
    notes.append(torch_state())
    with torch.no_grad():
        try:
            yield
        finally:
            notes.append(torch_state())


NAMES = named(
    Manager, Turns, contextlib, entered, graded, itertools, magneto, sys, told,
    torch, torch_state,
)  # fmt: skip


def outcome(call: Any, notes: list[Any]) -> Any:
    """What a run gives, and what its iterator has left."""
    try:
        with limited(5):
            result = call(torch.zeros(1).requires_grad_(), notes)
            if isinstance(result, tuple):
                x, n, r, it = result
                return shown((x, n, r, list(it)))
            return shown(result)
    except NoEnd:
        return "no end"
    except Exception as error:
        return told(error)


def result_of(call: Any) -> str:
    """What a run gives, notes and leaves, as text."""
    notes: list[Any] = []
    with usual_state():
        result = outcome(call, notes)
        # What is left of generators changes torch's state when it dies.
        gc.collect()
        state = torch_state()
    return repr((result, [shown(note) for note in notes], state))


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(NAMES), result_of)


write, try_seed = of_sources(Writer, differs)
