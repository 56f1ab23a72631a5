# SPDX-License-Identifier: BSD-3-Clause
"""The words for what happens in C++. Each function takes a dict of details; it
warns, or returns an exception, which C++ then raises.
"""

from __future__ import annotations

import warnings
from typing import Any

from magneto import config, exc
from magneto.end_reason import user_stack

_ISSUES = "please report it, with a program that shows it, as an issue"


def place(details: dict[str, Any]) -> str:
    """Function, file and line: `f (file.py:12)`."""
    return f"{details['function']} ({details['filename']}:{details['line']})"


def what_broke(details: dict[str, Any]) -> str:
    """The reason of a graph break, with its hint, in one line."""
    what = details["detail"] or details["meaning"].rstrip(".")
    text = f"{what} [{details['reason']}]"
    if details["stack"]:
        filename, line, function = details["stack"][-1]
        text += f" at {filename}:{line} in {function}"
    return f"{text}; {details['hint']}" if details["hint"] else text


def unsupported(details: dict[str, Any]) -> exc.Unsupported:
    """Something can't be in a graph, and all of the program is to be."""
    because = (
        "fullgraph=True"
        if details["fullgraph"]
        else "torch._dynamo.error_on_graph_break(True)"
    )
    error = exc.Unsupported(
        f"{because}, but the graph breaks in {place(details)}: "
        f"{what_broke(details)}"
    )
    for name in ("reason", "meaning", "detail", "hint"):
        setattr(error, name, details[name])
    where = details["filename"], details["line"], details["function"]
    error.filename, error.line, error.function = where
    error.user_stack = user_stack(details["stack"], where)
    return error


def promise_broken(details: dict[str, Any]) -> exc.SizeNotDynamic:
    """A size was marked as dynamic, and the program needs one value of it; or
    its marks contradict each other.
    """
    if details["contradiction"]:
        return exc.SizeNotDynamic(
            f"{details['size']} of {place(details)} is marked "
            f"{details['contradiction']}: no call can be both. Remove one mark"
        )
    size, value, stack = details["size"], details["value"], details["stack"]
    because = f", because of {stack[-1]}" if stack else ""
    return exc.SizeNotDynamic(
        f"{size} is marked as dynamic, but {place(details)} can only be "
        f"compiled for {size} == {value}{because}. Change that place, or use "
        "maybe_mark_dynamic() or no mark at all"
    )


def _limit(details: dict[str, Any]) -> str:
    why = next(filter(None, details["why"]), "its guards fail")
    return (
        f"{place(details)} was compiled {details['limit']} times "
        f"(magneto.config.{details['setting']}), and now again {why}"
    )


def limit_reached(details: dict[str, Any]) -> None:
    """The function runs in plain Python from now on where no guards hold."""
    warnings.warn(
        f"{_limit(details)}; it runs in plain Python for such inputs, with "
        "what it calls. Pass inputs that are alike, or raise the limit.",
        exc.RecompileLimitWarning,
        stacklevel=2,
    )


def limit_may_not_be_reached(details: dict[str, Any]) -> Exception:
    """The same, where plain Python isn't allowed."""
    because = (
        "fullgraph=True"
        if details["fullgraph"]
        else "torch._dynamo.config.fail_on_recompile_limit_hit"
    )
    return exc.RecompileLimitExceeded(f"{because}: {_limit(details)}")


def recompile_refused(details: dict[str, Any]) -> Exception:
    """It would be compiled once more, and nothing may be."""
    return exc.RecompileError(
        "torch._dynamo.config.error_on_recompile, and "
        f"{place(details)} would be compiled again: {_why(details)}"
    )


def stance_refuses(details: dict[str, Any]) -> Exception:
    """The same, whether or not it was compiled before."""
    return exc.RecompileError(
        "Detected recompile when torch.compile stance is 'fail_on_recompile': "
        f"{place(details)} would be compiled: {_why(details)}"
    )


def _why(details: dict[str, Any]) -> str:
    return "; ".join(filter(None, details["why"])) or (
        "nothing was compiled for it before"
    )


def graph_failed(details: dict[str, Any]) -> None:
    """A compiled graph raised where plain Python, run again, did not."""
    warnings.warn(
        f"The compiled graph of {place(details)} raised an exception, and the "
        "function ran again in plain Python, where none left it. If the "
        "function catches such exceptions, nothing is wrong, but it runs twice "
        "each time; compile less of it. Else the backend is at fault.",
        exc.GraphFailedWarning,
        stacklevel=2,
    )


def internal_failure(details: dict[str, Any]) -> Exception | None:
    """A check inside magneto failed."""
    text = f"magneto failed to compile {place(details)}: {details['what']}"
    if config.raise_internal_errors:
        return exc.InternalError(f"{text}; {_ISSUES}")
    warnings.warn(
        f"{text}. The function runs in plain Python; {_ISSUES}.",
        exc.InternalErrorWarning,
        stacklevel=2,
    )
    return None
