# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose effects on the process nobody can take back."""

from __future__ import annotations

import os
from collections.abc import Callable


def text_of_child(write: Callable[[], str]) -> str:
    """What a function gives in a process of its own, forked from this one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                pipe.write(write())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"{text}the process ended with {status}"
