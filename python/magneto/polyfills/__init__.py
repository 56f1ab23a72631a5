# SPDX-License-Identifier: BSD-3-Clause
"""Python that is traced in the place of functions written in C.

One module for each module it stands for. What is here is ordinary Python that
behaves as the original does, errors included; it is never run outside of a
trace except by the tests that compare it with the original.
"""

from __future__ import annotations


def leave_to_c(what: str) -> None:
    """Ends the graph at the call that is traced here, which C code then does.
    Does nothing when it runs.

    Args:
        what: what can't be traced, for the message.

    """
