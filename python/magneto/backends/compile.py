# SPDX-License-Identifier: BSD-3-Clause
"""The way from a captured graph through a backend to a callable."""

from __future__ import annotations

import contextlib
import copy
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import CompileId, DuplicateInputs
from torch.autograd import forward_ad

from magneto import heard_settings, logs
from magneto.backends import (
    aliasing,
    effects,
    grad_mode,
    graph_passes,
    meta_tensors,
    safety,
)
from magneto.backends.context import (
    BackendContext,
    compiling,
    leave_states_of,
    outside_of_inference_mode,
    without_aot_cache,
)
from magneto.backends.exclusive import CompilerTurn
from magneto.backends.fake_mode import make_fake_mode
from magneto.backends.floats import (
    TensorsForFloats,
    float_positions,
    take_tensors,
    with_tensors,
)
from magneto.backends.registry import NamedBackend
from magneto.backends.symbols import FloatForm, GraphSymbols
from magneto.end_reason import EndReason
from magneto.exc import (
    BackendCompilerFailed,
    DataRefused,
    InvalidBackendResult,
    LstmRefused,
    MagnetoError,
    SkipFrame,
    backend_failure,
    backend_name,
)
from magneto.graph_module import (
    CapturedGraphModule,
    capture_module,
    fast_forward,
    graph_function,
)
from magneto.untraced import untraced

log = logging.getLogger("magneto.backends")

_GRAPH_LOGS = ("graph_code", "graph", "graph_sizes")


def compile_graph(
    backend: Callable[..., Any],
    handle: Any,
    example_inputs: list[Any],
    *,
    frame_id: int = 0,
    compile_id: int = 0,
    restart: int = 0,
    reason: dict[str, Any] | None = None,
    guards: list[tuple[Any, ...]] | None = None,
    is_symbolic: bool = False,
    may_refuse_data: bool = False,
    must_be_whole: bool = False,
    differentiates_lstm: bool = False,
    may_refuse_lstm: bool = False,
    written: Sequence[int] = (),
) -> Callable[..., Any]:
    """Compiles a captured graph.

    Args:
        backend: what `lookup_backend()` returned.
        handle: the graph, a `magneto._C.Graph`.
        example_inputs: the real inputs of the call that is being compiled, in
            the graph's order; distinct objects, as a trace makes one input of
            each object (AOTAutograd can't compile for anything else).
        frame_id: number of the frame, for logs: `[frame_id/compile_id]`.
        compile_id: number of the compilation of that frame.
        restart: how often its analysis was restarted.
        reason: why the graph ends where it ends; becomes
            `gm.compile_subgraph_reason`.
        guards: relations between inputs that the compiled callable relies on
            are appended: ("same", i, j), inputs i and j must be one object;
            ("condition", tree), a condition on the graph's symbols (see
            `magneto.backends.symbols`); ("forward mode",), that the program is
            within a level of forward-mode differentiation, or that it isn't.
        is_symbolic: whether sizes or numbers in the graph are symbols.
        may_refuse_data: whether the graph has numbers out of tensors in it, and
            can be had without.
        must_be_whole: whether the program wants no plain Python instead.
        differentiates_lstm: whether an LSTM on a CPU that is differentiated is
            in the graph, or was in a part of it that was taken back.
        may_refuse_lstm: whether the graph can be had without that.
        written: which of the inputs the graph writes to.

    Returns:
        A callable that takes the graph's inputs by position and returns a tuple
        of its outputs.

    Raises:
        SkipFrame: the backend doesn't want this frame to be compiled.
        DataRefused: it can't compile the graph with numbers out of tensors.
        LstmRefused: it can't differentiate the graph's LSTM.
        BackendCompilerFailed: the backend raised.
        InvalidBackendResult: it returned something that can't be called.
        VerificationFailed, UnsafeOperator: see `magneto.config`.

    """
    safety.check_operators(handle)
    if _runs_graph_as_it_is(backend):
        return graph_function(handle)
    turn = CompilerTurn()
    compilation = _Compilation(
        backend=backend,
        turn=turn,
        handle=handle,
        example_inputs=example_inputs,
        identity=CompileId(frame_id=frame_id, frame_compile_id=compile_id),
        restart=restart,
        reason=EndReason(**(reason or {})),
        may_refuse_data=may_refuse_data,
        differentiates_lstm=(
            differentiates_lstm and torch.lstm in handle.targets()
        ),
        may_refuse_lstm=may_refuse_lstm,
        written=written,
        is_without_gradients=not torch.is_grad_enabled(),
        is_in_inference_mode=torch.is_inference_mode_enabled(),
    )
    with (
        turn,
        torch._C._PreserveDispatchKeyGuard(),
        outside_of_inference_mode(),
    ):
        if isinstance(backend, NamedBackend):
            turn.begin()
        try:
            compiled, relations = compilation.run(is_symbolic)
        except BackendCompilerFailed as error:
            if must_be_whole or not heard_settings.value("suppress_errors"):
                raise
            log.warning("%s; the frame runs as plain Python", error)
            raise SkipFrame(str(error)) from error
    if guards is not None:
        guards.extend(relations)
    return compiled


# What autograd says of a tensor that a backward needs as it was.
_WRITTEN_BEFORE_BACKWARD = "has been modified by an inplace operation"


@dataclass(slots=True)
class _Compilation:
    backend: Callable[..., Any]
    # Somebody's own backend has its turn once it uses PyTorch's compilers: it
    # may do anything else before, such as wait for another thread.
    turn: CompilerTurn
    handle: Any
    example_inputs: list[Any]
    identity: CompileId
    restart: int
    reason: EndReason
    may_refuse_data: bool
    differentiates_lstm: bool
    may_refuse_lstm: bool
    written: Sequence[int]
    is_without_gradients: bool
    is_in_inference_mode: bool

    def run(
        self, is_symbolic: bool
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        """The callable, and the relations between inputs that it relies on."""
        if not is_symbolic:
            return self.compile(None, [])
        examples = self.handle.input_examples()
        floats = float_positions(examples)
        if not floats or _takes_floats(self.backend):
            symbols = GraphSymbols(
                examples, self.example_inputs, FloatForm.Symbol
            )
            return self.compile(symbols, [])
        inputs = with_tensors(self.example_inputs, floats)
        for i in floats:
            examples[i] = inputs[i]
        try:
            return self.compile(
                GraphSymbols(examples, inputs, FloatForm.Data), floats
            )
        except (BackendCompilerFailed, DataRefused, SkipFrame) as error:
            log.info(
                "backend %r can't compile a graph with floats that vary (%s); "
                "it compiles for each of them",
                backend_name(self.backend),
                error,
            )
        symbols = GraphSymbols(
            self.handle.input_examples(),
            self.example_inputs,
            FloatForm.Constant,
        )
        return self.compile(symbols, [])

    def compile(
        self, symbols: GraphSymbols | None, floats: list[int]
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        """The same with `floats`, positions of inputs, given as tensors."""
        inputs = self.example_inputs
        if symbols is not None:
            inputs = symbols.backend_inputs()
        gm = capture_module(
            self.handle,
            self.example_inputs,
            _module_meta(self.handle, self.identity),
            symbols,
        )
        state = gm.__dict__
        state["compile_subgraph_reason"] = self.reason
        state["_param_name_to_source"] = {}
        state["_source_to_user_stacks"] = {}
        if symbols is not None and floats:
            take_tensors(gm, floats, inputs, symbols.fake_input)
        suffix = f"_{self.restart}" if self.restart else ""
        _log_graph(gm, f"{self.identity}{suffix}")
        if isinstance(self.backend, NamedBackend):
            effect = effects.call_without_tensors(self.handle, gm)
            if effect:
                log.info(
                    "%s is marked with allow_in_graph and gives no tensor: "
                    "backend %r would call it once, while it compiles; the "
                    "graph runs uncompiled",
                    effect,
                    backend_name(self.backend),
                )
                return _reference(gm), []
        turns_on = self.is_without_gradients and grad_mode.turns_on(
            self.handle, gm
        )
        begins_off = turns_on and not self.is_in_inference_mode
        if begins_off:
            grad_mode.turn_off_first(gm)
        context = BackendContext(self.example_inputs, self.turn, symbols)
        relations: list[tuple[Any, ...]] = []
        is_within_level = forward_ad._current_level >= 0
        with (
            compiling(context, self.identity),
            torch.set_grad_enabled(begins_off or torch.is_grad_enabled()),
        ):
            transformed = graph_passes.run_passes(gm, inputs)
            reference = _reference(transformed)
            misleads = (
                # That has none, whatever the graph turns on.
                "turns gradients on in an inference mode"
                if turns_on and self.is_in_inference_mode
                # What it makes there would be the mode's all the same.
                else "turns an inference mode off"
                if self.is_in_inference_mode
                and grad_mode.turns_inference_off(self.handle, gm)
                else "may be given tensors with tangents"
                if is_within_level
                else self._misleads_autograd(symbols)
            )
            try:
                with without_aot_cache(
                    bool(misleads)
                    or self.differentiates_lstm
                    or (bool(self.written) and aliasing.may_reshape(gm))
                    or bool(aliasing.shared(self.example_inputs, self.written))
                ):
                    compiled = fast_forward(
                        _call_backend(
                            self.backend,
                            transformed,
                            inputs,
                            self.may_refuse_data,
                        )
                    )
                if begins_off:
                    compiled = grad_mode.CalledWithGradients(compiled)
            except BackendCompilerFailed as error:
                if not (
                    misleads
                    or self._is_refused(error, gm)
                    or (not floats and self._is_the_programs(error, reference))
                ):
                    raise
                log.info(
                    "backend %r fails (%s); the graph runs uncompiled",
                    backend_name(self.backend),
                    error,
                )
                compiled = reference
            if context.fake_mode_was_asked_for or is_within_level:
                relations.append(("forward mode",))
            # It keeps less for its backward than AOTAutograd expects.
            if self.differentiates_lstm and context.fw_metadata is not None:
                if self.may_refuse_lstm:
                    raise LstmRefused
                misleads = "differentiates an LSTM on a CPU"
            if context.fw_metadata is None:
                misleads = ""
            misleads = self._has_misled(context, gm) or misleads
            if misleads:
                log.info(
                    "backend %r gets a graph that %s; it runs uncompiled",
                    backend_name(self.backend),
                    misleads,
                )
                compiled = reference
            if floats:
                reference = TensorsForFloats(reference, floats)
                compiled = TensorsForFloats(compiled, floats)
            verifies = heard_settings.value("verify_correctness")
            if verifies and compiled is not reference:
                from magneto.backends.verify import verify

                verify(self.backend, reference, compiled, self.example_inputs)
        relations += _duplicate_inputs(context)
        if symbols is not None:
            relations += [("condition", each) for each in symbols.conditions()]
        if compiled is not reference and aliasing.writes_inputs(
            context, self.written
        ):
            compiled = aliasing.AliasChecked(
                compiled, reference, self.example_inputs
            )
        return compiled, relations

    def _is_refused(
        self, error: BackendCompilerFailed, gm: torch.fx.GraphModule
    ) -> bool:
        """Whether AOTAutograd asserts that inputs which are written to and
        share memory are views of one tensor that it knows, or that all tensors
        are fakes.
        """
        return isinstance(error.__cause__, AssertionError) and (
            bool(aliasing.shared(self.example_inputs, self.written))
            or meta_tensors.are_made_of_data(self.handle, gm)
        )

    def _is_the_programs(
        self, error: BackendCompilerFailed, reference: Callable[..., Any]
    ) -> bool:
        """Whether the graph itself raises that, when it runs or in its
        backward: the program is to see its own error, where it comes.
        """
        cause = error.__cause__
        if _WRITTEN_BEFORE_BACKWARD in str(cause):
            return True
        mode = make_fake_mode()
        try:
            with untraced(), mode:
                reference(
                    *[
                        mode.from_tensor(value, static_shapes=True)
                        if isinstance(value, torch.Tensor)
                        else value
                        for value in self.example_inputs
                    ]
                )
        except Exception as own:
            return _first_line(own) == _first_line(cause)
        return False

    def _has_misled(
        self, context: BackendContext, gm: torch.fx.GraphModule
    ) -> str:
        """What the graph does that PyTorch's compilers have made something else
        of, where they were at work; empty if nothing.
        """
        if not context.fake_mode_was_asked_for:
            return ""
        # Also of a graph that was found in their caches.
        if aliasing.writes_to_one_place(gm):
            return "writes to a tensor whose items are in one place"
        if aliasing.returns_views(context) and aliasing.shared(
            self.example_inputs, self.written
        ):
            return "writes to inputs that share memory and gives views"
        if aliasing.reshapes_inputs(context):
            return "changes the shape of an input in place"
        return ""

    def _misleads_autograd(self, symbols: GraphSymbols | None) -> str:
        """What the graph does that AOTAutograd makes something else of; empty
        if nothing.
        """
        if aliasing.sets_data(self.handle):
            return "gives a tensor the memory of another"
        if not self.written:
            return ""
        examples = symbols.examples if symbols else self.handle.input_examples()
        hint = symbols.hint if symbols else int
        if any(
            aliasing.is_reshaped(self.example_inputs[i], examples[i], hint)
            for i in self.written
        ):
            return "changes the shape of an input in place"
        if any(
            aliasing.overlaps_itself(self.example_inputs[i])
            for i in self.written
        ):
            return "writes to an input whose items are in one place"
        if symbols and aliasing.are_hidden(
            self.example_inputs, examples, self.written
        ):
            return "writes to inputs whose sizes vary and which share memory"
        return ""


def _takes_floats(backend: Callable[..., Any]) -> bool:
    """Whether a backend compiles for floats that vary. PyTorch's own fail, and
    most of those that somebody wrote call them.
    """
    if isinstance(backend, NamedBackend):
        return backend.compiler_name == "eager"
    return bool(getattr(backend, "takes_symbolic_floats", False))


def _runs_graph_as_it_is(backend: Callable[..., Any]) -> bool:
    """Nothing wants to see the graph: neither a backend, a pass nor a log."""
    return (
        isinstance(backend, NamedBackend)
        and backend.compiler_name == "eager"
        and not backend.options
        and not graph_passes.registered_passes()
        and not any(map(logs.enabled, _GRAPH_LOGS))
    )


def _module_meta(handle: Any, identity: CompileId) -> dict[str, Any]:
    """`gm.meta`. PyTorch's compilers call the parameter `layer.weight` of
    `L['self']` `L__self___layer_weight`, and look up there what it is.
    """
    roots: dict[str, str] = {}
    flat_names = {}
    for source_name, attribute_path in handle.attribute_paths():
        root = source_name.partition("._")[0]
        if root not in roots:
            roots[root] = re.sub(r"[^0-9a-zA-Z]", "_", root)
        flat_path = attribute_path.replace(".", "_")
        flat_names[f"{roots[root]}_{flat_path}"] = attribute_path
    return {
        "dynamo_flat_name_to_original_fqn": flat_names,
        "dynamo_compile_id": identity,
    }


def _log_graph(gm: CapturedGraphModule, identity: str) -> None:
    for name in filter(logs.enabled, _GRAPH_LOGS):
        from magneto import graph_text

        text_of, data_of = graph_text.LOGS[name]
        logs.emit(name, identity, text_of(gm), data_of(gm))


def _deferred_collections() -> contextlib.AbstractContextManager[None]:
    """Since 2.15 Python's full collections wait while PyTorch compiles, as long
    as its setting `gc_gen2_threshold_during_compile` says.
    """
    utils = sys.modules.get("torch._dynamo.utils")
    deferred = getattr(utils, "deferred_full_gc", contextlib.nullcontext)
    return deferred()


def _call_backend(
    backend: Callable[..., Any],
    gm: torch.fx.GraphModule,
    example_inputs: list[Any],
    may_refuse_data: bool,
) -> Callable[..., Any]:
    try:
        with _deferred_collections():
            compiled = backend(gm, list(example_inputs))
    except MagnetoError:
        raise
    except Exception as error:
        if torch.is_inference_mode_enabled():
            leave_states_of(error)
        if may_refuse_data and _is_about_data(backend, error):
            log.info(
                "backend %r can't compile a graph with numbers out of tensors "
                "(%s: %s); the graph breaks there",
                backend_name(backend),
                type(error).__name__,
                error,
            )
            raise DataRefused from error
        _raise_skip(backend, error)
        raise backend_failure(backend, error) from error
    if not callable(compiled):
        raise InvalidBackendResult(
            f"backend {backend_name(backend)!r} returned "
            f"{_described(compiled)}; a backend must return a callable"
        )
    return compiled


def _first_line(error: BaseException | None) -> str:
    """What it says, without what a compiler has added."""
    return f"{type(error).__name__}: {error}".split("\n", 1)[0]


def _reference(gm: torch.fx.GraphModule) -> Callable[..., Any]:
    """The graph's own meaning, safe from what the backend does to `gm`."""
    forward = gm.__dict__.get("forward")
    if forward is not None:
        return forward
    return copy.deepcopy(gm)


def _is_about_data(backend: Callable[..., Any], error: Exception) -> bool:
    """Whether a backend may have failed for numbers out of tensors. PyTorch's
    own do so in many ways, most with words that are about something else.
    """
    if isinstance(backend, NamedBackend):
        return True
    return isinstance(error, _data_errors())


def _data_errors() -> tuple[type[Exception], ...]:
    """What PyTorch's compilers raise when a result's shape or value depends on
    data; none where nobody has imported them.
    """
    symbolic_shapes = sys.modules.get("torch.fx.experimental.symbolic_shapes")
    fake_tensor = sys.modules.get("torch._subclasses.fake_tensor")
    if symbolic_shapes is None or fake_tensor is None:
        return ()
    return (
        symbolic_shapes.GuardOnDataDependentSymNode,
        symbolic_shapes.PendingUnbackedSymbolNotFound,
        fake_tensor.DataDependentOutputException,
        fake_tensor.DynamicOutputShapeException,
    )


def _raise_skip(backend: Callable[..., Any], error: Exception) -> None:
    """Raises SkipFrame where the error means "not this frame"."""
    dynamo = sys.modules.get("torch._dynamo.exc")
    if dynamo is not None and isinstance(error, dynamo.SkipFrame):
        raise SkipFrame(str(error)) from error
    fake_tensor = sys.modules.get("torch._subclasses.fake_tensor")
    if fake_tensor is None:
        return
    unsupported = fake_tensor.UnsupportedOperatorException
    if isinstance(error, (unsupported, *_data_errors())):
        name = backend_name(backend)
        log.warning(
            "backend %r can't compile this graph (%s: %s); the frame runs as "
            "plain Python",
            name,
            type(error).__name__,
            _first_line(error),
        )
        raise SkipFrame(f"backend {name!r}: {error}") from error


def _described(value: Any) -> str:
    text = repr(value)
    kind = type(value).__name__
    return kind if value is None or len(text) > 60 else f"{text} ({kind})"


def _duplicate_inputs(
    context: BackendContext,
) -> Iterator[tuple[str, int, int]]:
    """What AOTAutograd found out about inputs that are one object."""
    for guard in context.guards_context.aotautograd_guards:
        if isinstance(guard, DuplicateInputs):
            one, other = guard.input_source_a, guard.input_source_b
            yield "same", one.position, other.position
