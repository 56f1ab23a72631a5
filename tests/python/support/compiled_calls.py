# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of compiled functions share."""

import magneto


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
