# SPDX-License-Identifier: BSD-3-Clause
"""The two compilers behind one interface.

Both are made ready here without compiling anything, as a program would by
importing them; what they then do at first use is part of what is measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Backend = Callable[..., Callable[..., Any]]


@dataclass(frozen=True)
class Compiler:
    """How a benchmark uses a compiler."""

    name: str
    compile: Callable[..., Any]
    graph_break: Callable[[], None]
    reset: Callable[[], None]
    allow_recompiles: Callable[[int], None]


def torch_compiler() -> Compiler:
    """torch.compile."""
    dynamo = importlib.import_module("torch._dynamo")

    def allow_recompiles(limit: int) -> None:
        dynamo.config.recompile_limit = limit

    return Compiler(
        "torch",
        torch.compile,
        dynamo.graph_break,
        dynamo.reset,
        allow_recompiles,
    )


def magneto_compiler() -> Compiler:
    """magneto.compile."""
    magneto = importlib.import_module("magneto")

    def allow_recompiles(limit: int) -> None:
        magneto.config.recompile_limit = limit

    return Compiler(
        "magneto",
        magneto.compile,
        magneto.graph_break,
        magneto.reset,
        allow_recompiles,
    )


MAKERS = {"torch": torch_compiler, "magneto": magneto_compiler}
MODULES = {"torch": "torch._dynamo", "magneto": "magneto"}


def constant_backend(output: Any) -> Backend:
    """A backend whose graphs cost nothing: they return `output`."""
    return lambda gm, example_inputs: lambda *inputs: output


def remembering_backend() -> Backend:
    """As `constant_backend`, for graphs whose outputs aren't known: each runs
    once, and from then on returns what it returned.
    """

    def backend(gm: Any, example_inputs: Any) -> Callable[..., Any]:
        outputs: Any = None

        def run(*inputs: Any) -> Any:
            nonlocal outputs
            if outputs is None:
                outputs = gm.forward(*inputs)
            return outputs

        return run

    return backend
