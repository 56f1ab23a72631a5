# SPDX-License-Identifier: BSD-3-Clause
"""Whether one of torch's callables does nothing but compute on tensors.

A graph records such a callable as one call: it runs once on fake tensors while
tracing, and again whenever the graph runs. So it must not change anything else.

A callable written in C must be an operator of the dispatcher that takes or
gives tensors. One written in Python is read, and so is every function that its
globals name: none may store to a global, to an attribute or to a container
that is a global, none may call what the user passed, and what they call in C
must be an operator or stand in a list below. (Methods of objects that only
exist at run time can't be followed.) Warnings are fine: they are held back
while tracing (src/python/held_warnings.h).
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterator
from typing import Any

import torch

# Operators that neither take nor give a tensor, and may be recorded.
WITHOUT_TENSORS = {
    "_assert_scalar": "fails or does nothing",
    "_nnpack_available": "asks how torch was built",
    "_use_cudnn_rnn_flatten_weight": "asks how torch was built",
    "can_cast": "arithmetic on dtypes",
    "is_vulkan_available": "asks how torch was built",
    "promote_types": "arithmetic on dtypes",
    "sym_constrain_range": "fails or does nothing",
    "sym_constrain_range_for_size": "fails or does nothing",
}

# Modules whose functions are not read.
NOT_ENTERED = {
    "torch.overrides": "for classes with __torch_function__, not recorded",
    "torch._dynamo": "only while torch.compile traces",
    "importlib": "torch's own modules, imported when they are first needed",
    "collections": "makes classes",
    "functools": "wraps functions",
}

# Modules of functions written in C that may be called.
PLAIN_MODULES = {"builtins", "itertools", "math", "_functools", "_operator"}
FORBIDDEN = {"setattr", "delattr", "exec", "eval", "print", "input", "open"}

# Functions of torch's in C that are no operators and only ask.
QUESTIONS = {
    "_get_deterministic_algorithms",
    "_get_tracing_state",
    "_has_torch_function",
    "_has_torch_function_unary",
    "_has_torch_function_variadic",
    "_is_tracing",
    "get_default_dtype",
}

STORES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"}
CHANGES = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem",
    "remove", "setdefault", "update",
}  # fmt: skip


def schemas(name: str) -> list[Any]:
    """Of the dispatcher's operator with this name; empty if there is none."""
    return torch._C._jit_get_schemas_for_operator(f"aten::{name}")


def touches_tensors(name: str) -> bool:
    """Whether an operator takes or gives a tensor, or is known to be plain."""
    return name in WITHOUT_TENSORS or any(
        "Tensor" in str(part.type)
        for schema in schemas(name)
        for part in (*schema.arguments, *schema.returns)
    )


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def named(
    function: types.FunctionType, instructions: list[dis.Instruction], at: int
) -> tuple[Any, int]:
    """What an instruction that loads a global or closure variable, and those
    that read attributes of a module or class from it, put on the stack; and the
    index of the instruction behind them.
    """
    first = instructions[at]
    if first.opname == "LOAD_GLOBAL":
        value = {**vars(builtins), **function.__globals__}.get(first.argval)
    else:
        cells = dict(
            zip(
                function.__code__.co_freevars,
                function.__closure__ or (),
                strict=True,
            )
        )
        cell = cells.get(first.argval)
        value = cell.cell_contents if cell is not None else None
    at += 1
    while (
        instructions[at].opname in ("LOAD_ATTR", "LOAD_METHOD")
        and isinstance(value, (types.ModuleType, type))
    ):  # fmt: skip
        value = getattr(value, instructions[at].argval, None)
        at += 1
    return value, at


def objection_to_c(function: types.BuiltinFunctionType) -> str | None:
    """Why a function written in C may not be called, if it may not."""
    name = function.__name__
    # Functions of torch._C have no module.
    home = function.__module__ or getattr(
        function.__self__, "__module__", "torch._C"
    )
    if home in PLAIN_MODULES and name not in FORBIDDEN:
        return None
    if home.startswith("torch"):
        if name in QUESTIONS or (schemas(name) and touches_tensors(name)):
            return None
    elif (home, name) == ("_warnings", "warn"):
        return None
    return f"calls {home}.{name}"


def objections(function: types.FunctionType) -> list[str]:
    """All that speaks against recording a function, with the place."""
    found: list[str] = []
    seen: set[types.FunctionType] = set()

    def read_code(reader: types.FunctionType, code: types.CodeType) -> None:
        instructions = list(dis.get_instructions(code))
        parameters = code.co_varnames[
            : code.co_argcount + code.co_kwonlyargcount
        ]
        shared_lines = set()

        def object_to(what: str, line: int | None) -> None:
            found.append(f"{reader.__module__}.{code.co_name}:{line} {what}")

        for at, instruction in enumerate(instructions):
            opname, name = instruction.opname, instruction.argval
            line = instruction.positions.lineno
            if opname in STORES:
                object_to(f"stores to {name}", line)
            elif opname == "STORE_SUBSCR" and line in shared_lines:
                object_to("stores to a global's items", line)
            elif opname == "PUSH_NULL" and reader is function:
                callee = instructions[at + 1]
                if callee.opname == "LOAD_FAST" and callee.argval in parameters:
                    object_to(f"calls its argument {callee.argval}", line)
            elif opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                value, end = named(reader, instructions, at)
                if isinstance(value, (dict, list, set)):
                    shared_lines.add(line)
                    if instructions[end].argval in CHANGES:
                        object_to(f"changes the global {name}", line)
                elif isinstance(value, types.FunctionType):
                    read(value)
                elif isinstance(value, types.BuiltinFunctionType) and (
                    objection := objection_to_c(value)
                ):
                    object_to(objection, line)

    def read(reader: types.FunctionType) -> None:
        module = reader.__module__
        if reader in seen or any(
            module == stop or module.startswith(f"{stop}.")
            for stop in NOT_ENTERED
        ):
            return
        seen.add(reader)
        for code in codes(reader.__code__):
            read_code(reader, code)

    read(function)
    return found
