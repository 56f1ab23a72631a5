# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that only look around, called again and again in a world that
changes between the calls: what a compiled piece relies on must be guarded.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import inspect
import logging
import math
import os
import random
import types
import typing
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import magneto
from tests.fuzz.support.running import finding, is_python
from tests.fuzz.support.showing import cleaned, named, told
from tests.fuzz.support.writing import indented
from tests.fuzz.world.changes import (
    BLOCKS,
    CHANGES,
    LOOKS,
    PLACES,
    VALUES,
    WORLD,
)

NUMBER_OF_CALLS = 12


class Number(int):
    """Equal to a number."""


class Text(str):
    """Equal to a text."""


class Other2:
    """Another base class."""

    level = 9

    def __init__(self, *args: Any) -> None:
        pass


def leaky(self: Any, value: Any) -> Any:
    """Another forward."""
    return value * 0.1


NAMES = named(
    Number, Other2, Text, collections, contextvars, copy, dataclasses, enum,
    functools, inspect, leaky, logging, magneto, math, os, torch, types,
    typing, weakref,
) | {"nn": nn}  # fmt: skip
FORWARD = nn.ReLU.forward


class Writer:
    """A program and what happens between its calls."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose

    def look(self) -> str:
        """An expression."""
        return self.choose.choice(LOOKS).format(
            p=self.choose.choice(PLACES),
            q=self.choose.choice(PLACES),
            v=self.choose.choice(VALUES),
        )

    def program(self) -> str:
        """Its source."""
        lines = ["def program(x, y):", "    out = []"]
        for _ in range(self.choose.randint(1, 4)):
            if self.choose.random() < 0.7:
                lines.append(f"    out.append({self.look()})")
                continue
            block = self.choose.choice(BLOCKS).format(
                p=self.choose.choice(PLACES), e=self.look()
            )
            lines += indented(block.split("\n"))
        source = "\n".join([*lines, "    return out, x + 1"])
        return source if is_python(source) else self.program()

    def change(self) -> str:
        """A statement."""
        targets = [p for p in PLACES if not p.endswith(")")]
        return self.choose.choice(CHANGES).format(
            t=self.choose.choice(targets), v=self.choose.choice(VALUES)
        )


def shown(value: Any, depth: int = 0) -> Any:
    """A value in words that two runs share."""
    if depth > 4:
        return "..."
    if isinstance(value, torch.Tensor):
        return (
            type(value).__name__,
            value.tolist(),
            value.dtype,
            value.requires_grad,
            value.stride(),
        )
    if isinstance(value, list | tuple):
        return type(value).__name__, [shown(v, depth + 1) for v in value]
    if isinstance(value, dict):
        pairs = [(shown(k), shown(v, depth + 1)) for k, v in value.items()]
        return type(value).__name__, pairs
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(cleaned(repr(v)) for v in value)
    try:
        return type(value).__name__, cleaned(repr(value))
    except Exception as error:
        return type(value).__name__, type(error).__name__


def outcome(call: Callable[..., Any], world: dict[str, Any]) -> str:
    """What a call gives, as text."""
    try:
        found = call(world["x"], world["y"])
    except Exception as error:
        name, text = told(error)
        return repr((name, text[:300]))
    return repr(shown(found))


def try_seed(seed: int) -> str:
    """What differs for a seed's program; empty if nothing."""
    writer = Writer(random.Random(seed))
    source = writer.program()
    world: dict[str, Any] = dict(NAMES, __name__=__name__)
    config = magneto.config
    before = config.recompile_limit, config.raise_internal_errors
    config.recompile_limit = 2 * NUMBER_OF_CALLS
    config.raise_internal_errors = True
    done: list[str] = []
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(WORLD, "<world>", "exec"), world)
            exec(compile(source, "<program>", "exec"), world)
            compiled = magneto.compile(world["program"], backend="eager")
            for _ in range(NUMBER_OF_CALLS):
                wanted = outcome(world["program"], world)
                found = outcome(compiled, world)
                if wanted != found:
                    text = "\n".join([source, *done])
                    return finding(seed, text, f"{wanted}\n{found}")
                for _ in range(writer.choose.choice([0, 1, 1, 2, 3])):
                    change = writer.change()
                    try:
                        exec(compile(change, "<change>", "exec"), world)
                    except Exception:
                        continue
                    done.append(change)
    finally:
        config.recompile_limit, config.raise_internal_errors = before
        nn.ReLU.forward = FORWARD
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        os.environ.pop("MG_FUZZ", None)
        world["log"].setLevel(0)
        magneto.reset()
    return ""
