# SPDX-License-Identifier: BSD-3-Clause
"""What breaks the graph within a call that is inlined."""

import magneto


def breaks():
    """Breaks the graph of its caller."""
    magneto.graph_break()


class Context:
    """A context manager that does so where it is entered and left."""

    def __enter__(self):
        breaks()
        return self

    def __exit__(self, *_):
        breaks()
