# SPDX-License-Identifier: BSD-3-Clause
"""The oracle: one program run eagerly and compiled, everything compared."""

from __future__ import annotations

import contextlib
import copy
import io
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from magneto.backends import lookup_backend
from magneto.testing.compare import Difference, compare
from magneto.testing.graphs import RecordingBackend

behind: str | None = None
"""The backend that compiles the graphs of programs that are given none; None:
they run as they were captured. For running all tests against another one:
what such a backend may do otherwise isn't compared."""

_ROUNDING = {"rtol": 1e-5, "atol": 1e-6}
"""PyTorch's compilers take operators apart, which rounds otherwise."""


@dataclass
class Run:
    """What one call of the program did, to itself and to the world."""

    result: Any
    error: BaseException | None
    inputs: Any
    program: Any
    stdout: str
    stderr: str
    random_states: Any


@dataclass
class Report:
    """What the compiled side did in a `check` that found no difference.

    `graphs` is the backend's graph modules; the other counts come from
    `magneto.stats()`, over all calls.
    """

    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    graph_breaks: int = 0
    recompiles: int = 0


def check(
    fn: Callable[..., Any],
    *inputs: Any,
    kwargs: dict[str, Any] | None = None,
    calls: int = 2,
    **options: Any,
) -> Report:
    """Compare `fn(*inputs, **kwargs)` eager and compiled, `calls` times each.

    The first call traces, the later ones should hit. For `options` see
    `check_calls`.
    """
    return check_calls(fn, [(inputs, kwargs or {})] * calls, **options)


def check_calls(
    fn: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
    *,
    backward: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    backend: Callable[..., Any] | None = None,
    graphs: int | None = None,
    graph_breaks: int | None = None,
    recompiles: int | None = None,
    **compile_options: Any,
) -> Report:
    """Run a series of calls eagerly and compiled; raise `Difference` if unlike.

    Each call is (positional arguments, keyword arguments). Both sides get
    copies of their own, with aliases between arguments kept; an `nn.Module` is
    copied too, once for each side, so that its state carries over from call to
    call. Compared after each call: result or exception (type, text, user's
    traceback), the inputs and the module as they are now, printed text, and the
    state of Python's, NumPy's and torch's random generators (of GPUs, too).

    With `backward`, the floating point tensors of the result are summed and
    differentiated, and gradients are compared too. `graphs`, `graph_breaks` and
    `recompiles`, if given, are the counts expected over all calls.
    `compile_options` go to `magneto.compile`.
    """
    import magneto

    if backend is None and behind is not None:
        backend = lookup_backend(behind)
        rtol = max(rtol, _ROUNDING["rtol"])
        atol = max(atol, _ROUNDING["atol"])
        # It guards what its own fakes have compared.
        recompiles = None
    recorder = RecordingBackend(backend)
    eager_program = _copy(fn)
    program = _copy(fn)
    before = dict(magneto.stats())
    compiled = magneto.compile(program, backend=recorder, **compile_options)
    with _strict(magneto):
        for number, (args, kwargs) in enumerate(calls):
            expected = _run(
                eager_program, eager_program, args, kwargs, backward, number
            )
            actual = _run(compiled, program, args, kwargs, backward, number)
            _compare_runs(expected, actual, number, rtol, atol)
    after = magneto.stats()

    def counted(name: str) -> int:
        return after.get(name, 0) - before.get(name, 0)

    report = Report(
        recorder.graphs, counted("graph_breaks"), counted("recompiles")
    )
    for what, wanted, got in (
        ("graphs", graphs, len(report.graphs)),
        ("graph breaks", graph_breaks, report.graph_breaks),
        ("recompiles", recompiles, report.recompiles),
    ):
        if wanted is not None and wanted != got:
            raise Difference(f"{got} {what}, expected {wanted}")
    return report


@contextlib.contextmanager
def _strict(magneto: Any) -> Any:
    """A defect inside magneto must not hide behind its fallback."""
    old = magneto.config.raise_internal_errors
    magneto.config.raise_internal_errors = True
    try:
        yield
    finally:
        magneto.config.raise_internal_errors = old


def _copy(value: Any) -> Any:
    """A deep copy in which tensors with a history become leaves."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value)
    if callable(value):
        return value
    memo: dict[int, Any] = {}
    for leaf in torch.utils._pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf:
            clone = leaf.detach().clone(memory_format=torch.preserve_format)
            memo[id(leaf)] = clone.requires_grad_(leaf.requires_grad)
    return copy.deepcopy(value, memo)


def _run(
    call: Callable[..., Any],
    program: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    backward: bool,
    seed: int,
) -> Run:
    inputs = _copy((tuple(args), kwargs))
    _seed(seed)
    result, error = None, None
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        try:
            result = call(*inputs[0], **inputs[1])
            if backward:
                _differentiate(result)
        except Exception as caught:
            error = caught
    return Run(
        result,
        error,
        inputs,
        _state(program),
        stdout.getvalue(),
        _TORCH_LOG.sub("", stderr.getvalue()),
        _random_states(),
    )


# What PyTorch's logs write, each line with its level and its time, isn't the
# program's. Since 2.14 they write to sys.stderr as it is at that moment.
_TORCH_LOG = re.compile(
    r"^[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S+:\d+\] .*\n", re.MULTILINE
)


def _state(program: Any) -> Any:
    """The part of a program that `_copy` gave a copy of its own."""
    if not isinstance(program, torch.nn.Module):
        return None
    return (dict(program.named_parameters()), dict(program.named_buffers()))


def _differentiate(result: Any) -> None:
    total = sum(
        leaf.float().sum()
        for leaf in torch.utils._pytree.tree_leaves(result)
        if isinstance(leaf, torch.Tensor)
        and leaf.requires_grad
        and leaf.is_floating_point()
    )
    if isinstance(total, torch.Tensor):
        total.backward()


def _compare_runs(
    a: Run, b: Run, number: int, rtol: float, atol: float
) -> None:
    if (a.error is None) != (b.error is None):
        unexpected = b.error or a.error
        side = "compiled" if b.error else "eager"
        raise Difference(
            f"call {number}: only {side} raised {unexpected!r}"
        ) from unexpected
    try:
        compare(
            {
                "result": a.result,
                "inputs": a.inputs,
                "module": a.program,
                "exception": a.error,
                "stdout": a.stdout,
                "stderr": a.stderr,
                "random": a.random_states,
            },
            {
                "result": b.result,
                "inputs": b.inputs,
                "module": b.program,
                "exception": b.error,
                "stdout": b.stdout,
                "stderr": b.stderr,
                "random": b.random_states,
            },
            rtol=rtol,
            atol=atol,
            where=f"call {number}",
        )
    except Difference as difference:
        if b.error is not None:
            raise difference from b.error
        raise


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def _random_states() -> Any:
    states: list[Any] = [random.getstate(), torch.get_rng_state()]
    if torch.cuda.is_initialized():
        states += torch.cuda.get_rng_state_all()
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        states.append((kind, keys.tolist(), *rest))
    return states
