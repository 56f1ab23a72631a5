# SPDX-License-Identifier: BSD-3-Clause
"""What magneto says of its work when asked to: `MAGNETO_LOGS=graph,guards`.

Each kind of text is an artifact with a name. Those that are on go to the logger
`magneto.<name>`, each text beginning with `[frame/recompile]`.
"""

from __future__ import annotations

import logging
import os
import sys
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
        "trace_call",
    }
)

# Those that C++ tells about; see observers.py.
_OBSERVED = frozenset({"bytecode", "graph_breaks", "guards", "recompiles"})

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
    _connect()


def enabled(name: str) -> bool:
    """Whether somebody wants to see this artifact."""
    return name in _enabled


def emit(
    name: str, identity: str, text: str, data: dict[str, Any] | None = None
) -> None:
    """Logs a text.

    Args:
        name: the artifact.
        identity: `frame/recompile`, or `frame/recompile_restart`.
        text: one or more lines.
        data: the same for programs. Handlers find it in the log record's
            attribute `magneto`, with the artifact's name and the identity.

    """
    record = {"artifact": name, "id": identity, **(data or {})}
    logging.getLogger(f"magneto.{name}").info(
        "[%s] %s:\n%s", identity, name, text, extra={"magneto": record}
    )


def _connect() -> None:
    """Observes compilations while one of the logs needs that."""
    from magneto import observers

    if _enabled & _OBSERVED:
        observers.add(_observe)
    else:
        observers.remove(_observe)


def _observe(
    kind: str, frame_id: int, compile_id: int, details: dict[str, Any]
) -> None:
    from magneto import reports

    identity = f"{frame_id}/{compile_id}"
    if kind == "compiled":
        _emit_if("guards", identity, "\n".join(details["guards"]))
        _emit_if("bytecode", identity, _programs(details))
    elif kind == "graph_break":
        text = f"{reports.place(details)}: {reports.what_broke(details)}"
        _emit_if("graph_breaks", identity, text)
    elif kind in ("skip", "raised"):
        text = (
            f"{reports.place(details)} runs in plain Python: "
            f"{reports.what_broke(details)}"
        )
        _emit_if("graph_breaks", identity, text)
    elif kind == "recompile":
        lines = [f"{reports.place(details)} is compiled again, because"]
        lines += [f"  {why}" for why in details["why"]]
        _emit_if("recompiles", identity, "\n".join(lines))


def _emit_if(name: str, identity: str, text: str) -> None:
    if name in _enabled:
        emit(name, identity, text)


def _programs(details: dict[str, Any]) -> str:
    """The function's bytecode, and what is run in its place."""
    parts = [
        f"{details['function']}, from instruction {details['start']}:",
        details["bytecode"].rstrip(),
        "becomes:",
        details["program"].rstrip(),
    ]
    if "island" in details:
        parts += ["and then:", details["island"].rstrip()]
    return "\n".join(parts)


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
    names = list(filter(None, names))
    if not names:
        return
    try:
        set_logs(*names)
    except ValueError as error:
        print(f"MAGNETO_LOGS: {error}", file=sys.stderr)


_read_environment()
