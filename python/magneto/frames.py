# SPDX-License-Identifier: BSD-3-Clause
"""Which functions are compiled when a compiled function calls them in plain
Python, at a graph break, and which are cut in pieces where they break a graph.

C++ takes the table when this module is loaded and reads it once for each code
object; see src/python/frame.h for the actions.
"""

from __future__ import annotations

import os
import sysconfig

import torch

from magneto._C import set_frame_rules

EVALUATE = 1
"""Not compiled itself; what it calls may be."""
PAUSE = 2
"""Neither it nor what it calls is compiled. Inlined, it is as with WHOLE."""
HANDLE = 3
"""Compiled."""
WHOLE = 4
"""As EVALUATE. Inlined, where it can't be traced to its end, the call runs in
plain Python, instead of being cut in pieces."""

BOOKS = 5
"""As PAUSE. Inlined, it is traced as long as it computes with no tensor; else
the call runs in plain Python."""

_TORCH = os.path.dirname(torch.__file__)
_STDLIB = sysconfig.get_path("stdlib")
_HERE = os.path.dirname(__file__)

_NO_TENSORS = "has no tensor operations of its own"
_AT_WORK = "is a compiler or its tracer, at work"
_OF_MODELS = "is part of the user's model"

# Where code is (a folder or a file, and which functions there if not all), what
# to do with it, and why: what is there ... The longest that fits decides.
_RULES = (
    ("<frozen", WHOLE, _NO_TENSORS),
    # What somebody gave to exec(), often a generated __init__.
    ("<string>", EVALUATE, "is made anew, and would be compiled anew"),
    (_STDLIB, WHOLE, _NO_TENSORS),
    (f"{_STDLIB}/test", EVALUATE, "is programs, not a library"),
    (_HERE, EVALUATE, "is ours"),
    (f"{_HERE}/backends", PAUSE, _AT_WORK),
    (_TORCH, EVALUATE, "prepares operations more often than it does any"),
    (f"{_TORCH}/_dynamo", PAUSE, _AT_WORK),
    # set_stance() is refused where frames are looked at; what is within
    # error_on_graph_break() is compiled.
    *(
        (f"{_TORCH}/_dynamo/decorators.py::{name}", EVALUATE, "is a setting")
        for name in ("__init__", "__enter__", "__exit__")
    ),
    *(
        (
            f"{_TORCH}/_dynamo/external_utils.py::{name}",
            EVALUATE,
            "calls a function of the user's",
        )
        for name in ("inner", "nonrecursive_disable_wrapper")
    ),
    (f"{_TORCH}/_functorch", PAUSE, _AT_WORK),
    # Traced, they take themselves for compiled (is_dynamo_compiling), and what
    # they do then only a compiler understands.
    (f"{_TORCH}/_higher_order_ops", WHOLE, "holds functions of the user's"),
    (f"{_TORCH}/_inductor", PAUSE, _AT_WORK),
    (f"{_TORCH}/_subclasses", PAUSE, _AT_WORK),
    (f"{_TORCH}/fx", PAUSE, _AT_WORK),
    (f"{_TORCH}/nn", HANDLE, _OF_MODELS),
    (
        f"{_TORCH}/nn/modules/module.py",
        EVALUATE,
        "only calls hooks",
    ),
    (f"{_TORCH}/nn/modules/module.py::_apply", WHOLE, "moves parameters"),
    (f"{_TORCH}/nn/modules::__init__", WHOLE, "makes parameters"),
    (f"{_TORCH}/nn/modules::reset_parameters", WHOLE, "fills parameters"),
    (f"{_TORCH}/nn/init.py", WHOLE, "fills parameters"),
    (f"{_TORCH}/nn/attention/__init__.py", EVALUATE, "chooses kernels"),
    (
        f"{_TORCH}/optim/lr_scheduler.py",
        BOOKS,
        "changes learning rates, once in many steps",
    ),
    (
        f"{_TORCH}/optim/lr_scheduler.py::wrapper",
        EVALUATE,
        "counts the steps of an optimizer, around them",
    ),
    (
        f"{_TORCH}/nn/attention/flex_attention.py",
        WHOLE,
        "holds functions of the user's",
    ),
    (
        f"{_TORCH}/optim/lbfgs.py",
        WHOLE,
        "decides by what tensors hold, in each step",
    ),
    (f"{_TORCH}/nn/parameter.py", EVALUATE, "makes and copies parameters"),
    (f"{_TORCH}/nn/parallel", EVALUATE, "moves data between processes"),
    (f"{_TORCH}/distributed", EVALUATE, "moves data between processes"),
    (f"{_TORCH}/hub.py", WHOLE, "loads files"),
    (f"{_TORCH}/jit", WHOLE, _AT_WORK),
    (f"{_TORCH}/onnx", WHOLE, _AT_WORK),
    (f"{_TORCH}/package", WHOLE, "loads files"),
    (f"{_TORCH}/profiler", WHOLE, "measures what runs"),
    (f"{_TORCH}/serialization.py", WHOLE, "reads and writes files"),
    (f"{_TORCH}/utils/data", WHOLE, "fetches the data that models are given"),
)

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


def _by_path() -> dict[str, int]:
    packages = os.path.dirname(_TORCH)
    rules = {path: action for path, action, _ in _RULES}
    # Virtual environments lie in the folder of the standard library they use.
    for path in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        rules.setdefault(path, HANDLE)
    for name in _PLAIN_PACKAGES:
        rules[f"{packages}/{name}"] = WHOLE
    return rules


set_frame_rules(_by_path())
