# SPDX-License-Identifier: BSD-3-Clause
"""What magneto raises, besides the exceptions of the traced program itself."""

from __future__ import annotations

import functools
import sys
import traceback
from typing import Any


class MagnetoError(RuntimeError):
    """Base of all errors that magneto itself raises."""


class InternalError(MagnetoError):
    """A defect of magneto, raised if `config.raise_internal_errors` is on."""


class Unsupported(MagnetoError):
    """With `fullgraph=True`: something ends the graph before the function does.

    `reason` is the reason's short name, `meaning` what it means in general,
    `detail` what was met and `hint` what to do. `filename`, `line` and
    `function` say where in the compiled function, `user_stack` (a list of
    `traceback.FrameSummary`, the outermost first) where in what it calls.
    """

    reason = meaning = detail = hint = filename = function = ""
    line = 0
    user_stack: list[traceback.FrameSummary] = []


class SizeNotDynamic(MagnetoError):
    """A size that `torch._dynamo.mark_dynamic()` was called for, and that the
    compiled function needs to be what it is.
    """


class RecompileLimitExceeded(MagnetoError):
    """With `fullgraph=True`: a function was compiled `config.recompile_limit`
    times and its guards fail again.
    """


class RecompileError(MagnetoError):
    """A function would be compiled for other inputs, and the program has said
    that nothing shall be: `torch.compiler.set_stance("fail_on_recompile")`, or
    `torch._dynamo.config.error_on_recompile`.
    """


class MagnetoWarning(UserWarning):
    """Base of the warnings."""


class RecompileLimitWarning(MagnetoWarning):
    """A function reached `config.recompile_limit` and runs in plain Python."""


class InternalErrorWarning(MagnetoWarning):
    """A defect of magneto's; the function runs in plain Python."""


class GraphFailedWarning(MagnetoWarning):
    """A compiled graph raised where plain Python does not."""


class SkipFrame(MagnetoError):
    """Raised by a backend: don't compile this frame, run it as plain Python."""


class DataRefused(MagnetoError):
    """The backend can't compile a graph with numbers out of tensors in it: the
    graph is made anew, and breaks there. Programs don't meet this exception.
    """


class LstmRefused(MagnetoError):
    """The backend can't compile a graph with an LSTM on a CPU that is
    differentiated: the graph is made anew, and breaks there. Programs don't
    meet this exception.
    """


class InvalidBackend(MagnetoError):
    """The `backend` argument names no backend, or isn't one."""


class InvalidOptions(MagnetoError):
    """The `mode` or `options` argument isn't understood by the backend."""


class InvalidBackendResult(MagnetoError, TypeError):
    """A backend or a registered pass returned something unusable."""


class UnsafeOperator(MagnetoError):
    """The graph calls an operator that `config.unsafe_operators` refuses."""


class VerificationFailed(MagnetoError):
    """`config.verify_correctness`: the backend computes something else."""


class BackendCompilerFailed(MagnetoError):
    """A backend raised while it compiled; `__cause__` is what it raised.

    `inner_exception` is the same exception, as in `torch._dynamo.exc`.
    """

    def __init__(self, backend: object, inner_exception: Exception) -> None:
        self.backend_name = backend_name(backend)
        self.inner_exception = inner_exception
        # One line: the cause, which is shown above it, has them all.
        text = str(inner_exception).strip().partition("\n")[0]
        kind = type(inner_exception).__name__
        message = f"backend {self.backend_name!r} failed: {kind}"
        message += f": {text}" if text else ""
        hint = _hint_for(inner_exception)
        RuntimeError.__init__(self, f"{message}; {hint}" if hint else message)


def backend_failure(backend: object, cause: Exception) -> BackendCompilerFailed:
    """A `BackendCompilerFailed`, which programs that catch PyTorch's exception
    of that name catch too, where `torch._dynamo` is loaded.
    """
    dynamo = sys.modules.get("torch._dynamo.exc")
    if dynamo is None:
        return BackendCompilerFailed(backend, cause)
    return _failure_class(dynamo.BackendCompilerFailed)(backend, cause)


@functools.cache
def _failure_class(theirs: type[Exception]) -> Any:
    def init(self: Any, backend: object, cause: Exception) -> None:
        BackendCompilerFailed.__init__(self, backend, cause)
        # What handlers of PyTorch's exception may read.
        self.real_stack = None
        self.msg = str(self)
        self.first_useful_frame = None

    return type(
        "BackendCompilerFailed",
        (BackendCompilerFailed, theirs),
        {"__init__": init, "__module__": __name__},
    )


def backend_name(backend: object) -> str:
    """What a message calls a backend: its name, else its type's."""
    for attribute in ("compiler_name", "__name__"):
        name = getattr(backend, attribute, None)
        if isinstance(name, str):
            return name
    return type(backend).__name__


# Causes that a user can remove, by the name of their exception's type.
_HINTS = {
    "InvalidCxxCompiler": (
        "install a C++ compiler (Debian, Ubuntu: apt-get install g++), set the "
        "environment variable CXX to the one to use, or compile with "
        "backend='aot_eager' or backend='eager'"
    ),
    "TritonMissing": (
        "install Triton (pip install triton), or compile with "
        "backend='aot_eager' or backend='eager'"
    ),
}


def _hint_for(error: BaseException | None) -> str:
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if hint := _HINTS.get(type(error).__name__):
            return hint
        inner = getattr(error, "inner_exception", None)
        error = inner or error.__cause__ or error.__context__
    return ""
