# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of generators: send, throw, close, groupby."""

import collections
import itertools

import torch


def chunked(items, size):
    it = iter(items)
    while chunk := tuple(itertools.islice(it, size)):
        yield chunk


def averager():
    total, n, average = 0, 0, None
    while True:
        try:
            value = yield average
        except ZeroDivisionError:
            total, n = 0, 0
            continue
        except GeneratorExit:
            return
        total, n = total + value, n + 1
        average = total / n


def prefetch(source, ahead):
    queue = collections.deque(itertools.islice(source, ahead))
    for item in source:
        queue.append(item)
        received = yield queue.popleft()
        if received is not None:
            queue.appendleft(received)
    yield from queue
    return len(queue)


def program(x, size):
    out = []
    average = averager()
    next(average)
    for chunk in chunked(x, size):
        out.append(average.send(sum(chunk)))
        if len(out) == 2:
            average.throw(ZeroDivisionError)
    average.close()
    source = prefetch(iter(range(6)), 2)
    got = [next(source), source.send(40), *source]
    last = list(average)
    groups = {k: [*g] for k, g in itertools.groupby(got, key=lambda v: v > 3)}
    return out, got, last, groups, [*itertools.accumulate(got, max)], x + 1


CALLS = [
    (torch.arange(10.0), 3),
    (torch.arange(4.0), 3),
    (torch.arange(0.0), 2),
]
