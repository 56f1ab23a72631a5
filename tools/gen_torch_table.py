# SPDX-License-Identifier: BSD-3-Clause
"""Writes the table of torch's callables that a graph records as one call.

    python tools/gen_torch_table.py    with each release, oldest first

The names come from the running torch, each audited (tools/torch_audit.py) not
to change anything but tensors. What is left out on purpose stands below with
its reason. A test asks that this would change nothing.
"""

from __future__ import annotations

import importlib
import types
import warnings

import torch
from release_rows import ROOT, update
from torch_audit import objections, schemas, touches_tensors

HEADER = """\
// SPDX-License-Identifier: BSD-3-Clause
// Written by tools/gen_torch_table.py from torch's releases; don't edit.
//
//   MG_TORCH_FUNCTION(module, name)   recorded as one call of that function
//   MG_TORCH_METHOD(module, name)     recorded as one call of that method

"""

PATH = ROOT / "src" / "natives" / "torch" / "graph.def"

# Namespaces of functions written in C: the module in which each is listed, and
# its name there.
BUILT_IN = (
    ("torch._C", "_VariableFunctions"),
    ("torch._C._nn", ""),
    ("torch._C._linalg", ""),
    ("torch._C._fft", ""),
    ("torch._C._special", ""),
    ("torch._C._sparse", ""),
)

# Modules of functions written in Python.
PYTHON = (
    "torch.functional",
    "torch.nn.functional",
    "torch._lowrank",
    "torch._linalg_utils",
    "torch.masked._ops",
    "torch.nn.grad",
    "torch.signal.windows.windows",
)

# Made from several operators, under a name that is none itself.
COMPOSED = {"dsmm", "hsmm", "spmm"}

# Not recorded although they are operators.
LEFT_OUT = {
    "_from_blob": "reads memory by its address",
    "_nested_tensor_from_mask": "makes a nested tensor",
    "_unpack_dual": "asks for a tangent, which no fake has",
    "from_file": "reads a file",
    "resize_as_": "gives a tensor another storage",
    "resize_as_sparse_": "gives a tensor another storage",
    "lstm": "a row of its own (natives/torch/autograd.cpp)",
    "max_pool1d": "a row of its own (natives/torch/shapes.cpp)",
    "one_hot": "a row of its own (natives/torch/shapes.cpp)",
} | dict.fromkeys(
    # Rows of their own (natives/torch/constructors.cpp).
    (
        "arange", "as_tensor", "asarray", "empty", "empty_like",
        "empty_permuted", "empty_strided", "tensor",
        "eye", "full", "full_like", "hann_window", "linspace", "logspace",
        "normal", "ones", "ones_like", "rand", "rand_like", "randint",
        "randint_like", "randn", "randn_like", "randperm", "range",
        "scalar_tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
    ),
    "takes requires_grad=True, which makes a leaf",
)  # fmt: skip

# Written in Python and better seen through: what they call is recorded.
SEEN_THROUGH = {
    "assert_int_or_pair": "checks numbers",
    "grouped_mm": "a thin shell",
    "lp_pool3d": "pooling and arithmetic",
    "linear_cross_entropy": "options choose among several ways",
    "pad": "a shell over torch._C._nn.pad",
    "rms_norm": "a shell over torch.rms_norm",
    "scaled_grouped_mm": "a thin shell",
    "scaled_mm": "a thin shell",
    "threshold": "a shell over torch.threshold",
    "triplet_margin_with_distance_loss": "calls a function of the user's",
    "broadcast_shapes": "arithmetic on sizes",
    "is_sparse": "a question, not an operation",
    "get_floating_dtype": "a question, not an operation",
}

# Tensor methods written in C that are no operators of their own but made from
# some: conversions, arithmetic, constructors.
COMPOSED_METHODS = {
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float",
    "half", "int", "long", "short", "cpu", "cuda", "ipu", "mtia", "xpu",
    "nelement", "ndimension",
    "__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__imul__",
    "__sub__", "__isub__", "__div__", "__idiv__", "__truediv__",
    "__floordiv__", "__ifloordiv__", "__mod__", "__imod__", "__rand__",
    "__ror__", "__rxor__", "__invert__", "__matmul__",
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
}  # fmt: skip

# Tensor methods written in Python that are recorded whole.
PYTHON_METHODS = {
    "split", "norm", "stft", "istft", "lu", "unique", "unique_consecutive",
    "unflatten",
    "__rsub__", "__rdiv__", "__rtruediv__", "__pow__", "__rpow__", "__ipow__",
    "__floordiv__", "__rfloordiv__", "__rlshift__", "__rrshift__",
    "__rmatmul__", "__rmod__",
}  # fmt: skip

# Tensor methods with a meaning of their own (natives/torch/methods.cpp), or
# none: they read data, or change what a graph can't see.
METHODS_LEFT_OUT = {
    "__contains__", "__dlpack__",
    "_backward", "_sync", "backward", "data_ptr", "detach_", "is_pinned",
    "is_set_to", "item", "numpy",
    "pin_memory", "record_stream", "requires_grad_", "resize_", "resize_as_",
    "resize_as_sparse_", "retain_grad", "set_", "set_data", "share_memory_",
    "sparse_resize_", "sparse_resize_and_clear_", "storage_offset", "tolist",
    "random_", "_is_all_true", "_is_any_true", "is_contiguous", "stride",
}  # fmt: skip


def is_operator(name: str) -> bool:
    return bool(schemas(name)) and touches_tensors(name)


def built_in_names(module: str, inside: str) -> list[str]:
    space = importlib.import_module(module)
    space = getattr(space, inside) if inside else space
    names = []
    for name in sorted(dir(space)):
        value = getattr(space, name)
        if not isinstance(value, types.BuiltinFunctionType):
            continue
        if name.startswith("__") or name in LEFT_OUT:
            continue
        if is_operator(name) or name in COMPOSED:
            names.append(f"{inside}.{name}" if inside else name)
    return names


def audit(name: str, function: types.FunctionType) -> None:
    if against := objections(function):
        raise SystemExit(f"{name} can't be recorded: " + "; ".join(against))


def python_names(owner: str) -> list[str]:
    module = importlib.import_module(owner)
    public = getattr(module, "__all__", None) or vars(module)
    names = set(public) | (
        # Made by boolean_dispatch and re-exported without being listed.
        set(vars(module)) if owner == "torch.nn.functional" else set()
    )
    found = []
    for name in sorted(names):
        value = getattr(module, name)
        if not isinstance(value, types.FunctionType) or name.startswith("_"):
            continue
        at_home = (
            value.__module__ == owner and value.__qualname__ == name
        ) or "boolean_dispatch.<locals>" in value.__qualname__
        decorated = hasattr(value, "__wrapped__")
        if not (at_home or decorated) or name in SEEN_THROUGH:
            continue
        audit(f"{owner}.{name}", value)
        found.append(name)
    return found


def method_names(owner: type) -> list[str]:
    """Methods of a tensor class that are recorded, in order."""
    names = []
    for name, value in sorted(vars(owner).items()):
        if name in METHODS_LEFT_OUT:
            continue
        if isinstance(value, types.MethodDescriptorType):
            # Not under a second name: Tensor.__abs__ is Tensor.abs.
            known = is_operator(name) or name in COMPOSED_METHODS
            if known and value.__name__ == name:
                names.append(name)
        elif isinstance(value, types.FunctionType) and name in PYTHON_METHODS:
            audit(f"{owner.__name__}.{name}", value)
            names.append(name)
    return names


def rows() -> list[str]:
    """The rows of the running release, an empty line after each group."""
    lines = []
    groups = [(m, built_in_names(m, inside)) for m, inside in BUILT_IN]
    groups += [(module, python_names(module)) for module in PYTHON]
    for module, names in groups:
        lines += [f'MG_TORCH_FUNCTION("{module}", "{name}")' for name in names]
        lines.append("")
    for module, owner in (
        ("torch._C", torch._C.TensorBase),
        ("torch", torch.Tensor),
    ):
        lines += [
            f'MG_TORCH_METHOD("{module}", "{owner.__name__}.{name}")'
            for name in method_names(owner)
        ]
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # deprecated names are looked at too
    update(PATH, HEADER, rows())
