# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's mode of fake tensors, with a mistake of its mended.

Of a small tensor that `torch.tensor(2.0)` makes it keeps the number, and runs
for real what is computed of such tensors alone. Of one and a float that isn't
known yet (`torch.tensor(2.0) * x.item()`) it gets NaN so, and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode


class KnownNumbersMode(FakeTensorMode):
    """What an operator computes with a symbolic float isn't known."""

    def dispatch(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Runs an operator on fakes of this mode."""
        kwargs = kwargs or {}
        flat = list(_flat(args, kwargs))
        known = [
            each
            for each in flat
            if self.is_our_fake(each) and each.constant is not None
        ]
        if not known or not any(isinstance(x, torch.SymFloat) for x in flat):
            return super().dispatch(func, types, args, kwargs)
        constants = [(each, each.constant) for each in known]
        for fake, constant in constants:
            if _is_written(func, fake, args, kwargs):
                self.fake_tensor_converter.invalidate_constant_aliases(constant)
        # A view of one that was written has lost its constant just now.
        constants = [pair for pair in constants if pair[0].constant is not None]
        for fake, _ in constants:
            fake.constant = None
        try:
            return super().dispatch(func, types, args, kwargs)
        finally:
            for fake, constant in constants:
                fake.constant = constant


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
    named = zip(func._schema.arguments, args, strict=False)
    by_name = {each.name: each for each in func._schema.arguments}
    given = [
        *named,
        *((by_name[name], value) for name, value in kwargs.items()),
    ]
    return any(
        argument.alias_info is not None
        and argument.alias_info.is_write
        and any(each is fake for each in _flat((value,), {}))
        for argument, value in given
    )
