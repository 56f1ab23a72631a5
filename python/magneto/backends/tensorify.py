# SPDX-License-Identifier: BSD-3-Clause
"""A pass of AOTAutograd's that computes floats as tensors.

It expects each symbol to be a number in its graph, as an input or as a size
that an operator takes. Of a float that comes of sizes, as in
`interpolate(max_pool2d(x, 2), scale_factor=2.0)`, the graph may have the size
of the pool only. Then it raises a KeyError; the graph is compiled without it.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

_PASS = "torch.fx.passes._tensorify_python_scalars"


def has_failed(error: BaseException | None) -> bool:
    """Whether a backend failed in that pass, for a symbol that it misses."""
    module = sys.modules.get(_PASS)
    while error is not None and module is not None:
        if isinstance(error, KeyError):
            tb = error.__traceback__
            while tb is not None and tb.tb_next is not None:
                tb = tb.tb_next
            return tb is not None and (
                tb.tb_frame.f_code.co_filename == module.__file__
            )
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def left_out() -> Iterator[None]:
    """Compiles without the pass."""
    module = importlib.import_module(_PASS)
    is_enabled = module._is_tensorify_enabled
    module._is_tensorify_enabled = lambda: False
    try:
        yield
    finally:
        module._is_tensorify_enabled = is_enabled
