# SPDX-License-Identifier: BSD-3-Clause
"""Of ``torch.ops.higher_order``: operators that run a function many times.

A function's result is taken apart where it is traced, so that its graph gives
what PyTorch's operators want: tensors and numbers in a row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


def while_loop(
    operator: Any,
    cond_fn: Any,
    body_fn: Any,
    carried_inputs: Any,
    additional_inputs: Any,
) -> Any:
    """The carried values when `cond_fn` is no longer true of them."""
    leaves, form = record_while_loop(
        cond_fn, body_fn, carried_inputs, additional_inputs
    )
    return tree_unflatten(leaves, form) if form else leaves


def scan(
    operator: Any, combine_fn: Any, init: Any, xs: Any, additional_inputs: Any
) -> Any:
    """The last carry, and what each step gives, stacked."""
    leaves, form = record_scan(combine_fn, init, xs, additional_inputs)
    return tree_unflatten(leaves, form)


def map_slices(operator: Any, f: Any, xs: Any, pos_args: Any) -> Any:
    """What `f` gives for each slice, stacked."""
    leaves, form = record_map(f, xs, pos_args)
    return tree_unflatten(leaves, form)


def associative_scan(
    operator: Any, combine_fn: Any, xs: Any, additional_inputs: Any
) -> Any:
    """What is combined of all slices up to each."""
    leaves, form = record_associative_scan(combine_fn, xs, additional_inputs)
    return tree_unflatten(leaves, form)


def flattened(function: Any, *args: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of what a function gives, and how they stand there."""
    return tree_flatten(function(*args))


# What traces the functions and records the operator, written in C++: the
# leaves of the result, and their form.
def record_while_loop(*args: Any) -> Any:
    """The form is None where no step is ever made."""
    raise AssertionError("this is done while a trace is made")


def record_scan(*args: Any) -> Any:
    """Of (combine_fn, init, xs, additional_inputs)."""
    raise AssertionError("this is done while a trace is made")


def record_map(*args: Any) -> Any:
    """Of (f, xs, pos_args)."""
    raise AssertionError("this is done while a trace is made")


def record_associative_scan(*args: Any) -> Any:
    """Of (combine_fn, xs, additional_inputs)."""
    raise AssertionError("this is done while a trace is made")


# Not polyfills: they run while a trace is made, on its fakes.
def alike(tensor: torch.Tensor) -> torch.Tensor:
    """A new tensor with the same sizes, strides and type, and no history."""
    return tensor.detach().new_empty_strided(tensor.size(), tensor.stride())


def slice_of(tensor: torch.Tensor) -> torch.Tensor:
    """One alike a slice of the first dimension."""
    return alike(tensor.detach().select(0, 0))


def stack_of(tensor: torch.Tensor, along: torch.Tensor) -> torch.Tensor:
    """One as large as a stack of as many as `along` has slices."""
    return tensor.detach().new_empty((along.size(0), *tensor.size()))
