# SPDX-License-Identifier: BSD-3-Clause
"""What breaks the graph: in an inlined call, a context manager, before a
return.
"""

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


def with_break(fn):
    """The function, with a graph break before it returns."""

    def broken(*inputs):
        result = fn(*inputs)
        magneto.graph_break()
        return result

    return broken
