# SPDX-License-Identifier: BSD-3-Clause
"""A buffer of what has happened: random choices, bisect, a weak reference."""

import bisect
import heapq
import random
import weakref

import torch


class Buffer:
    __slots__ = ("items", "capacity", "rng", "__weakref__")

    def __init__(self, capacity, seed):
        self.items, self.capacity = [], capacity
        self.rng = random.Random(seed)

    def add(self, priority, item):
        if len(self.items) >= self.capacity:
            heapq.heappushpop(self.items, (priority, len(self.items), item))
        else:
            heapq.heappush(self.items, (priority, len(self.items), item))

    def sample(self, n):
        return self.rng.choices(
            self.items, weights=[p + 1 for p, *_ in self.items], k=n
        )

    def __len__(self):
        return len(self.items)


def program(x, steps):
    buffer = Buffer(4, 7)
    watch = weakref.ref(buffer)
    random.seed(steps)
    state = x
    for step in range(steps):
        action = random.choice(["left", "right", "stay"])
        state = state + {"left": -1, "right": 1}.get(action, 0)
        buffer.add(random.randint(0, 9), state * step)
    batch = torch.stack([item for *_, item in buffer.sample(3)])
    order = [p for p, *_ in sorted(buffer.items)]
    at = bisect.bisect_left(order, 3)
    bisect.insort(order, 3)
    return batch, order, at, watch() is buffer, random.random()


CALLS = [(torch.zeros(3), 5), (torch.zeros(3), 9)]
