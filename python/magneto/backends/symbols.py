# SPDX-License-Identifier: BSD-3-Clause
"""Symbolic sizes, for backends of PyTorch's own.

A graph with symbolic sizes has magneto's symbols in its example values.
PyTorch's compilers know those of a `ShapeEnv`: each symbol is declared in one,
with its range and the value of the call that is compiled, and expressions are
written anew over the declared ones. A number that the graph itself computes
is declared without a value. What the compilers then decide about sizes
the environment keeps as guards, which come back as conditions of the cache
entry.

A number is exchanged as a tree: `("Symbol", index)` or `("Unbacked", index)`
(each with what is known of it), a plain int, float or bool, or `(operation,
operand, ...)` with the names of `src/shapes/operations.def`. What PyTorch's
symbols have no operation for (`math.log`) is to them a symbol of its own, as a
float is that the call brings: the graph takes it as an input.
"""

from __future__ import annotations

import enum
import functools
import importlib
import math
import weakref
from collections.abc import Callable
from typing import Any

import torch

from magneto import _C
from magneto.backends.fake_mode import make_fake_mode

Tree = Any

# What is as large stands for anything larger.
_MOST = 2**62


@functools.cache
def _functions() -> dict[str, Callable[..., Any]]:
    """By operation: what computes it, of PyTorch's symbols or plain numbers."""
    functions = {
        operation: _function_at(path)
        for operation, (path, _) in _C._tensor.number_functions().items()
    }
    # sym_int() of a SymBool asks for its value.
    functions["ToInteger"] = lambda value: torch.sym_ite(value, 1, 0)
    return functions


@functools.cache
def _opaque_operations() -> frozenset[str]:
    """Operations that PyTorch's symbols don't have."""
    return frozenset(
        operation
        for operation, (_, is_symbolic) in _C._tensor.number_functions().items()
        if not is_symbolic
    )


def _function_at(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def is_symbolic(value: Any) -> bool:
    """Whether `value` is a number of torch's that isn't known."""
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


class FloatForm(enum.Enum):
    """What PyTorch gets to see of a float that varies."""

    Symbol = enum.auto()
    Constant = enum.auto()  # what it is in this call, under a condition
    Data = enum.auto()  # a number out of a tensor


class _NodeOnDemand:
    """The node of a SymInt, made when somebody first looks at it."""

    def __init__(self, number: torch.SymInt, make: Callable[[], Any]) -> None:
        self._number = weakref.ref(number)
        self._make = make

    @functools.cached_property
    def _node(self) -> Any:
        node = self._make()
        number = self._number()
        if number is not None:
            number.node = node
        return node

    # What PyTorch's own Python asks instead of the type.
    @property
    def __class__(self) -> Any:
        return type(self._node)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


class GraphSymbols:
    """The symbols of one graph, declared to PyTorch when they are first met.

    Args:
        examples: the fake values of the graph's inputs, in order.
        inputs: the real ones.
        float_form: what symbolic floats become.

    """

    def __init__(
        self,
        examples: list[Any],
        inputs: list[Any],
        float_form: FloatForm = FloatForm.Constant,
    ) -> None:
        self.examples = examples
        self._inputs: list[Any] | None = inputs
        # The mode remembers its tensors weakly.
        self._fake_inputs: list[Any] = []
        self._declared: dict[int | Tree, Any] = {}  # by index or tree
        self._float_form = float_form
        self._floats: dict[Tree, float] = {}
        self._number_of: dict[Any, Tree] = {}  # by PyTorch's symbol

    @functools.cached_property
    def mode(self) -> Any:
        """The fake mode in whose environment the symbols are declared."""
        return make_fake_mode()

    def number(self, value: Any) -> Any:
        """PyTorch's form of a symbolic number of magneto's."""
        return self._evaluate(_C._tensor.number_tree(value))

    def hint(self, value: Any) -> int | None:
        """What a size is in the call that is compiled; None if it is marked
        as one that nothing is decided by.
        """
        size = self._size(value)
        return size if isinstance(size, int) else size.node.hint

    def fake(self, value: torch.Tensor) -> Any:
        """A FakeTensor like magneto's fake `value`; to be called untraced."""
        self.adopt_inputs()
        sizes = [self._size(size) for size in value.shape]
        strides = [self._size(stride) for stride in value.stride()]
        with self.mode, torch.no_grad():
            fake = torch.empty_strided(
                sizes, strides, dtype=value.dtype, device=value.device
            )
            if value.is_conj():
                fake = fake.conj()
            if value.is_neg():
                fake = torch._neg_view(fake)
        return fake.requires_grad_(value.requires_grad)

    def fake_input(self, value: torch.Tensor) -> Any:
        """The FakeTensor of a real input without symbolic sizes."""
        self.adopt_inputs()
        return self.mode.from_tensor(value, static_shapes=True)

    def adopt_inputs(self) -> None:
        """Makes the mode know the real inputs, those with symbolic sizes by
        these, before it is first used. PyTorch asks for the mode in the middle
        of its work, which is no time to do that.
        """
        inputs, self._inputs = self._inputs, None
        if inputs is None:
            return
        for real, ours in zip(inputs, self.examples, strict=True):
            if not isinstance(real, torch.Tensor):
                continue
            if any(map(is_symbolic, (*ours.shape, *ours.stride()))):
                fake = self._like_input(ours, real)
                self.mode.fake_tensor_converter.set_tensor_memo(real, fake)
            else:
                fake = self.mode.from_tensor(real, static_shapes=True)
            self._fake_inputs.append(fake)

    def _like_input(self, ours: torch.Tensor, real: torch.Tensor) -> Any:
        """The FakeTensor of an input. Whether it requires grad is asked of the
        real one, as the trace may have written to ours.
        """
        fake = self.fake(ours.detach())
        if not real.requires_grad:
            return fake
        if real.is_leaf:
            return fake.requires_grad_()
        with self.mode, torch.enable_grad():
            earlier = torch.ones(
                (), dtype=fake.dtype, device=fake.device, requires_grad=True
            )
            return fake.copy_(earlier)

    def backend_inputs(self) -> list[Any]:
        """The real inputs, numbers as PyTorch's symbols."""
        return [
            self._example_number(ours) if is_symbolic(ours) else real
            for real, ours in zip(
                self._inputs or [], self.examples, strict=True
            )
        ]

    def _example_number(self, value: Any) -> Any:
        # Most backends leave example numbers alone, and PyTorch's environment
        # is dear.
        tree = _C._tensor.number_tree(value)
        if not isinstance(value, torch.SymInt) or not isinstance(tree, tuple):
            return self._evaluate(tree)
        number = torch.SymInt(None)
        number.node = _NodeOnDemand(number, lambda: self._evaluate(tree).node)
        return number

    def close(self) -> None:
        """The compilation is over: the inputs are forgotten."""
        self._inputs = None
        self._fake_inputs = []

    def conditions(self) -> list[Tree]:
        """What the backend has decided about the symbols."""
        decided = []
        if "mode" in self.__dict__:
            decided = [
                self._condition(guard.expr)
                for guard in self.mode.shape_env.guards
                if guard.expr.free_symbols <= self._number_of.keys()
            ]
        return decided + [
            _is_equal(number, value) for number, value in self._floats.items()
        ]

    def _size(self, value: Any) -> Any:
        return self.number(value) if is_symbolic(value) else value

    def _evaluate(self, tree: Tree) -> Any:
        if not isinstance(tree, tuple):
            return tree
        operation, *operands = tree
        # A symbol's range may be another one each time.
        is_symbol = operation in ("Symbol", "Unbacked")
        key = operands[0] if is_symbol else tree
        if key in self._declared:
            return self._declared[key]
        if operation == "Symbol":
            declared = self._symbol(*operands)
        elif operation == "Unbacked":
            declared = self._unbacked(*operands[1:])
        elif operation in _opaque_operations():
            declared = self._opaque(tree)
        else:
            return _apply(
                operation, [self._evaluate(operand) for operand in operands]
            )
        self._declared[key] = declared
        return declared

    def _symbol(
        self, index: int, hint: Any, least: int = 0, most: int = 0
    ) -> Any:
        from torch.fx.experimental.symbolic_shapes import DimDynamic
        from torch.utils._sympy.value_ranges import ValueRanges

        from magneto.graph_materialize import InputSource

        if isinstance(hint, float):
            return self._float(("Symbol", index, hint), hint)
        env = self.mode.shape_env
        source = InputSource(f"s{index}", -1 - index)
        symbol = env.create_symbol(
            hint,
            source=source,
            dynamic_dim=DimDynamic.DYNAMIC,
            positive=None,
            do_not_specialize_zero_one=True,
        )
        env.var_to_range[symbol] = ValueRanges(*_bounds(least, most))
        self._number_of[symbol] = ("Symbol", index, hint)
        return env.create_symintnode(symbol, hint=hint, source=source)

    def _float(self, number: Tree, hint: float) -> Any:
        """A float that the call brings."""
        from torch.fx.experimental.symbolic_shapes import DimDynamic

        from magneto.graph_materialize import InputSource

        if self._float_form is FloatForm.Data:
            return self._unbacked("float")
        if self._float_form is FloatForm.Constant:
            self._floats[number] = hint
            return hint
        env = self.mode.shape_env
        position = len(self._declared)
        source = InputSource(f"f{position}", -1 - position)
        symbol = env.create_unspecified_symbol(
            hint, source=source, dynamic_dim=DimDynamic.DYNAMIC
        )
        self._number_of[symbol] = number
        return env.create_symfloatnode(symbol, hint=hint, source=source)

    def _opaque(self, number: Tree) -> Any:
        hint = _value(number)
        if hint is None:
            return self._unbacked("float")
        return self._float(number, hint)

    def _unbacked(self, type_: str, least: int = 0, most: int = 0) -> Any:
        # The backend finds the numbers of its own trace; these are for the
        # example values only.
        env = self.mode.shape_env
        with env.ignore_fresh_unbacked_symbols():
            declared = getattr(env, f"create_unbacked_sym{type_}")()
        if type_ == "int":
            env.constrain_symbol_range(
                declared.node.expr, *_bounds(least, most)
            )
        return declared

    # -- the way back ----------------------------------------------------------

    def _condition(self, expression: Any) -> Tree:
        try:
            return self._tree(_without_extremes(expression))
        except _NoForm:
            # Nothing is known of it but that it holds for these values.
            numbers = [
                self._number_of[symbol]
                for symbol in sorted(expression.free_symbols, key=str)
            ]
            equal = [_is_equal(number, _value(number)) for number in numbers]
            return ("And", *equal) if len(equal) > 1 else equal[0]

    def _tree(self, expression: Any) -> Tree:
        import sympy

        if isinstance(expression, sympy.Symbol):
            return self._number_of[expression]
        if isinstance(expression, sympy.Integer):
            if abs(int(expression)) > _MOST:
                raise _NoForm
            return int(expression)
        if expression in (sympy.true, sympy.false):
            return expression == sympy.true
        form = _forms().get(type(expression))
        if form is None:
            raise _NoForm
        operands = [self._tree(operand) for operand in expression.args]
        return form(*operands)


def _apply(operation: str, values: list[Any]) -> Any:
    function = _functions()[operation]
    if len(values) < 2:
        return function(*values)
    return functools.reduce(function, values)


def _value(tree: Tree) -> Any:
    """The number in the call that is compiled; None: only the graph tells."""
    if not isinstance(tree, tuple):
        return tree
    operation, *operands = tree
    if operation == "Symbol":
        return operands[1]
    if operation == "Unbacked":
        return None
    values = [_value(operand) for operand in operands]
    return None if None in values else _apply(operation, values)


def _bounds(least: int, most: int) -> tuple[Any, Any]:
    """A range as PyTorch writes it."""
    from torch.utils._sympy.numbers import int_oo

    return (
        -int_oo if least <= -_MOST else least,
        int_oo if most >= _MOST else most,
    )


def _is_equal(number: Tree, value: Any) -> Tree:
    """Whether a number is just this one, and no 0.0 that is -0.0."""
    equal = ("Equal", number, value)
    if isinstance(value, int) or value != 0.0:
        return equal
    sign = math.copysign(1.0, value)
    return ("And", equal, ("Equal", ("CopySign", 1.0, number), sign))


def _without_extremes(expression: Any) -> Any:
    """`a <= 2**63 - 1 - b`, as PyTorch asks of slices, needs more than 64 bits;
    `a <= 2**62 - b` says more, and is as true of sizes.
    """
    import sympy

    if isinstance(expression, (sympy.Le, sympy.Lt)):
        larger = expression.rhs
    elif isinstance(expression, (sympy.Ge, sympy.Gt)):
        larger = expression.lhs
    else:
        return expression
    too_much = larger.as_coeff_Add()[0] - _MOST
    if not isinstance(larger, sympy.Add) or not too_much > 0:
        return expression
    return type(expression)(
        *(
            side - too_much if side is larger else side
            for side in expression.args
        )
    )


class _NoForm(Exception):
    """A sympy expression that isn't written as a tree."""


@functools.cache
def _forms() -> dict[type, Callable[..., Tree]]:
    """By sympy class: the tree of its operands' trees."""
    import sympy
    from torch.utils._sympy import functions

    def named(name: str) -> Callable[..., Tree]:
        return lambda *operands: (name, *operands)

    def power(base: Tree, exponent: Tree) -> Tree:
        if not isinstance(exponent, int) or exponent < 0:
            raise _NoForm
        return ("Power", base, exponent)

    return {
        sympy.Add: named("Add"),
        sympy.Mul: named("Multiply"),
        sympy.Pow: power,
        functions.FloorDiv: named("FloorDivide"),
        functions.CleanDiv: named("FloorDivide"),
        functions.Mod: named("Modulo"),
        functions.PythonMod: named("Modulo"),
        functions.Max: named("Maximum"),
        functions.Min: named("Minimum"),
        sympy.Max: named("Maximum"),
        sympy.Min: named("Minimum"),
        sympy.Abs: named("Absolute"),
        sympy.Eq: named("Equal"),
        sympy.Ne: lambda a, b: ("Not", ("Equal", a, b)),
        sympy.Lt: named("Less"),
        sympy.Le: named("LessEqual"),
        sympy.Gt: lambda a, b: ("Less", b, a),
        sympy.Ge: lambda a, b: ("LessEqual", b, a),
        sympy.And: named("And"),
        sympy.Or: named("Or"),
        sympy.Not: named("Not"),
    }
