# SPDX-License-Identifier: BSD-3-Clause
"""What magneto says of its work when asked to: `MAGNETO_LOGS=graph,guards`.

Each kind of text is an artifact with a name. Those that are on go to the logger
`magneto.<name>`, each text beginning with `[frame/recompile]`.
"""

from __future__ import annotations

import logging
import os
import sys

ARTIFACTS = frozenset(
    {
        "bytecode",
        "graph",
        "graph_breaks",
        "graph_code",
        "graph_sizes",
        "guards",
        "recompiles",
        "trace_call",
    }
)

_enabled: set[str] = set()


def set_logs(*names: str) -> None:
    """Switches on exactly these artifacts; none: all are off.

    Raises:
        ValueError: there is no artifact of that name.

    """
    for name in names:
        if name not in ARTIFACTS:
            known = ", ".join(sorted(ARTIFACTS))
            raise ValueError(f"there is no log {name!r}; there are {known}")
    _enabled.clear()
    _enabled.update(names)
    if names:
        _ensure_handler()


def enabled(name: str) -> bool:
    """Whether somebody wants to see this artifact."""
    return name in _enabled


def emit(name: str, identity: str, text: str) -> None:
    """Logs a text.

    Args:
        name: the artifact.
        identity: `frame/recompile`, or `frame/recompile_restart`.
        text: one or more lines.

    """
    logging.getLogger(f"magneto.{name}").info(
        "[%s] %s:\n%s", identity, name, text
    )


def _ensure_handler() -> None:
    """Texts that were asked for are seen even where logging isn't set up."""
    logger = logging.getLogger("magneto")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)


def _read_environment() -> None:
    names = [
        name.strip() for name in os.environ.get("MAGNETO_LOGS", "").split(",")
    ]
    try:
        set_logs(*filter(None, names))
    except ValueError as error:
        print(f"MAGNETO_LOGS: {error}", file=sys.stderr)


_read_environment()
