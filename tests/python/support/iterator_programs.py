# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are given an iterator and a tensor, and use up a part of the
iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import magneto


def keep(x: Any) -> bool:
    return x != 2


class Holder:
    def __init__(self, iterator):
        self.iterator = iterator


def two(iterator, x):
    return next(iterator, "end"), next(iterator, "end"), x + 1


def rest(iterator, x):
    return list(iterator), next(iterator, "end"), x + 1


def loop(iterator, x):
    total = []
    for item in iterator:
        total.append(item)
        if len(total) == 2:
            break
    return total, x * 2


def loop_with_breaks(iterator, x):
    total = []
    for item in iterator:
        x = x + 1
        magneto.graph_break()
        total.append(item)
    return total, x


def raised_at_the_end(iterator, x):
    try:
        for _ in range(20):
            x = x + 1
            next(iterator)
    except StopIteration:
        return "ended", x
    except ValueError as error:
        return str(error), x


def given_back(iterator, x):
    first = next(iterator, None)
    return first, iterator, x + 1


def held(iterator, x):
    holder = Holder(iterator)
    magneto.graph_break()
    taken = [next(holder.iterator, None)]
    taken.extend(holder.iterator)
    return taken, x + 1


def untouched(iterator, x):
    return isinstance(iterator, type(iter([]))), iter(iterator), x + 1


FORMS = [
    two,
    rest,
    loop,
    loop_with_breaks,
    raised_at_the_end,
    given_back,
    held,
    untouched,
]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, RuntimeError) as error:
        return str(error)
