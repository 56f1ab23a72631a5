# SPDX-License-Identifier: BSD-3-Clause
"""Resources: ExitStack, context managers, what they swallow and raise."""

import contextlib

import torch


class Resource(contextlib.ContextDecorator):
    def __init__(self, log, name, swallow=()):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(f"+{self.name}")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(f"-{self.name}:{kind.__name__ if kind else None}")
        return kind is not None and issubclass(kind, self.swallow)


@contextlib.contextmanager
def timed(log, name):
    log.append(f"<{name}")
    try:
        yield len(log)
    except ValueError as error:
        log.append(f"!{error}")
        raise RuntimeError(name) from error
    finally:
        log.append(f">{name}")


def program(x, how):
    log = []

    @Resource(log, "decorated", (KeyError,))
    def inner(x):
        with contextlib.ExitStack() as stack:
            for i in range(how + 1):
                stack.enter_context(
                    Resource(log, i, (LookupError,) if i == 1 else ())
                )
            stack.callback(log.append, "callback")
            n = stack.enter_context(timed(log, "timed"))
            x = x * n
            if how == 1:
                raise IndexError("one")
            if how == 2:
                raise ValueError("two")
            if how == 3:
                kept = stack.pop_all()
                log.append("popped")
                kept.close()
            if how == 4:
                print("four", n)
                raise KeyError("four")
        return x + 1

    try:
        result = inner(x)
    except RuntimeError as error:
        result = (str(error), repr(error.__cause__), error.__suppress_context__)
    else:
        log.append("else")
    finally:
        log.append("finally")
    return result, log, x + 1


CALLS = [
    (torch.ones(2), 0),
    (torch.ones(2), 1),
    (torch.ones(2), 2),
    (torch.ones(2), 3),
    (torch.ones(2), 4),
]
