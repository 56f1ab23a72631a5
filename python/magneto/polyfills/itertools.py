# SPDX-License-Identifier: BSD-3-Clause
"""Of ``itertools``, as generators.

Arguments are looked at when the function is called, as the originals do, so
each generator is made by a function around it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_MISSING = object()


def accumulate(
    iterable: Iterable[Any],
    func: Callable[[Any, Any], Any] | None = None,
    *,
    initial: Any = None,
) -> Iterator[Any]:
    """Running totals."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        total = initial
        if total is None:
            total = next(it, _MISSING)
            if total is _MISSING:
                return
        yield total
        for item in it:
            total = total + item if func is None else func(total, item)
            yield total

    return items(iter(iterable))


def chain(*iterables: Iterable[Any]) -> Iterator[Any]:
    """The items of one iterable after the other."""
    for iterable in iterables:
        yield from iterable


def chain_from_iterable(cls: type, iterables: Iterable[Any]) -> Iterator[Any]:
    """``chain.from_iterable``."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        for iterable in it:
            yield from iterable

    return items(iter(iterables))


def combinations(iterable: Iterable[Any], r: int) -> Iterator[Any]:
    """Subsequences of length r, in order."""
    pool = tuple(iterable)
    n = len(pool)
    if r < 0:
        raise ValueError("r must be non-negative")

    def items() -> Iterator[Any]:
        if r > n:
            return
        indices = list(range(r))
        yield tuple([pool[i] for i in indices])
        while True:
            i = r - 1
            while i >= 0 and indices[i] == i + n - r:
                i -= 1
            if i < 0:
                return
            indices[i] += 1
            for j in range(i + 1, r):
                indices[j] = indices[j - 1] + 1
            yield tuple([pool[k] for k in indices])

    return items()


def combinations_with_replacement(
    iterable: Iterable[Any], r: int
) -> Iterator[Any]:
    """Subsequences of length r whose items may repeat."""
    pool = tuple(iterable)
    n = len(pool)
    if r < 0:
        raise ValueError("r must be non-negative")

    def items() -> Iterator[Any]:
        if not n and r:
            return
        indices = [0] * r
        yield tuple([pool[i] for i in indices])
        while True:
            i = r - 1
            while i >= 0 and indices[i] == n - 1:
                i -= 1
            if i < 0:
                return
            indices[i:] = [indices[i] + 1] * (r - i)
            yield tuple([pool[k] for k in indices])

    return items()


def compress(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    """The items whose selector is true."""

    def items(it: Iterator[Any], flags: Iterator[Any]) -> Iterator[Any]:
        for item, flag in zip(it, flags, strict=False):
            if flag:
                yield item

    return items(iter(data), iter(selectors))


def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    """Numbers without end."""
    if isinstance(start, str) or isinstance(step, str):
        raise TypeError("a number is required")

    def items() -> Iterator[Any]:
        number = start
        while True:
            yield number
            number = number + step

    return items()


def cycle(iterable: Iterable[Any]) -> Iterator[Any]:
    """The items over and over."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        saved = []
        for item in it:
            yield item
            saved.append(item)
        while saved:
            yield from saved

    return items(iter(iterable))


def dropwhile(
    predicate: Callable[[Any], Any], iterable: Iterable[Any]
) -> Iterator[Any]:
    """The items from the first on for which the predicate is false."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        for item in it:
            if not predicate(item):
                yield item
                break
        yield from it

    return items(iter(iterable))


def filterfalse(
    predicate: Callable[[Any], Any] | None, iterable: Iterable[Any]
) -> Iterator[Any]:
    """The items for which the predicate is false."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        for item in it:
            if not (item if predicate is None else predicate(item)):
                yield item

    return items(iter(iterable))


def groupby(
    iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[Any]:
    """Runs of items with the same key."""

    def groups(it: Iterator[Any]) -> Iterator[Any]:
        item = next(it, _MISSING)
        item_key = item if key is None or item is _MISSING else key(item)
        round_ = [0]

        def group(wanted: Any, mine: int) -> Iterator[Any]:
            nonlocal item, item_key
            while (
                round_[0] == mine
                and item is not _MISSING
                and item_key == wanted
            ):
                yield item
                if round_[0] != mine:
                    return
                item = next(it, _MISSING)
                if item is not _MISSING:
                    item_key = item if key is None else key(item)

        while item is not _MISSING:
            wanted = item_key
            yield wanted, group(wanted, round_[0])
            # What the caller left of the group is passed over.
            while item is not _MISSING and item_key == wanted:
                item = next(it, _MISSING)
                if item is not _MISSING:
                    item_key = item if key is None else key(item)
            round_[0] += 1

    return groups(iter(iterable))


def islice(iterable: Iterable[Any], *bounds: Any) -> Iterator[Any]:
    """``iterable[start:stop:step]`` of an iterator."""
    if not 1 <= len(bounds) <= 3:
        limit = "at most 4" if bounds else "at least 2"
        raise TypeError(
            f"islice expected {limit} arguments, got {len(bounds) + 1}"
        )
    start, stop, step = 0, bounds[0], 1
    if len(bounds) > 1:
        start = 0 if bounds[0] is None else bounds[0]
        stop = bounds[1]
    if len(bounds) > 2:
        step = 1 if bounds[2] is None else bounds[2]
    if stop is not None and (not isinstance(stop, int) or stop == -1):
        raise ValueError(
            "Stop argument for islice() must be None or an integer: "
            "0 <= x <= sys.maxsize."
        )
    if (
        not isinstance(start, int)
        or start < 0
        or (stop is not None and stop < 0)
    ):
        raise ValueError(
            "Indices for islice() must be None or an integer: "
            "0 <= x <= sys.maxsize."
        )
    if not isinstance(step, int) or step < 1:
        raise ValueError(
            "Step for islice() must be a positive integer or None."
        )

    def items(it: Iterator[Any]) -> Iterator[Any]:
        position = 0
        wanted = start
        while True:
            while position < wanted:
                if next(it, _MISSING) is _MISSING:
                    return
                position += 1
            if stop is not None and position >= stop:
                return
            item = next(it, _MISSING)
            if item is _MISSING:
                return
            position += 1
            # At the end, what lies before `stop` is used up as well.
            wanted += step
            if stop is not None and wanted > stop:
                wanted = stop
            yield item

    return items(iter(iterable))


def pairwise(iterable: Iterable[Any]) -> Iterator[Any]:
    """Each item with the next one."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        before = next(it, _MISSING)
        if before is _MISSING:
            return
        for item in it:
            yield before, item
            before = item

    return items(iter(iterable))


def permutations(
    iterable: Iterable[Any], r: int | None = None
) -> Iterator[Any]:
    """Orders of r items."""
    pool = tuple(iterable)
    n = len(pool)
    size = n if r is None else r
    if not isinstance(size, int):
        raise TypeError("Expected int as r")
    if size < 0:
        raise ValueError("r must be non-negative")

    def items() -> Iterator[Any]:
        if size > n:
            return
        indices = list(range(n))
        cycles = list(range(n, n - size, -1))
        yield tuple([pool[i] for i in indices[:size]])
        while n:
            i = size - 1
            while i >= 0:
                cycles[i] -= 1
                if cycles[i] == 0:
                    indices[i:] = indices[i + 1 :] + indices[i : i + 1]
                    cycles[i] = n - i
                    i -= 1
                    continue
                j = cycles[i]
                indices[i], indices[-j] = indices[-j], indices[i]
                yield tuple([pool[k] for k in indices[:size]])
                break
            if i < 0:
                return

    return items()


def product(*iterables: Iterable[Any], repeat: int = 1) -> Iterator[Any]:
    """The Cartesian product."""
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    pools = [tuple(iterable) for iterable in iterables] * repeat
    found: list[tuple[Any, ...]] = [()]
    for pool in pools:
        found = [(*before, item) for before in found for item in pool]

    def items() -> Iterator[Any]:
        yield from found

    return items()


def repeat(object: Any, times: int | None = None) -> Iterator[Any]:
    """One object again and again."""
    if times is not None:
        times = operator.index(times)

    def items() -> Iterator[Any]:
        if times is None:
            while True:
                yield object
        for _ in range(times):
            yield object

    return items()


def starmap(
    function: Callable[..., Any], iterable: Iterable[Any]
) -> Iterator[Any]:
    """The function called with each item's items."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        for args in it:
            yield function(*args)

    return items(iter(iterable))


def takewhile(
    predicate: Callable[[Any], Any], iterable: Iterable[Any]
) -> Iterator[Any]:
    """The items up to the first for which the predicate is false."""

    def items(it: Iterator[Any]) -> Iterator[Any]:
        for item in it:
            if not predicate(item):
                return
            yield item

    return items(iter(iterable))


def tee(iterable: Iterable[Any], n: int = 2) -> tuple[Iterator[Any], ...]:
    """Several iterators over one."""
    if n < 0:
        raise ValueError("n must be >= 0")
    it = iter(iterable)
    seen: list[Any] = []

    def items() -> Iterator[Any]:
        position = 0
        while True:
            if position == len(seen):
                item = next(it, _MISSING)
                if item is _MISSING:
                    return
                seen.append(item)
            yield seen[position]
            position += 1

    return tuple([items() for _ in range(n)])


def zip_longest(
    *iterables: Iterable[Any], fillvalue: Any = None
) -> Iterator[Any]:
    """``zip`` until the longest one ends."""
    iterators = [iter(iterable) for iterable in iterables]

    def items() -> Iterator[Any]:
        alive = [True] * len(iterators)
        while True:
            found = []
            for i, it in enumerate(iterators):
                item = next(it, _MISSING) if alive[i] else _MISSING
                if item is _MISSING:
                    alive[i] = False
                    item = fillvalue
                found.append(item)
            if not any(alive):
                return
            yield tuple(found)

    return items()
