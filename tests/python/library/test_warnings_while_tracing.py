# SPDX-License-Identifier: BSD-3-Clause
"""What functions that are computed while tracing warn of is shown by each call
of the program, and says the program's line.
"""

import re
import threading
import warnings

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)


def recorded(program):
    """Its result and what it warns of: the text, and from which line."""

    def call(x):
        # The texts are remembered by `re` once they are found to be good.
        re.purge()
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            result = program(x)
        return result, [(str(w.message), w.filename, w.lineno) for w in shown]

    call.__name__ = program.__name__
    return call


def substituted(x):
    return re.sub("(?P<a>x)", r"\g<+1>", "xx"), x + 1


def compiled_pattern(x):
    return re.compile("[[a]").pattern, x + 1


def truth_of_not_implemented(x):
    y = x * 2
    return (y if NotImplemented else x), not NotImplemented


def raised(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            re.compile("[a--b]")
        except FutureWarning as warning:
            return str(warning), x + 1
    return None


@pytest.mark.parametrize(
    "program",
    [substituted, compiled_pattern, truth_of_not_implemented, raised],
    ids=lambda p: p.__name__,
)
def test_as_in_plain_python(program):
    check_calls(recorded(program), [((X,), {})] * 3)


def test_other_threads_warn_while_one_traces():
    """What a thread warns of is held back for that thread alone."""
    stop = threading.Event()
    seen = []

    def warn():
        while not stop.is_set():
            try:
                warnings.warn("from the other thread", stacklevel=1)
            except UserWarning as error:
                seen.append(error)

    def traced(x):
        for n in range(300):
            x = x + len(re.sub("a", "b", "a" * n))
        return x

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        thread = threading.Thread(target=warn)
        thread.start()
        try:
            for _ in range(5):
                magneto.compile(traced, backend="eager")(X)
                magneto.reset()
        finally:
            stop.set()
            thread.join()
    assert seen == []
    assert any(str(w.message) == "from the other thread" for w in shown)


def test_the_filters_are_as_before():
    filters = list(warnings.filters)
    magneto.compile(substituted, backend="eager")(X)
    assert warnings.filters == filters
