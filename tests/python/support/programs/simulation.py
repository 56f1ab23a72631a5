# SPDX-License-Identifier: BSD-3-Clause
"""A queue of events, ordered by time, with a tie breaker."""

import dataclasses
import enum
import heapq
import itertools
import random
from fractions import Fraction

import torch


class Kind(enum.Flag):
    ARRIVE = enum.auto()
    LEAVE = enum.auto()
    URGENT = enum.auto()
    QUICK = URGENT | LEAVE


@dataclasses.dataclass(order=True)
class Event:
    time: Fraction
    number: int
    kind: Kind = dataclasses.field(compare=False)
    load: torch.Tensor = dataclasses.field(compare=False, repr=False)


class Simulation:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = itertools.count()
        self.events = []
        self.waiting = 0
        self.most = 0
        self.times = {}

    def at(self, time, kind, load):
        heapq.heappush(self.events, Event(time, next(self.numbers), kind, load))

    def run(self, until):
        total = 0
        while self.events and self.events[0].time <= until:
            event = heapq.heappop(self.events)
            self.times.setdefault(str(event.kind), []).append(str(event.time))
            if Kind.ARRIVE in event.kind:
                self.waiting += 1
                self.most = max(self.most, self.waiting)
                wait = Fraction(self.random.randint(1, 3), 2)
                kind = self.random.choice([Kind.LEAVE, Kind.QUICK])
                self.at(event.time + wait, kind, event.load * 2)
            elif event.kind & Kind.LEAVE:
                self.waiting -= 1
                total = total + event.load
                if event.kind & Kind.URGENT:
                    total = total + 1
        return total


def program(x, seed, until):
    simulation = Simulation(seed)
    for i in range(3):
        simulation.at(Fraction(i, 3), Kind.ARRIVE, x * i)
    total = simulation.run(until)
    return (
        total,
        simulation.times,
        simulation.most,
        simulation.waiting,
        [repr(e) for e in sorted(simulation.events)],
    )


CALLS = [(torch.ones(2), 1, 9), (torch.ones(2), 2, 1), (torch.ones(2), 3, 0)]
