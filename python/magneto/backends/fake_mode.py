# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's fake tensors, for compilers of its own."""

from __future__ import annotations

from typing import Any


def make_fake_mode() -> Any:
    """A mode of PyTorch's with a shape environment of its own."""
    import torch._functorch.config as functorch_config
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    from magneto.backends.known_numbers import forget_beside_floats

    shape_env = ShapeEnv(
        assume_static_by_default=True,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
    )
    with functorch_config.patch(fake_tensor_allow_unsafe_data_ptr_access=False):
        mode = FakeTensorMode(shape_env=shape_env)
    forget_beside_floats(mode)
    return mode
