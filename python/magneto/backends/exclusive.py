# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's compilers, for one thread at a time: they keep state in modules.

`torch.compile` and the backwards that inductor compiles hold a lock of
PyTorch's own meanwhile. Loading that lock's module costs a second, which a
program that only looks at its graphs must not pay; so there is one of ours in
front of it.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from typing import Any

_own_lock = threading.RLock()
_MODULE = "torch._dynamo.convert_frame"


class CompilerTurn:
    """The turn of a thread at PyTorch's compilers.

    It begins where `begin()` is first called and ends with the `with` block.
    """

    def __init__(self) -> None:
        self._locks = contextlib.ExitStack()
        self._has_begun = False

    def __enter__(self) -> CompilerTurn:
        return self

    def __exit__(self, *exception: object) -> None:
        self._locks.close()

    def begin(self) -> None:
        """Waits until no other thread is at work there."""
        if self._has_begun:
            return
        self._has_begun = True
        # What torch.compile calls while it compiles has its turn, and must not
        # wait for who waits for that.
        if _is_within_torch_compile():
            return
        self._locks.enter_context(_own_lock)
        module = importlib.import_module(_MODULE)
        self._locks.enter_context(module.compile_lock)


def _is_within_torch_compile() -> bool:
    module: Any = sys.modules.get(_MODULE)
    lock = getattr(module, "compile_lock", None)  # none yet: it is being loaded
    return lock is not None and lock._is_owned()
