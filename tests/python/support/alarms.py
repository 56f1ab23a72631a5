# SPDX-License-Identifier: BSD-3-Clause
"""Signals that arrive while a test's program runs."""

import contextlib
import signal


@contextlib.contextmanager
def alarms(handler, *timer):
    """SIGALRM goes to `handler`; `timer`, if given, starts signal.ITIMER_REAL
    (seconds, and seconds between the next ones). Both are undone behind it.
    """
    before = signal.signal(signal.SIGALRM, handler)
    try:
        if timer:
            signal.setitimer(signal.ITIMER_REAL, *timer)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
