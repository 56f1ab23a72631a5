# SPDX-License-Identifier: BSD-3-Clause
"""`config.verify_correctness`: does the backend compute what the graph says?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

from magneto import config
from magneto.exc import VerificationFailed, backend_name


def verify(
    backend: object,
    reference: Callable[..., Any],
    compiled: Callable[..., Any],
    example_inputs: list[Any],
) -> None:
    """Runs both on copies of the inputs, from the same random state, and
    compares their results and what they wrote to their inputs.

    Raises:
        VerificationFailed: they differ by more than
            `config.verify_tolerance` (relative and absolute).

    """
    expected, expected_inputs = _run(reference, example_inputs)
    actual, actual_inputs = _run(compiled, example_inputs)
    name = backend_name(backend)
    _compare(f"backend {name!r} returned", actual, expected)
    _compare(
        f"backend {name!r} left in its inputs", actual_inputs, expected_inputs
    )


def _run(
    function: Callable[..., Any], inputs: list[Any]
) -> tuple[Any, list[Any]]:
    copies = _clone(inputs)
    states = random.getstate(), torch.get_rng_state()
    try:
        return function(*copies), copies
    finally:
        random.setstate(states[0])
        torch.set_rng_state(states[1])


def _clone(inputs: list[Any]) -> list[Any]:
    """Copies that alias each other where the inputs do."""
    storages: dict[int, torch.UntypedStorage] = {}
    copies = []
    for value in inputs:
        if (
            not isinstance(value, torch.Tensor)
            or value.layout is not torch.strided
        ):
            copies.append(value)
            continue
        key = value.untyped_storage()._cdata
        if key not in storages:
            storages[key] = value.untyped_storage().clone()
        with torch.no_grad():
            copy = torch.empty(0, dtype=value.dtype, device=value.device).set_(
                storages[key],
                value.storage_offset(),
                value.shape,
                value.stride(),
            )
        if isinstance(value, torch.nn.Parameter):
            copies.append(torch.nn.Parameter(copy, value.requires_grad))
        elif value.requires_grad and not value.is_leaf:
            # A leaf that requires grad may not be written in place; a copy made
            # by autograd may, as the original may.
            leaf = copy.requires_grad_(True)
            copies.append(
                leaf.view_as(leaf) if value._is_view() else leaf.clone()
            )
        else:
            copies.append(copy.requires_grad_(value.requires_grad))
    return copies


def _compare(what: str, actual: Any, expected: Any) -> None:
    actual_leaves = (
        list(actual) if isinstance(actual, (tuple, list)) else [actual]
    )
    expected_leaves = (
        list(expected) if isinstance(expected, (tuple, list)) else [expected]
    )
    if len(actual_leaves) != len(expected_leaves):
        raise VerificationFailed(
            f"{what} {len(actual_leaves)} values, but the graph gives "
            f"{len(expected_leaves)}"
        )
    pairs = zip(actual_leaves, expected_leaves, strict=True)
    for index, (one, other) in enumerate(pairs):
        if problem := _difference(one, other):
            raise VerificationFailed(
                f"{what} a wrong value at index {index}: {problem}"
            )


def _difference(actual: Any, expected: Any) -> str:
    if not isinstance(expected, torch.Tensor):
        return (
            "" if actual == expected else f"{actual!r} instead of {expected!r}"
        )
    if not isinstance(actual, torch.Tensor):
        return f"{type(actual).__name__} instead of a tensor"
    if actual.requires_grad != expected.requires_grad:
        return (
            f"requires_grad is {actual.requires_grad} instead of "
            f"{expected.requires_grad}"
        )
    tolerance = config.verify_tolerance
    try:
        torch.testing.assert_close(
            actual.detach(),
            expected.detach(),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
        )
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""
