# SPDX-License-Identifier: BSD-3-Clause
"""Handlers of events: decorators, notes on exceptions, a deque."""

import collections

import torch


class Bus:
    def __init__(self):
        self.handlers = collections.defaultdict(list)
        self.log = collections.deque(maxlen=4)

    def on(self, *names):
        def decorate(fn):
            for name in names:
                self.handlers[name].append(fn)
            return fn

        return decorate

    def emit(self, name, /, *args, **kwargs):
        results = []
        for handler in tuple(self.handlers.get(name, ())):
            try:
                results.append(handler(*args, **kwargs))
            except StopIteration as stop:
                results.append(stop.value)
                break
            except Exception as error:
                error.add_note(f"while handling {name}")
                results.append((type(error), error.args, error.__notes__))
        self.log.append((name, len(results)))
        return results


def program(x, n):
    bus = Bus()

    @bus.on("scale", "both")
    def scale(t, by=2):
        return t * by

    @bus.on("both")
    def fail(t, by=1):
        return t + 1 // by

    @bus.on("both")
    def stop(t, by=1):
        raise StopIteration(t - by)

    @bus.on("both")
    def never(t, by):
        raise AssertionError

    out = [bus.emit("scale", x), bus.emit("both", x, by=n), bus.emit("none", x)]
    for i in range(4):
        bus.emit(f"n{i}")
    return out, list(bus.log), sorted(bus.handlers)


CALLS = [(torch.ones(3), 2), (torch.ones(3), 5), (torch.ones(3), 0)]
