# SPDX-License-Identifier: BSD-3-Clause
"""Settings. Assign to them: `magneto.config.verify_correctness = True`."""

import collections.abc
import typing

# Compilation ------------------------------------------------------------------

recompile_limit: int = 8
"""How often one function is compiled for different guards before it runs in
plain Python, and what it calls with it. Behind each of its graph breaks it may
be compiled as often. Calls that raise an exception don't count."""

accumulated_recompile_limit: int = 256
"""How often one function is compiled in all: behind all of its graph breaks
(where the first time is free), and counting those whose guards can't hold any
more, because they are about an object that is gone."""

automatic_dynamic_shapes: bool = True
"""A size of a tensor, or an int, that is not the same in two calls becomes a
symbol where the function is compiled for the second one, so that there is no
third compilation for a third value; not with `compile(dynamic=False)`."""

reorderable_logging_functions: set[
    collections.abc.Callable[..., typing.Any]
] = set()
"""Functions that only tell somebody something (`print`, `warnings.warn`,
`logging.Logger.info`) and that may be called later than the program says: they
don't break the graph, and are called in order where it ends. Of a tensor that
the graph writes to meanwhile they see what is written. Their calls break the
graph all the same where they are given lists, dicts or other objects that may
change. What they raise leaves the compiled function, past its `except` blocks.
Read when a function is compiled.
"""

raise_internal_errors: bool = False
"""Raise an error where magneto itself fails, instead of a warning and running
the function in plain Python."""

# Backends ---------------------------------------------------------------------

verify_correctness: bool = False
"""Run what a backend compiled beside the captured graph, on copies of the first
inputs, and raise VerificationFailed where the results differ."""

verify_tolerance: float = 1e-4
"""The relative and absolute difference that verify_correctness accepts."""

unsafe_operators: str = "allow"
"""What happens to operators that aren't known to be safe to compile (registered
by somebody, without torch.Tag.pt2_compliant_tag): "allow", "log" once each, or
"refuse" by raising UnsafeOperator."""
