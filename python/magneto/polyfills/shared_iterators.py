# SPDX-License-Identifier: BSD-3-Clause
"""Of ``itertools``: iterators that share what they go over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from magneto.construct import Given
from magneto.polyfills.iterators import END, State, made, position, state_of

_GROUPER = type(next(itertools.groupby([0]))[1])
_TEE = type(itertools.tee(())[0])
_BLOCK = type(itertools.tee(())[0].__reduce__()[2][0])
_BLOCK_SIZE = 57


class GroupBy(State):
    """Runs of items with the same key. END stands for what isn't there."""

    parts = ("it", "key", "wanted", "current_key", "current")
    __slots__ = (*parts, "group")
    stands_for = itertools.groupby

    def __init__(self, it: Iterator[Any], key: Any) -> None:
        self.it = it
        self.key = key
        self.wanted: Any = END
        self.current_key: Any = END
        self.current: Any = END
        self.group: Group | None = None

    def advance(self) -> bool:
        """Reads an item and its key; False at the end."""
        item = next(self.it, END)
        if item is END:
            return False
        self.current_key = item if self.key is None else self.key(item)
        self.current = item
        return True

    def is_of_group(self) -> bool:
        """Whether the item that was read is one of the group."""
        wanted, key = self.wanted, self.current_key
        return key is END or (
            wanted is not END and (wanted is key or bool(wanted == key))
        )

    def step(self) -> Any:
        """See State. What is left of the group before is passed over."""
        if self.group is not None:
            self.group.parent = None
            self.group = None
        while self.is_of_group():
            if not self.advance():
                return END
        self.wanted = self.current_key
        self.group = Group(self, self.wanted)
        return self.current_key, made(self.group)

    @staticmethod
    def real(
        it: Any, key: Any, wanted: Any, current_key: Any, current: Any
    ) -> Any:
        """See State."""
        iterator = itertools.groupby(Given(it), key)
        if wanted is not END and current is END:
            # Where a group has given an item: it is given here.
            iterator.__setstate__((wanted, None, wanted))
            next(_GROUPER(iterator, wanted))
        elif wanted is not END:
            iterator.__setstate__((current_key, current, wanted))
        return iterator


class Group(State):
    """One such run; without a parent it is over."""

    parts = ("parent", "wanted")
    __slots__ = parts
    stands_for = _GROUPER

    def __init__(self, parent: GroupBy, wanted: Any) -> None:
        self.parent: GroupBy | None = parent
        self.wanted = wanted

    def step(self) -> Any:
        """See State."""
        parent = self.parent
        if parent is None:
            return END
        if parent.current is END and not parent.advance():
            return END
        key = parent.current_key
        if not (self.wanted is key or self.wanted == key):
            return END
        item = parent.current
        parent.current = parent.current_key = END
        return item

    @staticmethod
    def real(parent: Any, wanted: Any) -> Any:
        """See State."""
        if parent is None:
            parent = itertools.groupby(())
        return _GROUPER(parent, wanted)


def groupby(
    iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> Any:
    """Runs of items with the same key."""
    return made(GroupBy(iter(iterable), key))


class Items(State):
    """What several iterators have read of one."""

    parts = ("it", "items")
    __slots__ = (*parts, "reading")

    def __init__(self, it: Iterator[Any]) -> None:
        self.it = it
        self.items: list[Any] = []
        self.reading = False

    def at(self, position: int) -> Any:
        """The item, which is read if nobody has, or END."""
        if position < len(self.items):
            return self.items[position]
        if self.reading:
            raise RuntimeError("cannot re-enter the tee iterator")
        self.reading = True
        try:
            item = next(self.it, END)
        finally:
            self.reading = False
        if item is not END:
            self.items.append(item)
        return item

    @staticmethod
    def real(it: Any, items: list[Any]) -> Any:
        """The original's linked blocks, the first in front."""
        full = len(items) // _BLOCK_SIZE * _BLOCK_SIZE
        blocks = [_BLOCK(it, items[full:], None)]
        for start in range(full - _BLOCK_SIZE, -1, -_BLOCK_SIZE):
            block = items[start : start + _BLOCK_SIZE]
            blocks.insert(0, _BLOCK(it, block, blocks[0]))
        return blocks


class Tee(State):
    """One of them."""

    parts = ("shared", "position")
    __slots__ = parts
    stands_for = _TEE

    def __init__(self, shared: Items, position: int) -> None:
        self.shared = shared
        self.position = position

    def step(self) -> Any:
        """See State."""
        item = self.shared.at(self.position)
        if item is not END:
            self.position += 1
        return item

    @staticmethod
    def real(shared: list[Any], position: int) -> Any:
        """See State."""
        block, index = divmod(position, _BLOCK_SIZE)
        iterator = _TEE(())
        iterator.__setstate__((shared[block], index))
        return iterator


def tee(iterable: Iterable[Any], n: int = 2) -> tuple[Any, ...]:
    """Several iterators over one."""
    n = position(n)
    if n < 0:
        raise ValueError("n must be >= 0")
    if n == 0:
        return ()
    it = iter(iterable)
    copy = getattr(it, "__copy__", None)
    if type(it) is _TEE or type(it) is Tee:
        first, state = it, state_of(it)
        rest = [made(Tee(state.shared, state.position)) for _ in range(n - 1)]
    elif copy is not None:
        first, rest = it, [copy() for _ in range(n - 1)]
    else:
        shared = Items(iter(it))
        first = made(Tee(shared, 0))
        rest = [made(Tee(shared, 0)) for _ in range(n - 1)]
    return (first, *rest)
