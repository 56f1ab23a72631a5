# SPDX-License-Identifier: BSD-3-Clause
"""A cache of tensors that forgets what was used longest ago."""

from collections import OrderedDict

import torch


class Cache(OrderedDict):
    def __init__(self, size, *args, **kwargs):
        self.size = size
        self.evicted = []
        super().__init__(*args, **kwargs)

    def __getitem__(self, key):
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > self.size:
            self.evicted.append(next(iter(self)))
            del self[self.evicted[-1]]

    def __missing__(self, key):
        raise KeyError(f"no {key!r} in {[*self]}")


def program(x, size, wanted):
    cache = Cache(size, start=x)
    misses = []
    for key in wanted:
        try:
            x = x + cache[key]
        except KeyError as error:
            misses.append(error.args[0])
            cache[key] = x * len(cache)
    return x, dict(cache), cache.evicted, misses, repr(cache)[:12], len(cache)


CALLS = [
    (torch.ones(2), 2, "abab"),
    (torch.ones(2), 2, "abcabc"),
    (torch.ones(2), 9, ["start", "b"]),
    (torch.ones(2), 0, ["start"]),
]
