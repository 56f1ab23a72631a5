# SPDX-License-Identifier: BSD-3-Clause
"""Of ``itertools``: those that go over iterables. ``combinatorics`` and
``shared_iterators`` have the others.

Arguments are looked at when the function is called, as the originals do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from magneto.construct import Given
from magneto.polyfills.iterators import END, State, made, position


def _in_state(iterator: Any, state: Any) -> Any:
    iterator.__setstate__(state)
    return iterator


class Accumulate(State):
    """Running totals."""

    parts = ("it", "func", "total", "initial")
    __slots__ = parts
    stands_for = itertools.accumulate

    def __init__(self, it: Iterator[Any], func: Any, initial: Any) -> None:
        self.it = it
        self.func = func
        self.total = END
        self.initial = initial

    def step(self) -> Any:
        """See State."""
        if self.initial is not None:
            self.total, self.initial = self.initial, None
            return self.total
        item = next(self.it)
        if self.total is END:
            self.total = item
        elif self.func is None:
            self.total = self.total + item
        else:
            self.total = self.func(self.total, item)
        return self.total

    @staticmethod
    def real(it: Any, func: Any, total: Any, initial: Any) -> Any:
        """See State."""
        iterator = itertools.accumulate(Given(it), func, initial=initial)
        return iterator if total is END else _in_state(iterator, total)


def accumulate(
    iterable: Iterable[Any],
    func: Callable[[Any, Any], Any] | None = None,
    *,
    initial: Any = None,
) -> Any:
    """Running totals."""
    return made(Accumulate(iter(iterable), func, initial))


class Chain(State):
    """The items of one iterable after the other."""

    parts = ("source", "active")
    __slots__ = parts
    stands_for = itertools.chain

    def __init__(self, source: Iterator[Any]) -> None:
        self.source: Any = source
        self.active: Any = END

    def step(self) -> Any:
        """See State. An error of the source's ends it."""
        while self.source is not END:
            if self.active is END:
                source, self.source = self.source, END
                iterable = next(source, END)
                if iterable is END:
                    return END
                self.active = iter(iterable)
                self.source = source
            item = next(self.active, END)
            if item is not END:
                return item
            self.active = END
        return END

    @staticmethod
    def real(source: Any, active: Any) -> Any:
        """See State."""
        if source is END:
            return itertools.chain()
        state = (source,) if active is END else (source, active)
        return _in_state(itertools.chain(), state)


def chain(*iterables: Iterable[Any]) -> Any:
    """The items of one iterable after the other."""
    return made(Chain(iter(iterables)))


def chain_from_iterable(iterables: Iterable[Any]) -> Any:
    """``chain.from_iterable``."""
    return made(Chain(iter(iterables)))


class Compress(State):
    """The items whose selector is true."""

    parts = ("data", "selectors")
    __slots__ = parts
    stands_for = itertools.compress

    @staticmethod
    def real(data: Any, selectors: Any) -> Any:
        """See State."""
        return itertools.compress(Given(data), Given(selectors))

    def __init__(self, data: Iterator[Any], selectors: Iterator[Any]) -> None:
        self.data = data
        self.selectors = selectors

    def step(self) -> Any:
        """See State."""
        while True:
            item = next(self.data)
            if next(self.selectors):
                return item


def compress(data: Iterable[Any], selectors: Iterable[Any]) -> Any:
    """The items whose selector is true."""
    return made(Compress(iter(data), iter(selectors)))


class Count(State):
    """Numbers without end."""

    parts = ("number", "by")
    __slots__ = parts
    stands_for = itertools.count
    real = itertools.count

    def __init__(self, number: Any, by: Any) -> None:
        self.number = number
        self.by = by

    def step(self) -> Any:
        """See State."""
        number = self.number
        self.number = number + self.by
        return number


def count(start: Any = 0, step: Any = 1) -> Any:
    """Numbers without end."""
    for number in (start, step):
        if not (
            hasattr(type(number), "__index__")
            or hasattr(type(number), "__int__")
            or hasattr(type(number), "__float__")
            or isinstance(number, complex)
        ):
            raise TypeError("a number is required")
    if isinstance(start, int) and isinstance(step, int):
        # What is counted by one is counted in C, as far as it fits there.
        plain = int.__add__(start, 0)
        if int.__add__(step, 0) == 1 and -(2**63) <= plain < 2**63:
            start = plain
    return made(Count(start, step))


class Cycle(State):
    """The items over and over."""

    parts = ("it", "saved", "index")
    __slots__ = parts
    stands_for = itertools.cycle

    def __init__(self, it: Iterator[Any]) -> None:
        self.it: Any = it
        self.saved: list[Any] = []
        self.index = 0

    def step(self) -> Any:
        """See State."""
        if self.it is not END:
            item = next(self.it, END)
            if item is not END:
                self.saved.append(item)
                return item
            self.it = END
        if not self.saved:
            return END
        item = self.saved[self.index]
        self.index += 1
        if self.index >= len(self.saved):
            self.index = 0
        return item

    @staticmethod
    def real(it: Any, saved: list[Any], index: int) -> Any:
        """See State."""
        if it is not END:
            return _in_state(itertools.cycle(Given(it)), (saved, False))
        rest = _in_state(iter(saved), index)
        return _in_state(itertools.cycle(rest), (saved, True))


def cycle(iterable: Iterable[Any]) -> Any:
    """The items over and over."""
    return made(Cycle(iter(iterable)))


class DropWhile(State):
    """The items from the first on for which the predicate is false."""

    parts = ("predicate", "it", "started")
    __slots__ = parts
    stands_for = itertools.dropwhile

    def __init__(self, predicate: Any, it: Iterator[Any]) -> None:
        self.predicate = predicate
        self.it = it
        self.started = False

    def step(self) -> Any:
        """See State."""
        while True:
            item = next(self.it)
            if self.started:
                return item
            if not self.predicate(item):
                self.started = True
                return item

    @staticmethod
    def real(predicate: Any, it: Any, started: bool) -> Any:
        """See State."""
        return _in_state(itertools.dropwhile(predicate, Given(it)), started)


def dropwhile(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Any:
    """The items from the first on for which the predicate is false."""
    return made(DropWhile(predicate, iter(iterable)))


class FilterFalse(State):
    """The items for which the predicate is false."""

    parts = ("predicate", "it")
    __slots__ = parts
    stands_for = itertools.filterfalse

    @staticmethod
    def real(predicate: Any, it: Any) -> Any:
        """See State."""
        return itertools.filterfalse(predicate, Given(it))

    def __init__(self, predicate: Any, it: Iterator[Any]) -> None:
        self.predicate = predicate
        self.it = it

    def step(self) -> Any:
        """See State."""
        while True:
            item = next(self.it)
            if not (item if self.predicate is None else self.predicate(item)):
                return item


def filterfalse(
    predicate: Callable[[Any], Any] | None, iterable: Iterable[Any]
) -> Any:
    """The items for which the predicate is false."""
    return made(FilterFalse(predicate, iter(iterable)))


class Islice(State):
    """A part of the items."""

    parts = ("it", "wanted", "stop", "by", "position")
    __slots__ = parts
    stands_for = itertools.islice

    def __init__(
        self, it: Iterator[Any], start: int, stop: int | None, by: int
    ) -> None:
        self.it: Any = it
        self.wanted: Any = start
        self.stop = stop
        self.by = by
        self.position = 0

    def step(self) -> Any:
        """See State. An error ends it."""
        if self.it is END:
            return END
        it, self.it = self.it, END
        while self.position < self.wanted:
            next(it)
            self.position += 1
        if self.stop is not None and self.position >= self.stop:
            return END
        item = next(it)
        self.position += 1
        # At the end, what lies before `stop` is used up as well.
        self.wanted += self.by
        if self.stop is not None and self.wanted > self.stop:
            self.wanted = self.stop
        self.it = it
        return item

    @staticmethod
    def real(it: Any, wanted: int, stop: Any, by: int, position: int) -> Any:
        """See State."""
        if it is END:
            return itertools.islice((), 0)
        return _in_state(
            itertools.islice(Given(it), wanted, stop, by), position
        )


def _bound(value: Any) -> int:
    # -1, which is none, whatever is wrong with it.
    try:
        return position(value)
    except Exception:
        return -1


def islice(iterable: Iterable[Any], *bounds: Any) -> Any:
    """``iterable[start:stop:step]`` of an iterator."""
    if not 1 <= len(bounds) <= 3:
        limit = "at most 4" if bounds else "at least 2"
        raise TypeError(
            f"islice expected {limit} arguments, got {len(bounds) + 1}"
        )
    start, stop, step = 0, bounds[0], 1
    if len(bounds) > 1:
        start = 0 if bounds[0] is None else _bound(bounds[0])
        stop = bounds[1]
    if stop is not None:
        stop = _bound(stop)
    if stop == -1:
        raise ValueError(
            "Stop argument for islice() must be None or an integer: "
            "0 <= x <= sys.maxsize."
        )
    if start < 0 or (stop is not None and stop < 0):
        raise ValueError(
            "Indices for islice() must be None or an integer: "
            "0 <= x <= sys.maxsize."
        )
    if len(bounds) > 2:
        step = 1 if bounds[2] is None else _bound(bounds[2])
    if step < 1:
        raise ValueError(
            "Step for islice() must be a positive integer or None."
        )
    return made(Islice(iter(iterable), start, stop, step))


class Pairwise(State):
    """Each item with the next one."""

    parts = ("it", "before")
    __slots__ = parts
    stands_for = itertools.pairwise

    def __init__(self, it: Iterator[Any]) -> None:
        self.it: Any = it
        self.before = END

    def step(self) -> Any:
        """See State. Its source may ask it for items meanwhile."""
        if self.it is END:
            return END
        try:
            before = self.before
            if before is END:
                before = self.before = next(self.it)
                if self.it is END:
                    self.before = END
                    return END
            self.before = item = next(self.it)
            return before, item
        except BaseException:
            self.it = self.before = END
            raise

    @staticmethod
    def real(it: Any, before: Any) -> Any:
        """See State."""
        if it is END:
            return itertools.pairwise(())
        if before is END:
            return itertools.pairwise(Given(it))
        return itertools.pairwise(itertools.chain((before,), Given(it)))


def pairwise(iterable: Iterable[Any]) -> Any:
    """Each item with the next one."""
    return made(Pairwise(iter(iterable)))


class Repeat(State):
    """One object again and again."""

    parts = ("object", "left")
    __slots__ = parts
    stands_for = itertools.repeat

    def __init__(self, object: Any, left: int | None) -> None:
        self.object = object
        self.left = left

    def step(self) -> Any:
        """See State."""
        if self.left is None:
            return self.object
        if self.left <= 0:
            return END
        self.left -= 1
        return self.object

    @staticmethod
    def real(object: Any, left: int | None) -> Any:
        """See State."""
        if left is None:
            return itertools.repeat(object)
        return itertools.repeat(object, left)


def repeat(object: Any, times: Any = END) -> Any:
    """One object again and again."""
    return made(Repeat(object, None if times is END else position(times)))


class StarMap(State):
    """The function called with each item's items."""

    parts = ("function", "it")
    __slots__ = parts
    stands_for = itertools.starmap

    @staticmethod
    def real(function: Any, it: Any) -> Any:
        """See State."""
        return itertools.starmap(function, Given(it))

    def __init__(self, function: Any, it: Iterator[Any]) -> None:
        self.function = function
        self.it = it

    def step(self) -> Any:
        """See State."""
        return self.function(*tuple(next(self.it)))


def starmap(function: Callable[..., Any], iterable: Iterable[Any]) -> Any:
    """The function called with each item's items."""
    return made(StarMap(function, iter(iterable)))


class TakeWhile(State):
    """The items up to the first for which the predicate is false."""

    parts = ("predicate", "it", "stopped")
    __slots__ = parts
    stands_for = itertools.takewhile

    def __init__(self, predicate: Any, it: Iterator[Any]) -> None:
        self.predicate = predicate
        self.it = it
        self.stopped = False

    def step(self) -> Any:
        """See State."""
        if self.stopped:
            return END
        item = next(self.it)
        if self.predicate(item):
            return item
        self.stopped = True
        return END

    @staticmethod
    def real(predicate: Any, it: Any, stopped: bool) -> Any:
        """See State."""
        return _in_state(itertools.takewhile(predicate, Given(it)), stopped)


def takewhile(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Any:
    """The items up to the first for which the predicate is false."""
    return made(TakeWhile(predicate, iter(iterable)))


class ZipLongest(State):
    """``zip`` until the longest one ends."""

    parts = ("iterators", "active", "fillvalue")
    __slots__ = parts
    stands_for = itertools.zip_longest

    def __init__(self, iterators: list[Any], fillvalue: Any) -> None:
        self.iterators = iterators
        self.active = len(iterators)
        self.fillvalue = fillvalue

    def step(self) -> Any:
        """See State. An error ends it."""
        active, self.active = self.active, 0
        if not active:
            return END
        found = []
        for i, it in enumerate(self.iterators):
            item = END if it is END else next(it, END)
            if item is END:
                if it is not END:
                    active -= 1
                    if not active:
                        return END
                    self.iterators[i] = END
                item = self.fillvalue
            found.append(item)
        self.active = active
        return tuple(found)

    @staticmethod
    def real(iterators: list[Any], active: int, fillvalue: Any) -> Any:
        """See State."""
        if not active:
            return itertools.zip_longest(fillvalue=fillvalue)
        rest = [() if it is END else Given(it) for it in iterators]
        return itertools.zip_longest(*rest, fillvalue=fillvalue)


def zip_longest(*iterables: Iterable[Any], fillvalue: Any = None) -> Any:
    """``zip`` until the longest one ends."""
    return made(ZipLongest([iter(each) for each in iterables], fillvalue))
