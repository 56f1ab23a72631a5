# SPDX-License-Identifier: BSD-3-Clause
"""The files that `make test-quick` leaves out: those that take more than two
seconds of processor time, and the folder that needs a GPU.

Each folder keeps some that are shorter. How long a file takes, `pytest
--durations=0 FILE` says.
"""

SLOW = frozenset(
    """
    cuda
    """.split()
)
