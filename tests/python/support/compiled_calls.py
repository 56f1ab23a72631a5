# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of compiled functions share."""

import magneto
from magneto.testing import compare


def compiled(fn, **kwargs):
    return magneto.compile(fn, backend="eager", **kwargs)


def moved(action):
    before = magneto.stats()
    action()
    after = magneto.stats()
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


class Recorder:
    """A backend that counts and keeps nothing."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        return gm.forward


def graphs_of(program, *calls, backend="eager", **options):
    """How many graphs all calls make, each with the results of plain Python."""
    magneto.reset()
    compiled = magneto.compile(program, backend=backend, **options)
    before = magneto.stats()["graphs"]
    for given in calls:
        compare(program(*given), compiled(*given))
    return magneto.stats()["graphs"] - before
