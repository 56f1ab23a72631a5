# SPDX-License-Identifier: BSD-3-Clause
"""Rows for the sweep: the modules of torch.nn, with PyTorch's own samples."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleInfo, module_db

from support.sweep.rows import Program, Row


def row(info: ModuleInfo) -> Row:
    """All samples of one module."""

    def programs(training: bool) -> Iterator[Program]:
        torch.manual_seed(0)
        samples = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=training,
            training=training,
        )  # fmt: skip
        for sample in samples:
            made, given = sample.constructor_input, sample.forward_input
            if given is None:
                continue
            yield program(info, made, given, training, sample.desc)

    return Row(info.name, programs)


def program(
    info: ModuleInfo, made: Any, given: Any, training: bool, name: str
) -> Program:
    """One sample."""

    def build() -> Any:
        torch.manual_seed(0)
        return info.module_cls(*made.args, **made.kwargs).train(training)

    def arguments() -> Any:
        return copied((tuple(given.args), dict(given.kwargs)))

    return Program(name, build, arguments)


def copied(value: Any) -> Any:
    """A deep copy in which tensors are leaves."""
    memo = {}
    for leaf in torch.utils._pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf:
            clone = leaf.detach().clone(memory_format=torch.preserve_format)
            memo[id(leaf)] = clone.requires_grad_(leaf.requires_grad)
    return copy.deepcopy(value, memo)


def rows() -> list[Row]:
    """A row for each class."""
    return [row(info) for info in module_db]
