# SPDX-License-Identifier: BSD-3-Clause
"""Mends a mistake of PyTorch's fake tensors.

Of a small tensor that `torch.tensor(2.0)` makes, their mode keeps the number,
and runs for real what is computed of such tensors alone. Of one and a float
that isn't known yet (`torch.tensor(2.0) * x.item()`) it gets NaN so, and says
nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


def forget_beside_floats(mode: FakeTensorMode) -> None:
    """Makes the mode compute nothing for real that takes a symbolic float.

    It stays of its class, which higher-order operators ask for.
    """
    # Weak, so that it dies with the last who holds it.
    itself = weakref.ref(mode)

    def dispatch(
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        mode = itself()
        assert mode is not None
        kwargs = kwargs or {}
        flat = list(_flat(args, kwargs))
        known = [
            (each, each.constant)
            for each in flat
            if mode.is_our_fake(each) and each.constant is not None
        ]
        if not known or not any(isinstance(x, torch.SymFloat) for x in flat):
            return FakeTensorMode.dispatch(mode, func, types, args, kwargs)
        for fake, constant in known:
            if _is_written(func, fake, args, kwargs):
                mode.fake_tensor_converter.invalidate_constant_aliases(constant)
        # A view of one that is written has lost its number just now.
        known = [pair for pair in known if pair[0].constant is not None]
        for fake, _ in known:
            fake.constant = None
        try:
            return FakeTensorMode.dispatch(mode, func, types, args, kwargs)
        finally:
            for fake, constant in known:
                fake.constant = constant

    mode.dispatch = dispatch  # type: ignore[method-assign]


def _flat(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """The arguments, and those in lists."""
    for each in (*args, *kwargs.values()):
        if isinstance(each, (list, tuple)):
            yield from each
        else:
            yield each


def _is_written(
    func: Any, fake: FakeTensor, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether an operator writes to one of its arguments."""
    parameters = func._schema.arguments
    by_name = {each.name: each for each in parameters}
    given = [
        *zip(parameters, args, strict=False),
        *((by_name[name], value) for name, value in kwargs.items()),
    ]
    return any(
        parameter.alias_info is not None
        and parameter.alias_info.is_write
        and any(each is fake for each in _flat((value,), {}))
        for parameter, value in given
    )
