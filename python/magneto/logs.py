# SPDX-License-Identifier: BSD-3-Clause
"""What magneto says of its work when asked to: `MAGNETO_LOGS=graph,guards`.

Each kind of text is an artifact with a name. Those that are on go to the logger
`magneto.<name>`, each line beginning with `[frame/recompile] name: `. The log
records carry the same as data, in their attribute `magneto`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from typing import Any

ARTIFACTS = frozenset(
    {
        "bytecode",
        "graph",
        "graph_breaks",
        "graph_code",
        "graph_sizes",
        "guards",
        "recompiles",
        "symbols",
        "trace_call",
    }
)

# Those that C++ tells about; see observers.py.
_OBSERVED = frozenset(
    {
        "bytecode",
        "graph_breaks",
        "guards",
        "recompiles",
        "symbols",
        "trace_call",
    }
)

_asked: set[str] = set()  # by set_logs()
_heard: set[str] = set()  # in what torch._logging was told
_enabled: set[str] = set()


def set_logs(*names: str) -> None:
    """Switches on exactly these logs; without names all are off.

    What is on goes to the loggers `magneto.<name>` of the standard library, and
    to standard error where logging is not set up. The environment variable
    MAGNETO_LOGS does the same: `MAGNETO_LOGS=graph_code,guards`.

    Args:
        names: of "graph_code", "graph", "graph_sizes", "trace_call", "guards",
            "symbols", "recompiles", "graph_breaks" and "bytecode".

    Raises:
        ValueError: there is no log of that name.

    """
    for name in names:
        if name not in ARTIFACTS:
            raise ValueError(_no_such(name))
    _asked.clear()
    _asked.update(names)
    _switch()


def hear(names: Iterable[str]) -> None:
    """Besides those of `set_logs()`, exactly these logs are on: those that
    PyTorch's compiler was asked for, of which magneto has some.
    """
    _heard.clear()
    _heard.update(ARTIFACTS.intersection(names))
    _switch()


def _switch() -> None:
    _enabled.clear()
    _enabled.update(_asked, _heard)
    if _enabled:
        _ensure_handler()
    _connect()


def _no_such(name: str) -> str:
    return f"there is no log {name!r}; there are {', '.join(sorted(ARTIFACTS))}"


def enabled(name: str) -> bool:
    """Whether somebody wants to see this artifact."""
    return name in _enabled


def emit(name: str, identity: str, text: str, data: dict[str, Any]) -> None:
    """Logs a text, each line of it with `[identity] name: ` in front.

    Args:
        name: the artifact.
        identity: `frame/recompile`, or `frame/recompile_restart`.
        text: one or more lines.
        data: the same for programs, in terms of JSON. Handlers find it in the
            log record's attribute `magneto`, with the artifact's name and the
            identity.

    """
    head = f"[{identity}] {name}:"
    lines = [f"{head} {line}".rstrip() for line in text.splitlines() or [""]]
    record = {"artifact": name, "id": identity, **data}
    logging.getLogger(f"magneto.{name}").info(
        "%s", "\n".join(lines), extra={"magneto": record}
    )


def _connect() -> None:
    """Observes compilations while one of the logs needs that."""
    if _enabled & _OBSERVED:
        from magneto import observers

        observers.add(_observe, wants_traces="trace_call" in _enabled)
    elif "magneto.observers" in sys.modules:
        from magneto import observers

        observers.remove(_observe)


def _observe(kind: str, identity: str, details: dict[str, Any]) -> None:
    from magneto import log_texts

    for name, text_of in log_texts.BY_KIND.get(kind, ()):
        if name in _enabled:
            text, data = text_of(details)
            emit(name, identity, text, data)


class _StandardError(logging.StreamHandler[Any]):
    """Where texts go as long as nobody has set logging up."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr  # as it is now: it may be redirected
            super().emit(record)


def _ensure_handler() -> None:
    """Texts that were asked for are seen even where logging isn't set up."""
    logger = logging.getLogger("magneto")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        handler = _StandardError()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)


def _read_environment() -> None:
    """Switches on what MAGNETO_LOGS names; what it names wrongly is told in a
    line, as an import shouldn't fail for it.
    """
    names = os.environ.get("MAGNETO_LOGS", "").replace(" ", "").split(",")
    names = list(filter(None, names))
    if unknown := [name for name in names if name not in ARTIFACTS]:
        print(f"MAGNETO_LOGS: {_no_such(unknown[0])}", file=sys.stderr)
    if known := [name for name in names if name in ARTIFACTS]:
        set_logs(*known)


_read_environment()
