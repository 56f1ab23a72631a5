# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are one graph, under backends that may round otherwise."""

import pytest

import magneto
from magneto.backends import lookup_backend
from magneto.testing import check_calls

# How far numbers may be apart, relatively and absolutely.
_ROUNDING = {"eager": 1e-6, "aot_eager": 1e-6, "inductor": 1e-5}


def name_of(program):
    """What a function or a module is called in a test's name."""
    return getattr(program, "__name__", type(program).__name__)


def with_gradients(calls):
    """The calls with tensors of their own that need gradients."""
    return [
        (tuple(each.clone().requires_grad_() for each in given), names)
        for given, names in calls
    ]


def check_whole(program, calls, backend, **options):
    """Each call does what it does in plain Python, and all take one graph.

    Args:
        program: what is compiled.
        calls: (positional arguments, keyword arguments) of each.
        backend: "eager", "aot_eager" or "inductor".
        options: of `check_calls`.

    """
    return check_calls(
        program,
        calls,
        backend=lookup_backend(backend),
        graphs=1,
        fullgraph=True,
        rtol=_ROUNDING[backend],
        atol=_ROUNDING[backend],
        **options,
    )


def expect_break(program, args, said):
    """With `fullgraph=True` the program is refused, and that is said of why.

    Args:
        program: what is compiled.
        args: what it is called with.
        said: a pattern of the message.

    """
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported, match=said):
        compiled(*args)
