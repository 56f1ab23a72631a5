# SPDX-License-Identifier: BSD-3-Clause
"""What a program reads of the world around it, and the world changes between
calls: settings of torch and Python, attributes of functions and classes, what
tensors are besides their shape."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import compare

X = torch.ones(2)


class World:
    """What the programs look at; made anew for each run."""

    def __init__(self):
        self.tensor = torch.ones(3, 2)
        self.other = torch.ones(3, 2)
        self.leaf = torch.ones(2, requires_grad=True)
        self.function = lambda a: 0
        self.class_ = type("Own", (), {"__annotations__": {"a": int}})
        self.start = time.monotonic()


def sets(name: str, *makes: Callable[[World], Any]) -> tuple[Any, ...]:
    """Changes that give an attribute of the world other values."""
    return tuple(lambda w, m=make: setattr(w, name, m(w)) for make in makes)


def of(read: Callable[[], Any], *changes: Callable[[], Any]) -> tuple[Any, ...]:
    """A program over a setting, and changes of it; the last one restores it."""
    return (
        lambda x, w: (x * 2, read()),
        *(lambda w, change=change: change() for change in changes),
    )


ROWS: dict[str, tuple[Any, ...]] = {
    "num_threads": of(
        torch.get_num_threads,
        lambda: torch.set_num_threads(2),
        lambda: torch.set_num_threads(1),
    ),
    "matmul precision": of(
        lambda: torch.get_float32_matmul_precision(),
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    "warn always": of(
        lambda: torch.is_warn_always_enabled(),
        lambda: torch.set_warn_always(True),
        lambda: torch.set_warn_always(False),
    ),
    "anomaly": of(
        lambda: torch.is_anomaly_enabled(),
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.set_detect_anomaly(False),
    ),
    "recursion limit": of(
        lambda: sys.getrecursionlimit(),
        lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 234),
        lambda: sys.setrecursionlimit(sys.getrecursionlimit() - 234),
    ),
    "collection": of(lambda: gc.isenabled(), gc.disable, gc.enable),
    "environment": of(
        lambda: os.environ.get("MAGNETO_TEST_WORLD", "5"),
        lambda: os.environ.__setitem__("MAGNETO_TEST_WORLD", "1"),
        lambda: os.environ.pop("MAGNETO_TEST_WORLD"),
    ),
    "thread": of(
        lambda: threading.current_thread().name,
        lambda: setattr(threading.current_thread(), "name", "other"),
        lambda: setattr(threading.current_thread(), "name", "MainThread"),
    ),
    "method of tensors": of(
        lambda: hasattr(X, "added_later"),
        lambda: setattr(torch.Tensor, "added_later", 1),
        lambda: delattr(torch.Tensor, "added_later"),
    ),
    "function of torch": of(
        lambda: torch.nn.functional.relu(X - 2),
        lambda relu=torch.nn.functional.relu: (
            setattr(torch.nn.functional, "relu_before", relu),
            setattr(torch.nn.functional, "relu", torch.neg),
        ),
        lambda: (
            setattr(
                torch.nn.functional, "relu", torch.nn.functional.relu_before
            ),
            delattr(torch.nn.functional, "relu_before"),
        ),
    ),
    "time": (
        lambda x, w: x * (time.monotonic() > w.start + 0.05),
        lambda w: time.sleep(0.06),
    ),
    "grad_fn": (
        lambda x, w: x * (2 if w.leaf.grad_fn is None else 3),
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf.detach()),
    ),
    "name of grad_fn": (
        lambda x, w: w.leaf.grad_fn and w.leaf.grad_fn.name(),
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf + 2),
    ),
    "is_leaf": (
        lambda x, w: x * w.leaf.is_leaf,
        *sets("leaf", lambda w: w.leaf * 2, lambda w: w.leaf.detach()),
    ),
    "base": (
        lambda x, w: x * (2 if w.tensor._base is None else 3),
        *sets("tensor", lambda w: w.tensor[:], lambda w: torch.ones(3, 2)),
    ),
    "is_set_to": (
        lambda x, w: x * w.tensor.is_set_to(w.other),
        *sets("other", lambda w: w.tensor[:], lambda w: torch.ones(3, 2)),
    ),
    "storage": (
        lambda x, w: (x + 1, w.tensor.untyped_storage().nbytes()),
        *sets("tensor", lambda w: torch.ones(4, 2)[1:]),
    ),
    "offset": (
        lambda x, w: x * w.tensor.storage_offset(),
        *sets("tensor", lambda w: torch.ones(4, 2)[1:]),
    ),
    "attribute": (
        lambda x, w: x * getattr(w.tensor, "mark", 4),
        lambda w: setattr(w.tensor, "mark", 9),
        lambda w: delattr(w.tensor, "mark"),
    ),
    "documentation": (
        lambda x, w: x * len(w.function.__doc__ or ""),
        lambda w: setattr(w.function, "__doc__", "abc"),
        lambda w: setattr(w.function, "__doc__", None),
    ),
    "name": (
        lambda x, w: (x + 1, w.function.__name__, w.function.__qualname__),
        lambda w: setattr(w.function, "__name__", "abc"),
        lambda w: setattr(w.function, "__qualname__", "abc.d"),
    ),
    "signature": (
        lambda x, w: x * len(inspect.signature(w.function).parameters),
        *sets("function", lambda w: lambda a, b: 0),
    ),
    "name of a class": (
        lambda x, w: (x + 1, w.class_.__name__),
        lambda w: setattr(w.class_, "__name__", "Other"),
    ),
    "annotations": (
        lambda x, w: x * len(w.class_.__annotations__),
        lambda w: w.class_.__annotations__.__setitem__("b", int),
        lambda w: w.class_.__annotations__.clear(),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_changes_between_calls_is_seen(name: str) -> None:
    read, *changes = ROWS[name]
    outcomes = []
    for call in (read, magneto.compile(read, backend="eager")):
        world = World()
        found = [call(X, world), call(X, world)]
        for change in changes:
            change(world)
            found += [call(X, world), call(X, world)]
        outcomes.append(found)
    compare(*outcomes)
