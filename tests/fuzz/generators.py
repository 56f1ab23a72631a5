# SPDX-License-Identifier: BSD-3-Clause
"""Finds generators by name, as `operands` or `operands.methods`.

A package's `GENERATORS` has the names of its generators, and which function of
which module tries a seed: `module`, or `module:function`. Nothing here imports
PyTorch before a generator is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PACKAGES = (
    "general", "operands", "containers", "tensors", "control", "classes",
    "modules", "sizes", "subgraphs", "world",
)  # fmt: skip


@dataclass
class Generator:
    """Tries programs; those that are written as a whole can be made small."""

    name: str
    about: str
    try_seed: Callable[[int], str]
    write: Callable[[int], str] | None = None
    differs: Callable[[str, int], str] | None = None


def package(name: str) -> Any:
    """One of the packages."""
    return importlib.import_module(f"tests.fuzz.{name}")


def names_of(what: str) -> list[str]:
    """The generators that a name stands for: a package's, or one."""
    first, _, second = what.partition(".")
    if first in PACKAGES:
        known = package(first).GENERATORS
        if second in known:
            return [what]
        if not second:
            return [f"{first}.{each}" for each in known]
    raise LookupError(f"no generator {what!r}; --list has their names")


def load(name: str) -> Generator:
    """The generator of a full name."""
    first, _, second = name.partition(".")
    place = package(first).GENERATORS[second]
    module_name, _, function = place.partition(":")
    module = importlib.import_module(f"tests.fuzz.{first}.{module_name}")
    try_seed = getattr(module, function or "try_seed")
    about = (try_seed if function else module).__doc__
    if function:
        return Generator(name, about, try_seed)
    write, differs = (getattr(module, n, None) for n in ("write", "differs"))
    return Generator(name, about, try_seed, write, differs)


def listing() -> str:
    """All of them, with what each writes programs about."""
    lines = []
    for each in PACKAGES:
        lines.append(f"{each}: {first_sentence(package(each).__doc__)}")
        for name in names_of(each):
            lines.append(f"    {name}: {first_sentence(load(name).about)}")
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    """The first one of a docstring, in one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")
