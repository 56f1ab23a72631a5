# SPDX-License-Identifier: BSD-3-Clause
"""What `compile()` returns for a module."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch

from magneto import _C


class CompiledModule(torch.nn.Module):
    """A module whose calls are compiled calls of another one, `_orig_mod`.

    Everything else is the other one's: attributes are read from it and written
    to it, `train()` and `eval()` reach it, its parameters are this one's too
    (with `_orig_mod.` before their names, as `torch.compile` has it).
    """

    # Attributes of its own.
    _OWN = frozenset({"_orig_mod", "_arguments", "forward", "_is_ready"})

    _orig_mod: torch.nn.Module

    def __init__(
        self,
        module: torch.nn.Module,
        call: Callable[..., Any],
        arguments: dict[str, Any],
    ) -> None:
        # Written behind Module.__setattr__, which wants __init__ to have run.
        self.__dict__["_is_ready"] = False
        super().__init__()
        self._orig_mod = module
        self.__dict__["_arguments"] = arguments
        self.__dict__["forward"] = (
            _LazyCall(self, call)
            if hasattr(module, "_initialize_hook")
            else call
        )
        self.__dict__["_is_ready"] = True

    # Runs what is under "forward", without a Python frame.
    __call__ = _C.ModuleCall(torch.nn.Module.__call__)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """That of what `torch.compile` gives, by which frameworks tell compiled
        modules, once somebody has loaded it.
        """
        module: Any = sys.modules.get("torch._dynamo.eval_frame")
        return getattr(module, "OptimizedModule", CompiledModule)

    @property
    def __signature__(self) -> inspect.Signature:
        """The other module's: `__call__` is written in C."""
        return inspect.signature(self._orig_mod)

    @property
    def training(self) -> bool:
        """The other module's."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        # Module.__init__ sets a default, which is not the module's.
        if self.__dict__["_is_ready"]:
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._OWN or hasattr(type(self), name) or not self._is_ready:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._OWN or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __reduce__(self) -> Any:
        return _compile_again, (self._orig_mod, self._arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = copy.deepcopy(self._orig_mod, memo)
        return _compile_again(copied, self._arguments)


def _compile_again(module: torch.nn.Module, arguments: dict[str, Any]) -> Any:
    import magneto

    if arguments.get("disable"):
        return magneto.disable(module, arguments.get("recursive", True))
    return magneto.compile(module, **arguments)


class _LazyCall:
    """The first call of a lazy module, which makes its parameters in plain
    Python; then it is like any other.
    """

    def __init__(self, owner: CompiledModule, call: Callable[..., Any]) -> None:
        self.owner = owner
        self.call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module: Any = self.owner._orig_mod
        if hasattr(module, "_initialize_hook"):
            module._infer_parameters(module, args, kwargs)
        self.owner.__dict__["forward"] = self.call
        return self.call(*args, **kwargs)
