# SPDX-License-Identifier: BSD-3-Clause
"""The module warnings: filters that the program changes and restores, and
warnings of functions that are evaluated while tracing, which each call of the
program shows with the program's line.
"""

import re
import sys
import threading
import warnings

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support.under_backends import check_under

X = torch.arange(4.0)


def ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x + 1


def by_category(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        y = x * 2
    return y + 1


def by_message(x):
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "error", message="no", module="here", append=True
        )
        return x + len(warnings.filters)


def nested(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first = warnings.filters[0][0]
        return x + 1, first, warnings.filters[0][0]


def in_short(x):
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return x + 1, warnings.filters[0][:3]


def recorded(x):
    with warnings.catch_warnings(record=True) as shown:
        return x + 1, shown


def kept(x):
    warnings.simplefilter("ignore", FutureWarning)
    return x + 1


def reset(x):
    with warnings.catch_warnings():
        warnings.resetwarnings()
        return x + len(warnings.filters)


def undone_by_an_error(x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raise ValueError("no")
    except ValueError:
        x = x + 1
    return x


WHOLE = [
    ignored,
    by_category,
    by_message,
    nested,
    in_short,
    recorded,
    kept,
    reset,
    undone_by_an_error,
]


def outcome(function, *calls):
    """Results, and the filters behind each call."""
    found = []
    with warnings.catch_warnings():
        before = warnings.filters
        warnings.simplefilter("default")
        for x in calls:
            result = function(x)
            tensor, *more = result if isinstance(result, tuple) else (result,)
            found.append(
                (
                    tensor.tolist(),
                    more,
                    list(warnings.filters),
                    warnings.filters is before,
                )
            )
        found.append((warnings.showwarning, warnings._showwarnmsg_impl))
    return found


@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_whole_graphs(program):
    magneto.reset()
    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    expected = outcome(program, X, X + 1)
    for _ in range(2):
        assert outcome(compiled, X, X + 1) == expected


@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_under_aot_eager(program):
    if program is recorded:
        program = ignored
    with warnings.catch_warnings():
        check_under("aot_eager", program, X)


def test_under_inductor():
    with warnings.catch_warnings():
        check_under("inductor", ignored, X)


def warned(x):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        warnings.warn("here", stacklevel=1)
        y = x + 1
    return y, [(str(w.message), w.lineno) for w in shown]


def warned_behind(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = x * 2
        try:
            warnings.warn("here", stacklevel=1)
        except UserWarning as caught:
            return y, str(caught)
    return y


@pytest.mark.parametrize("program", [warned, warned_behind])
def test_what_warns_sees_the_filters_of_the_trace(program):
    compiled = magneto.compile(program, backend="eager")
    for x in (X, X + 1, X):
        (y, shown), (expected, told) = compiled(x), program(x)
        assert torch.equal(y, expected)
        assert shown == told


def test_warnings_are_shown_again():
    """What was shown once is shown again when the filters have changed."""

    def warn():
        warnings.warn("again", stacklevel=1)

    def shown(function):
        sys.modules[__name__].__dict__.pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("default")
            for _ in range(3):
                warn()
                function(X)
            warn()
            warn()
        return len(seen)

    compiled = magneto.compile(ignored, backend="eager")
    compiled(X)
    assert shown(compiled) == shown(ignored) == 4


def test_a_pattern_that_warns_in_a_block():
    def program(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = re.compile("[[b]").pattern
        return x + 1, found

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        re.purge()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert compiled(X)[1] == "[[b]"
        assert seen == []


def with_warnings(program):
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
    check_calls(with_warnings(program), [((X,), {})] * 3)


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
