# SPDX-License-Identifier: BSD-3-Clause
"""Which functions are compiled when a compiled function calls them in plain
Python, at a graph break.

C++ asks once for each code object; see src/python/frame.h for the answers.
"""

from __future__ import annotations

import os
import sysconfig
import types

import torch

EVALUATE = 1
"""Not compiled itself; what it calls may be."""
PAUSE = 2
"""Neither it nor what it calls is compiled."""
HANDLE = 3
"""Compiled."""

_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = os.path.dirname(_TORCH.rstrip(os.sep)) + os.sep

# Folders and files; the longest that fits decides.
_RULES = {
    _STDLIB: EVALUATE,
    # Compilers at work, and functions that were told to be left alone.
    _TORCH: EVALUATE,
    f"{_TORCH}_dynamo{os.sep}": PAUSE,
    f"{_TORCH}_inductor{os.sep}": PAUSE,
    f"{_TORCH}_functorch{os.sep}": PAUSE,
    f"{_TORCH}_subclasses{os.sep}": PAUSE,
    f"{_TORCH}fx{os.sep}": PAUSE,
    # Modules and functions of the library are part of the user's model.
    f"{_TORCH}nn{os.sep}": HANDLE,
    f"{_TORCH}nn{os.sep}modules{os.sep}module.py": EVALUATE,
    f"{_TORCH}nn{os.sep}parallel{os.sep}": EVALUATE,
    _HERE: EVALUATE,
    f"{_HERE}backends{os.sep}": PAUSE,
}

# Packages that have nothing to compile.
_PLAIN_PACKAGES = (
    "_pytest",
    "hypothesis",
    "matplotlib",
    "networkx",
    "numpy",
    "onnx",
    "onnxruntime",
    "pandas",
    "pluggy",
    "pytest",
    "scipy",
    "sklearn",
    "sympy",
    "tensorboard",
    "tqdm",
    "triton",
)
for _name in _PLAIN_PACKAGES:
    _RULES[f"{_PACKAGES}{_name}{os.sep}"] = EVALUATE

# Virtual environments lie in the folder of the standard library they use.
for _path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
    _RULES.setdefault(_path + os.sep, HANDLE)


def action(code: types.CodeType) -> int:
    """What to do with frames of `code`."""
    filename = code.co_filename
    if filename.startswith("<frozen") or filename == "<string>":
        return EVALUATE
    # Modules, class bodies and comprehensions; the latter collect what is
    # compiled on its own.
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return EVALUATE
    best = ""
    for prefix in _RULES:
        if filename.startswith(prefix) and len(prefix) > len(best):
            best = prefix
    return _RULES.get(best, HANDLE)
