# SPDX-License-Identifier: BSD-3-Clause
"""Inputs that share memory, where a graph writes to its inputs.

PyTorch's compilers turn writes into functional code and decide, from the inputs
that they compile with, which of them are the same memory. Called with inputs
that alias otherwise, that code computes something else than the program, and
nothing in PyTorch notices. So what they compile is wrapped: it runs for inputs
that are related as the first ones were; for others the graph itself runs, as
plain PyTorch.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

log = logging.getLogger("magneto.backends")

# `x.fill_`, and not `x.__add__`.
_WRITES_BY_NAME = re.compile(r".*[^_]_")
# `operator.iadd` and the like.
_WRITERS = {
    "setitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow",
    "imatmul", "iand", "ior", "ixor", "ilshift", "irshift",
}  # fmt: skip

Relation = tuple[tuple[int, ...], ...]


def relation_of(inputs: Sequence[Any]) -> Relation:
    """Which inputs are the same object or lie in the same storage, and where:
    one entry for each tensor that shares its storage with an earlier one.
    """
    objects: dict[int, int] = {}
    storages: dict[int, int] = {}
    relation = []
    for index, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            continue
        same_object = objects.setdefault(id(value), index)
        first = storages.setdefault(_storage_key(value), index)
        if first != index:
            offsets = inputs[first].storage_offset(), value.storage_offset()
            relation.append((index, same_object, first, *offsets))
    return tuple(relation)


def _storage_key(value: torch.Tensor) -> int:
    try:
        return value.untyped_storage()._cdata
    except NotImplementedError:  # a tensor without a storage
        return -id(value)


def are_hidden(
    inputs: Sequence[Any], examples: Sequence[Any], written: Sequence[int]
) -> bool:
    """Whether AOTAutograd can't see that memory which the graph writes to is
    another input's, too: examples with symbolic sizes have none in common.
    """

    def is_symbolic(index: int) -> bool:
        example = examples[index]
        numbers = (*example.shape, *example.stride(), example.storage_offset())
        return any(isinstance(each, torch.SymInt) for each in numbers)

    return any(
        any(map(is_symbolic, group)) for group in shared(inputs, written)
    )


def shared(inputs: Sequence[Any], written: Sequence[int]) -> list[set[int]]:
    """The inputs whose memory the graph writes to, where others lie in the same
    storage: a set for each storage.
    """
    groups: dict[int, set[int]] = {}
    for index, _, first, *_ in relation_of(inputs):
        groups.setdefault(first, {first}).add(index)
    return [each for each in groups.values() if not each.isdisjoint(written)]


def is_reshaped(
    value: torch.Tensor,
    example: torch.Tensor,
    hint: Callable[[Any], int | None],
) -> bool:
    """Whether `example`, which the trace has worked on, lies in memory in
    another way than the input that it stood for. Where one of its sizes has no
    hint, the others and the strides tell.
    """
    now = (*example.shape, *example.stride())
    before = (*value.shape, *value.stride())
    return len(now) != len(before) or any(
        hint(a) not in (None, b) for a, b in zip(now, before, strict=True)
    )


def overlaps_itself(value: torch.Tensor) -> bool:
    """Whether a dimension's items are all in one place. Some operators write
    there, but AOTAutograd can't: it copies its result into the input. A size
    that varies may be any; a stride that does isn't 0.
    """
    return any(
        type(stride) is int
        and stride == 0
        and (type(size) is not int or size > 1)
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )


def sets_data(handle: Any) -> bool:
    """Whether the graph of that handle gives a tensor another's memory
    (`x.data = y`), which AOTAutograd can't follow.
    """
    return torch.ops.aten.set_data.default in handle.targets()


def may_reshape(gm: torch.fx.GraphModule) -> bool:
    """Whether the graph calls an operator that changes its operand's layout in
    place, by PyTorch's own tag.
    """
    return any(
        node.op in ("call_function", "call_method")
        and _changes_layout_in_place(node.target)
        for node in gm.graph.nodes
    )


def _name_of(target: Any) -> str:
    """The name of what a node calls: `fill_` of `torch.ops.aten.fill_.Scalar`;
    empty for an object without one.
    """
    name = (
        target if isinstance(target, str) else getattr(target, "__name__", "")
    )
    return name.partition(".")[0]


def _changes_layout_in_place(target: Any) -> bool:
    name = _name_of(target)
    if not _WRITES_BY_NAME.fullmatch(name):
        return False
    operator = getattr(torch.ops.aten, name, None)
    return operator is not None and any(
        torch.Tag.inplace_view in getattr(operator, overload).tags
        for overload in operator.overloads()
    )


def reshapes_inputs(context: Any) -> bool:
    """Whether AOTAutograd, run in this tracing context, takes the layout of
    inputs for changed: it gives them the one that its result has. An operator
    that could do so (`squeeze_`) is enough.
    """
    metadata = context.fw_metadata
    return metadata is not None and any(
        info.mutates_metadata or info.mutates_storage_metadata
        for info in metadata.input_info
    )


def writes_to_one_place(gm: torch.fx.GraphModule) -> bool:
    """Whether the graph writes to a tensor whose items are in one place, such
    as `x.expand(3, 4)`. Filling one is allowed, and AOTAutograd adds up what is
    in that place.
    """
    for node in gm.graph.nodes:
        for target in _written_by(node):
            value = target.meta.get("example_value")
            if isinstance(value, torch.Tensor) and overlaps_itself(value):
                return True
    return False


def _written_by(node: torch.fx.Node) -> list[torch.fx.Node]:
    """What a call of a graph's may write to."""
    if node.op not in ("call_function", "call_method"):
        return []
    name = _name_of(node.target)
    written = [node.kwargs.get("out")]
    if node.args and (name in _WRITERS or _WRITES_BY_NAME.fullmatch(name)):
        written.append(node.args[0])
    return [each for each in written if isinstance(each, torch.fx.Node)]


def returns_views(context: Any) -> bool:
    """Whether AOTAutograd, run in this tracing context, makes an output a view
    of an input. Where inputs that are written to share memory, it makes it a
    view of that, as if the input began where the memory does.
    """
    metadata = context.fw_metadata
    return metadata is not None and any(
        info.output_type.name == "alias_of_input"
        for info in metadata.output_info
    )


def writes_inputs(context: Any, written: Sequence[int]) -> bool:
    """Whether what AOTAutograd has compiled in this tracing context writes to
    inputs: as it has seen, or as the trace has (`written`) if the graph was in
    its cache. False where it didn't run.
    """
    metadata = context.fw_metadata
    if metadata is None:
        return bool(written) and context.fake_mode_was_asked_for
    return any(
        info.mutates_data
        or info.mutates_metadata
        or info.mutation_inductor_storage_resize
        for info in metadata.input_info
    )


class AliasChecked:
    """`compiled` for inputs that are related as `example_inputs` are, else
    `reference`.
    """

    def __init__(
        self,
        compiled: Callable[..., Any],
        reference: Callable[..., Any],
        example_inputs: Sequence[Any],
    ) -> None:
        self.compiled = compiled
        self.reference = reference
        self.relation = relation_of(example_inputs)
        self._warned = False

    def __call__(self, *inputs: Any) -> Any:
        """Runs the graph."""
        if relation_of(inputs) == self.relation:
            return self.compiled(*inputs)
        if not self._warned:
            self._warned = True
            log.warning(
                "inputs of a compiled graph that writes to its inputs share "
                "memory in another way than when it was compiled; the graph "
                "runs uncompiled for such inputs"
            )
        return self.reference(*inputs)
