# SPDX-License-Identifier: BSD-3-Clause
"""Coroutines of asyncio within a function."""

import asyncio

import torch


class Counter:
    def __init__(self, stop):
        self.at, self.stop = 0, stop

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.at >= self.stop:
            raise StopAsyncIteration
        self.at += 1
        await asyncio.sleep(0)
        return self.at

    async def __aenter__(self):
        self.at = 0
        return self

    async def __aexit__(self, kind, error, traceback):
        self.at = -1
        return kind is KeyError


async def scaled(x, by, log):
    async with Counter(by) as counter:
        async for n in counter:
            x = x * n
            log.append((by, n))
        if by == 3:
            raise KeyError(by)
    return x, counter.at


async def every(x, n, log):
    results = await asyncio.gather(
        *(scaled(x, i, log) for i in range(1, n)), return_exceptions=True
    )
    return [r async for r in listed(results)]


async def listed(items):
    for item in items:
        yield item


def program(x, n):
    log = []
    results = asyncio.run(every(x + 1, n, log))
    return results, log, x * 2


CALLS = [(torch.ones(2), 2), (torch.ones(2), 4)]
