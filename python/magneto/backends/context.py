# SPDX-License-Identifier: BSD-3-Clause
"""What is around a backend while it compiles.

AOTAutograd and inductor read PyTorch's tracing context: its fake mode and shape
environment, and what they leave there for each other. Making a fake mode costs
milliseconds, so it is made when somebody asks for it: a backend that only looks
at the graph never pays for it.
"""

from __future__ import annotations

import contextlib
import random
import traceback
from collections.abc import Iterator
from typing import Any

import torch
from torch._guards import _TLS, CompileContext, CompileId, TracingContext
from torch._subclasses.meta_utils import disable_inference_mode_for_fake_prop

from magneto.backends.exclusive import CompilerTurn
from magneto.backends.fake_mode import make_fake_mode
from magneto.backends.symbols import GraphSymbols
from magneto.untraced import untraced


class BackendContext(TracingContext):
    """A tracing context whose fake mode is made on demand.

    Args:
        example_inputs: the graph's inputs. The mode knows them from the start,
            with static shapes: left to itself, PyTorch would give each tensor
            that it meets symbolic sizes, and guards that nobody checks.
        turn: begins where the mode is asked for, as that is what PyTorch's
            compilers do first.
        symbols: of a graph with symbolic sizes: its mode and its inputs' fakes
            are used.

    """

    def __init__(
        self,
        example_inputs: list[Any],
        turn: CompilerTurn,
        symbols: GraphSymbols | None = None,
    ) -> None:
        self._fake_mode: Any = None
        self._symbols: GraphSymbols | None = None
        self._example_inputs: list[Any] | None = None
        # The mode remembers its tensors weakly.
        self._fake_inputs: list[Any] = []
        super().__init__(None)
        self._example_inputs = example_inputs
        self._turn = turn
        self._symbols = symbols

    @property
    def fake_mode(self) -> Any:
        """The mode whose tensors PyTorch's compilers trace with."""
        if self._fake_mode is None and self._example_inputs is not None:
            with untraced():
                self._make_mode(self._example_inputs)
        return self._fake_mode

    @property
    def fake_mode_was_asked_for(self) -> bool:
        """Whether a compiler of PyTorch's may have been at work, whatever it
        has found in its caches.
        """
        return self._fake_mode is not None

    def _make_mode(self, inputs: list[Any]) -> None:
        self._turn.begin()
        if self._symbols is not None:
            self._fake_mode = self._symbols.mode
            self._symbols.adopt_inputs()
            return
        mode = self._fake_mode = make_fake_mode()
        self._fake_inputs = [
            mode.from_tensor(value, static_shapes=True)
            for value in inputs
            if isinstance(value, torch.Tensor)
        ]

    @fake_mode.setter
    def fake_mode(self, mode: Any) -> None:
        self._fake_mode = mode

    def close(self) -> None:
        """The compilation is over: the inputs are forgotten. (The context may
        live on in what was compiled, for its backward.)
        """
        self._example_inputs = None
        self._fake_inputs = []
        if self._symbols is not None:
            self._symbols.close()
            self._symbols = None
        mode = self._fake_mode
        if mode is not None and mode.shape_env is not None:
            mode.shape_env.cleanup()


@contextlib.contextmanager
def without_aot_cache(is_wanted: bool) -> Iterator[None]:
    """Of a graph that AOTAutograd finds in its cache it doesn't tell what it
    has found out about it; so graphs of which that is asked aren't looked for
    there.
    """
    if not is_wanted:
        yield
        return
    from torch._functorch import config

    with config.patch(enable_autograd_cache=False):
        yield


@contextlib.contextmanager
def outside_of_inference_mode() -> Iterator[None]:
    """What is compiled in inference mode is compiled as without gradients:
    PyTorch's compilers take views for tensors of that mode, even where they are
    views of others. What they make runs in the mode.
    """
    if not torch.is_inference_mode_enabled():
        yield
        return
    with (
        torch.inference_mode(False),
        torch.no_grad(),
        disable_inference_mode_for_fake_prop(),
    ):
        yield


def leave_states_of(error: BaseException | None) -> None:
    """Lets go of what the frames hold that an error has left: an inference mode
    that the graph has entered ends when its guard dies, and puts back what held
    inside of the compiler. Later, that would be left to the whole program.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


@contextlib.contextmanager
def compiling(context: BackendContext, compile_id: CompileId) -> Iterator[None]:
    """Installs the context; restores global state that a backend may change:
    grad mode, and the states of Python's and torch's random generators.
    """
    outer = (
        getattr(_TLS, "tracing_context", None),
        getattr(_TLS, "compile_context", None),
    )
    grad_enabled = torch.is_grad_enabled()
    random_states = (
        random.getstate(),
        torch.get_rng_state(),
        _device_rng_states(),
    )
    _TLS.tracing_context = context
    _TLS.compile_context = CompileContext(compile_id)
    try:
        yield
    finally:
        _TLS.tracing_context, _TLS.compile_context = outer
        context.close()
        torch._C._set_grad_enabled(grad_enabled)
        random.setstate(random_states[0])
        torch.set_rng_state(random_states[1])
        if random_states[2] is not None:
            torch.cuda.set_rng_state_all(random_states[2])


def _device_rng_states() -> list[torch.Tensor] | None:
    return (
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    )
