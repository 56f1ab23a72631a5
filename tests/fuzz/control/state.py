# SPDX-License-Identifier: BSD-3-Clause
"""What `flow` and `contexts` compare: errors with their lines, results, and
torch's state, which is put back behind each run.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from typing import Any

import torch

# Imports much when it is first called; else each process of a run would, and
# the garbage collector would look through all that.
torch.use_deterministic_algorithms(False)


def told(error: BaseException | None, depth: int = 0) -> Any:
    """An error with what came before it and the lines it went through."""
    if error is None or depth > 6:
        return None
    lines = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == "<program>":
            lines.append((code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    inner = [told(e, depth + 1) for e in getattr(error, "exceptions", ())]
    return (
        type(error).__name__,
        str(error),
        lines,
        error.__suppress_context__,
        told(error.__cause__, depth + 1),
        told(error.__context__, depth + 1),
        inner,
    )


def shown(value: Any) -> Any:
    """What tells one result from another: tensors by what torch's state does
    to them.
    """
    if isinstance(value, torch.Tensor):
        return (
            None if value.is_meta else value.detach().tolist(),
            value.dtype,
            value.device,
            value.requires_grad,
            value.is_inference(),
            type(value.grad_fn).__name__,
        )
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [shown(each) for each in value]
    if isinstance(value, dict):
        return {repr(shown(k)): shown(v) for k, v in value.items()}
    return type(value).__name__ if " at 0x" in repr(value) else value


def torch_state() -> Any:
    """What holds for operations now."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cuda.flash_sdp_enabled(),
        torch.autograd.is_multithreading_enabled(),
        torch.get_float32_matmul_precision(),
    )


def leave_what_is_left() -> None:
    """What a program has entered and not left, but for what ends by dying."""
    gc.collect()
    while torch._C._len_torch_function_stack():
        torch._C._pop_torch_function_stack()
    while torch._C._autograd._top_saved_tensors_default_hooks(True):
        torch._C._autograd._pop_saved_tensors_default_hooks()
    torch.utils._device.CURRENT_DEVICE = None
    torch._GLOBAL_DEVICE_CONTEXT.device_context = None
    while torch.autocast_decrement_nesting() >= 0:
        pass
    torch.autocast_increment_nesting()
    torch.clear_autocast_cache()


@contextlib.contextmanager
def usual_state() -> Any:
    """Everything as a fresh process has it, behind the block."""
    with contextlib.ExitStack() as stack:
        for function, value in [
            (torch.set_grad_enabled, True),
            (torch.set_default_dtype, torch.float32),
            (torch.set_float32_matmul_precision, "highest"),
            (torch.use_deterministic_algorithms, False),
            (torch.autograd.set_multithreading_enabled, True),
            (torch.backends.cuda.enable_flash_sdp, True),
            (torch.backends.cuda.enable_mem_efficient_sdp, True),
            (torch.backends.cuda.enable_cudnn_sdp, True),
            (torch.backends.cuda.enable_math_sdp, True),
            (torch.backends.mkldnn.set_flags, True),
            (torch.set_autocast_cache_enabled, True),
            (functools.partial(torch.set_autocast_enabled, "cpu"), False),
            (functools.partial(torch.set_autocast_dtype, "cpu"),
             torch.bfloat16),
        ]:  # fmt: skip
            stack.callback(function, value)
        stack.callback(leave_what_is_left)
        yield
