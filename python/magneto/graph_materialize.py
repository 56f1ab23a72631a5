# SPDX-License-Identifier: BSD-3-Clause
"""Makes the torch.fx graph of a captured graph.

Its nodes carry the metadata that PyTorch's backends and people's passes read:
`example_value`, `stack_trace`, `nn_module_stack`, `source_fn_stack`, and inputs
`tensor_dict`, `grapharg` and their source.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import Source

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NN_MODULES = os.path.join("torch", "nn", "modules") + os.sep


class InputSource(Source):
    """Where a graph input comes from, for PyTorch's compilers: equal sources
    are the same input.
    """

    def __init__(self, name: str, position: int) -> None:
        self.source_name = name
        self.position = position  # among the graph's inputs

    @property
    def _name_template(self) -> str:
        return self.source_name

    @property
    def guard_source(self) -> Any:  # type: ignore[override]
        """A kind that PyTorch's compilers take for an ordinary input."""
        from torch._guards import GuardSource

        return GuardSource.LOCAL

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InputSource)
            and self.source_name == other.source_name
            and self.position == other.position
        )

    def __hash__(self) -> int:
        return hash(self.source_name)

    def __repr__(self) -> str:
        return f"InputSource({self.source_name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # PyTorch's caches keep the symbols of a graph, which have sources.
        return InputSource, (self.source_name, self.position)


@dataclass(slots=True)
class InputArgument:
    """What `node.meta["grapharg"]` tells of an input."""

    source: InputSource
    fake_tensor: Any
    is_tensor: bool
    example_ref: Any

    @property
    def example(self) -> Any:
        """The input's value when the graph was captured; None once it died."""
        return None if self.example_ref is None else self.example_ref()


def materialize(captured: Any) -> torch.fx.Graph:
    """A new torch.fx graph of `captured`, a `graph_module.Captured`."""
    return _Materializer(captured).run()


def _callers_of(captured: Any) -> list[tuple[str, Any]]:
    """The calls that a nested graph is in, outermost first."""
    callers = []
    while (outer := captured.outer) is not None:
        if outer.callers is None:
            outer.callers = outer.handle.callers()
        callers.append(outer.callers[captured.name])
        captured = outer
    return callers[::-1]


class _Materializer:
    def __init__(self, captured: Any) -> None:
        handle = captured.handle
        self.handle = handle
        self.input_refs = captured.input_refs
        self.graph = torch.fx.Graph()
        self.inputs = {
            entry[0]: (i, entry) for i, entry in enumerate(handle.inputs())
        }
        self.recorded_names = handle.recorded_names()
        self.is_nested = captured.outer is not None
        self.callers = _callers_of(captured)
        self.examples = FakeExamples(handle.examples(), _fakes_of(captured))
        self.origins = handle.origins()
        self.stacks = StackTraces(handle.locations())
        self.module_stacks = ModuleStacks(handle.scopes())

    def run(self) -> torch.fx.Graph:
        self.handle.build(self.create)
        return self.graph

    def create(
        self,
        index: int,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
    ) -> torch.fx.Node:
        node = self.graph.create_node(op, target, args, kwargs, name)
        location, scope = self.origins[index]
        meta = node.meta
        if scope is not None:
            meta["nn_module_stack"] = self.module_stacks.entries(scope).copy()
        if op in ("call_function", "call_method"):
            function = self.source_function(target, scope)
            call = (self.recorded_names[index], function)
            meta["source_fn_stack"] = [*self.callers, call]
        if location is not None and (trace := self.stacks.text(location)):
            meta["stack_trace"] = trace
        if op == "placeholder":
            self.describe_input(node, index)
        elif op != "output":
            example = self.examples.of(index)
            if example is not None:
                meta["example_value"] = example
        return node

    def source_function(self, target: Any, scope: int | None) -> Any:
        """The module's class where a module of PyTorch's own made the call."""
        module_type = self.module_stacks.innermost_type(scope)
        return target if module_type is None else module_type

    def describe_input(self, node: torch.fx.Node, index: int) -> None:
        position, (_, _, _, source_name, _, kind) = self.inputs[index]
        example = self.examples.of(index, is_parameter=kind == "parameter")
        if example is not None:
            node.meta["example_value"] = example
        if self.is_nested:
            return  # it is given what a node outside computes
        mark = self.static_mark(position, kind)
        node.meta["tensor_dict"] = (
            {"_dynamo_static_input_type": mark} if mark else {}
        )
        input_source = InputSource(source_name, position)
        is_tensor = isinstance(example, torch.Tensor)
        node.meta["grapharg"] = InputArgument(
            input_source,
            example if is_tensor else None,
            is_tensor,
            self.input_ref(position),
        )
        node._dynamo_source = input_source  # type: ignore[attr-defined]

    def input_ref(self, position: int) -> Any:
        refs = self.input_refs
        return refs[position] if position < len(refs) else None

    def static_mark(self, position: int, kind: str) -> str | None:
        """Of an input that stays the same object from call to call, and whose
        address PyTorch's compilers may therefore rely on.
        """
        ref = self.input_ref(position)
        tensor = None if ref is None else ref()
        if isinstance(tensor, torch.Tensor):
            mark = tensor.__dict__.get("_dynamo_static_input_type")
            if mark is not None:
                return mark  # torch._dynamo.mark_static_address()
        return "unguarded" if kind in ("parameter", "buffer") else None


class StackTraces:
    """Texts of the user's stack, each made once."""

    def __init__(self, locations: list[tuple[Any, int, int | None]]) -> None:
        self.locations = locations
        self.texts: dict[int, str] = {}

    def text(self, location: int) -> str:
        """Frames from the outermost to the innermost, as tracebacks show them,
        without those of torch.nn's own modules and of magneto's.
        """
        cached = self.texts.get(location)
        if cached is None:
            code, instruction, caller = self.locations[location]
            outer = "" if caller is None else self.text(caller)
            cached = self.texts[location] = outer + _frame_text(
                code, instruction
            )
        return cached


def frame_summary(code: Any, instruction: int) -> traceback.FrameSummary:
    """The place of an instruction, given by its byte offset."""
    line, end_line, column, end_column = _position(code, instruction)
    return traceback.FrameSummary(
        code.co_filename,
        line,
        code.co_name,
        lookup_line=False,
        end_lineno=end_line,
        colno=column,
        end_colno=end_column,
    )


def _frame_text(code: Any, instruction: int) -> str:
    filename = code.co_filename
    if _NN_MODULES in filename or filename.startswith(_OWN_FOLDER):
        return ""
    summary = traceback.StackSummary.from_list(
        [frame_summary(code, instruction)]
    )
    return "".join(summary.format())


def _position(code: Any, instruction: int) -> tuple[Any, Any, Any, Any]:
    for i, position in enumerate(code.co_positions()):
        if i == instruction // 2:
            return position
    return code.co_firstlineno, None, None, None


class ModuleStacks:
    """`nn_module_stack` of each scope: {key of the module: (path, class)}."""

    def __init__(self, scopes: list[tuple[int, str, type, int | None]]) -> None:
        self.scopes = scopes
        self.cache: dict[int, dict[str, tuple[str, type]]] = {}

    def entries(self, scope: int) -> dict[str, tuple[str, type]]:
        """The modules around a call in this scope, the outermost first."""
        cached = self.cache.get(scope)
        if cached is None:
            address, path, module_type, outer = self.scopes[scope]
            cached = {} if outer is None else self.entries(outer).copy()
            cached[str(address)] = (path, module_type)
            self.cache[scope] = cached
        return cached

    def innermost_type(self, scope: int | None) -> type | None:
        """The class of the innermost module, when PyTorch itself defines it and
        it is no mere container.
        """
        if scope is None:
            return None
        module_type = self.scopes[scope][2]
        place = module_type.__module__
        is_builtin = place.startswith(("torch.nn.modules", "torch.ao."))
        if is_builtin and not place.startswith("torch.nn.modules.container"):
            return module_type
        return None


def _fakes_of(captured: Any) -> Fakes:
    """Those of the whole tree: a value that is lifted into a nested graph is
    one tensor there and outside.
    """
    while captured.outer is not None:
        captured = captured.outer
    if captured.fakes is None:
        captured.fakes = Fakes(captured.symbols)
    return captured.fakes


class FakeExamples:
    """Example values of a graph's nodes."""

    def __init__(self, examples: list[Any], fakes: Fakes) -> None:
        self.examples = examples
        self.fakes = fakes

    def of(self, index: int, is_parameter: bool = False) -> Any:
        """The example of the node with this index; None when unknown."""
        example = self.examples[index]
        if example is None:
            return None
        return self.fakes.convert(example, is_parameter)


class Fakes:
    """Tensors of PyTorch's own FakeTensor class, one for each of ours."""

    def __init__(self, symbols: Any = None) -> None:
        self._symbols = symbols
        self._mode: Any = None if symbols is None else symbols.mode
        # By id; the graphs keep the tensors alive.
        self._made: dict[int, Any] = {}

    def convert(self, value: Any, is_parameter: bool = False) -> Any:
        """`value` with every tensor in it replaced."""
        if isinstance(value, torch.Tensor):
            made = self._made.get(id(value))
            if made is None:
                made = self._made[id(value)] = self._fake(value, is_parameter)
            return made
        if isinstance(value, (tuple, list)):
            items = [self.convert(item) for item in value]
            if hasattr(value, "_fields"):  # a namedtuple
                return type(value)(*items)
            return _rebuild(type(value), items)
        if isinstance(value, dict):
            return {key: self.convert(item) for key, item in value.items()}
        if self._symbols is not None and isinstance(
            value, (torch.SymInt, torch.SymFloat, torch.SymBool)
        ):
            return self._symbols.number(value)
        return value

    def _fake(self, value: torch.Tensor, is_parameter: bool) -> Any:
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        if isinstance(value, FakeTensor):
            return value
        if self._mode is None:
            self._mode = FakeTensorMode()
        if value.layout is not torch.strided:
            return None
        if self._symbols is not None:
            return self._symbols.fake(value)
        with torch.no_grad():
            meta = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta"
            )
            fake = FakeTensor(self._mode, meta, value.device)
        if is_parameter:
            return torch.nn.Parameter(fake, requires_grad=value.requires_grad)
        return fake.requires_grad_(value.requires_grad)


def _rebuild(container: type, items: list[Any]) -> Any:
    if container is list:
        return items
    try:
        return container(items)  # tuple, torch.Size, torch.return_types.*
    except TypeError:
        return tuple(items)
