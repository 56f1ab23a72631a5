# SPDX-License-Identifier: BSD-3-Clause
"""Coroutines made of generators, in the order of their times."""

import heapq
import itertools
import typing

import torch


class Sleep(typing.NamedTuple):
    ticks: int


def worker(name, x, log):
    for i in range(3):
        log.append((name, i))
        got = yield Sleep(i + len(name))
        x = x + got
    return x


def scheduler(tasks):
    queue, results, order = (
        [(0, i, name) for i, name in enumerate(tasks)],
        {},
        itertools.count(len(tasks)),
    )
    heapq.heapify(queue)
    while queue:
        now, _, name = heapq.heappop(queue)
        try:
            request = tasks[name].send(now if now else None)
        except StopIteration as stop:
            results[name] = stop.value
        else:
            heapq.heappush(queue, (now + request.ticks, next(order), name))
    return results


def program(x):
    log = []
    tasks = {
        name: worker(name, x * i, log)
        for i, name in enumerate(["a", "bb", "ccc"])
    }
    return scheduler(tasks), log


CALLS = [(torch.zeros(2),), (torch.ones(3),)]
