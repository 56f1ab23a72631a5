# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs in plain Python and compiled, and says what differs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import magneto

Write = Callable[[int], str]
# What differs for a source and its seed; empty if nothing.
Differs = Callable[[str, int], str]


class Writer(Protocol):
    """Writes one program."""

    def program(self) -> str:
        """Its source, which defines `program`."""


def of_sources(
    writer: Callable[[random.Random], Writer], differs: Differs
) -> tuple[Write, Callable[[int], str]]:
    """A generator of programs that are nothing but their source: what writes
    the one of a seed, and what tries it.
    """

    def write(seed: int) -> str:
        return writer(random.Random(seed)).program()

    def try_seed(seed: int) -> str:
        source = write(seed)
        return finding(seed, source, differs(source, seed))

    return write, try_seed


def finding(seed: int, source: str, differs: str) -> str:
    """What to say of a seed's program; empty if nothing differs."""
    return f"seed {seed}\n{source}\n{differs}" if differs else ""


def is_python(source: str) -> bool:
    """Whether the compiler takes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<program>", "exec")
        except SyntaxError:
            return False
    return True


def difference_of(
    source: str,
    namespace: dict[str, Any],
    result_of: Callable[[Callable[..., Any]], str],
    *,
    backend: str = "eager",
    **options: Any,
) -> str:
    """What a program of that source gives in plain Python and in two compiled
    runs, if they aren't the same; else empty, also where it is no program. A
    run that had no end says nothing: compiled, it gets to another place.
    `options` are of `compile`.
    """
    if not is_python(source):
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "<program>", "exec"), namespace)
        program = namespace["program"]
        compiled = magneto.compile(program, backend=backend, **options)
        results = [result_of(call) for call in (program, compiled, compiled)]
        magneto.reset()
    if results[0] == results[1] == results[2] or "no end" in results[0]:
        return ""
    return "\n".join(results)


def by_calls(results: Callable[[str, int, bool], list[str]]) -> Differs:
    """What says of a program which of its calls differs; empty if none.
    `results` gives what each of them gave, in plain Python or compiled.
    """

    def differs(source: str, seed: int) -> str:
        if not is_python(source):
            return ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eager = results(source, seed, False)
            compiled = results(source, seed, True)
            magneto.reset()
        for a, b in zip(eager, compiled, strict=True):
            if "no end" in a:
                return ""
            if a != b:
                return f"{a}\n{b}"
        return ""

    return differs


class NoEnd(BaseException):
    """A run took longer than any such program needs."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises NoEnd in what runs longer, and out of it, whatever a program's
    own `finally` makes of that.
    """
    has_expired = False

    def expire(signum, frame):
        nonlocal has_expired
        has_expired = True
        raise NoEnd

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    except BaseException:
        if has_expired:
            raise NoEnd from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if has_expired:
        raise NoEnd


def text_of_child(write: Callable[[], str]) -> str:
    """What a function gives in a process of its own, forked from this one: for
    what has effects on the process that nobody can take back.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                pipe.write(write())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"{text}the process ended with {status}"


def smaller(source: str, differs: Callable[[str], str], kind: str) -> str:
    """A shorter program that still differs in the same way as `kind` says, by
    leaving out lines and blocks.
    """
    lines = source.split("\n")
    improved = True
    while improved:
        improved = False
        for start in range(len(lines) - 1, 0, -1):
            for end in (block_end(lines, start), start + 1):
                for replacement in ([], ["pass"]):
                    body = [indent(lines[start]) + r for r in replacement]
                    shorter = lines[:start] + body + lines[end:]
                    if len("\n".join(shorter)) >= len("\n".join(lines)):
                        continue
                    if same_kind(differs("\n".join(shorter)), kind):
                        lines, improved = shorter, True
                        break
                else:
                    continue
                break
    return "\n".join(lines)


def same_kind(text: str, kind: str) -> bool:
    """Whether two differences are of one sort: those of one name before a
    colon, or any two without a name.
    """

    def sort(of: str) -> str:
        name = of.partition(":")[0]
        return name if name.isidentifier() else ""

    return bool(text) and sort(text) == sort(kind)


def indent(line: str) -> str:
    """The white space in front."""
    return line[: len(line) - len(line.lstrip())]


def block_end(lines: list[str], start: int) -> int:
    """One past the last line of the block that begins at `start`."""
    depth = len(indent(lines[start]))
    end = start + 1
    while end < len(lines) and len(indent(lines[end])) > depth:
        end += 1
    return end
