# SPDX-License-Identifier: BSD-3-Clause
"""Of ``itertools``: selections of items. The originals' own algorithms, since
what they have reached is told by the positions of the items.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from magneto.polyfills.iterators import END, State, made, position


class Selection(State):
    """Positions in a pool, moved on by each step; None before the first."""

    parts = ("pool", "size", "indices", "stopped")
    __slots__ = parts

    def __init__(self, pool: tuple[Any, ...], size: int, empty: bool) -> None:
        self.pool = pool
        self.size = size
        self.indices: list[int] | None = None
        self.stopped = empty

    def first(self) -> list[int]:
        """Where it begins."""
        raise NotImplementedError

    def advance(self, indices: list[int]) -> bool:
        """Moves the positions on; False if there is nothing more."""
        raise NotImplementedError

    def step(self) -> Any:
        """See State."""
        if self.stopped:
            return END
        if self.indices is None:
            self.indices = self.first()
        elif not self.advance(self.indices):
            self.stopped = True
            return END
        return tuple([self.pool[i] for i in self.indices[: self.size]])


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """``Selection.real`` for a function of ``itertools``."""

    def real(pool: Any, size: int, indices: Any, stopped: bool) -> Any:
        if stopped:
            return function((), 1)
        iterator = function(pool, size)
        if indices is not None:
            iterator.__setstate__(tuple(indices))
        return iterator

    return real


class Combinations(Selection):
    """Subsequences, in order."""

    __slots__ = ()
    stands_for = itertools.combinations
    real = staticmethod(_real(itertools.combinations))

    def first(self) -> list[int]:
        """See Selection."""
        return list(range(self.size))

    def advance(self, indices: list[int]) -> bool:
        """See Selection."""
        r, n = self.size, len(self.pool)
        i = r - 1
        while i >= 0 and indices[i] == i + n - r:
            i -= 1
        if i < 0:
            return False
        indices[i] += 1
        for j in range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        return True


def combinations(iterable: Iterable[Any], r: int) -> Any:
    """Subsequences of length r, in order."""
    r = position(r)
    pool = tuple(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    return made(Combinations(pool, r, r > len(pool)))


class CombinationsWithReplacement(Selection):
    """Subsequences whose items may repeat."""

    __slots__ = ()
    stands_for = itertools.combinations_with_replacement
    real = staticmethod(_real(itertools.combinations_with_replacement))

    def first(self) -> list[int]:
        """See Selection."""
        return [0] * self.size

    def advance(self, indices: list[int]) -> bool:
        """See Selection."""
        r, n = self.size, len(self.pool)
        i = r - 1
        while i >= 0 and indices[i] == n - 1:
            i -= 1
        if i < 0:
            return False
        indices[i:] = [indices[i] + 1] * (r - i)
        return True


def combinations_with_replacement(iterable: Iterable[Any], r: int) -> Any:
    """Subsequences of length r whose items may repeat."""
    r = position(r)
    pool = tuple(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    return made(CombinationsWithReplacement(pool, r, not pool and r > 0))


class Permutations(Selection):
    """Orders of items; `cycles` says how far each place has come."""

    __slots__ = ("cycles",)
    stands_for = itertools.permutations
    parts = (*Selection.parts, "cycles")

    def first(self) -> list[int]:
        """See Selection."""
        n = len(self.pool)
        self.cycles = list(range(n, n - self.size, -1))
        return list(range(n))

    def advance(self, indices: list[int]) -> bool:
        """See Selection."""
        n, cycles = len(indices), self.cycles
        for i in range(self.size - 1, -1, -1):
            cycles[i] -= 1
            if cycles[i] == 0:
                indices[i:] = indices[i + 1 :] + indices[i : i + 1]
                cycles[i] = n - i
            else:
                j = cycles[i]
                indices[i], indices[-j] = indices[-j], indices[i]
                return True
        return False

    @staticmethod
    def real(
        pool: Any, size: int, indices: Any, stopped: bool, cycles: Any = None
    ) -> Any:
        """See State."""
        if stopped:
            return itertools.permutations((), 1)
        iterator = itertools.permutations(pool, size)
        if indices is not None:
            iterator.__setstate__((tuple(indices), tuple(cycles)))
        return iterator


def permutations(iterable: Iterable[Any], r: int | None = None) -> Any:
    """Orders of r items."""
    pool = tuple(iterable)
    size = len(pool) if r is None else r
    if not isinstance(size, int):
        raise TypeError("Expected int as r")
    if position(size) < 0:
        raise ValueError("r must be non-negative")
    return made(Permutations(pool, size, size > len(pool)))


class Product(State):
    """The Cartesian product."""

    parts = ("pools", "indices", "stopped")
    __slots__ = parts
    stands_for = itertools.product

    def __init__(self, pools: list[tuple[Any, ...]]) -> None:
        self.pools = pools
        self.indices: list[int] | None = None
        self.stopped = False

    def step(self) -> Any:
        """See State."""
        if self.stopped:
            return END
        pools = self.pools
        if self.indices is None:
            self.indices = [0] * len(pools)
            self.stopped = not all(pools)
        else:
            indices = self.indices
            i = len(pools) - 1
            while i >= 0:
                indices[i] += 1
                if indices[i] < len(pools[i]):
                    break
                indices[i] = 0
                i -= 1
            self.stopped = i < 0
        if self.stopped:
            return END
        return tuple([pools[i][at] for i, at in enumerate(self.indices)])

    @staticmethod
    def real(pools: list[Any], indices: Any, stopped: bool) -> Any:
        """See State."""
        if stopped:
            return itertools.product(())
        iterator = itertools.product(*pools)
        if indices is not None:
            iterator.__setstate__(tuple(indices))
        return iterator


def product(*iterables: Iterable[Any], repeat: int = 1) -> Any:
    """The Cartesian product."""
    repeat = position(repeat)
    if repeat < 0:
        raise ValueError("repeat argument cannot be negative")
    # Nothing is asked for its items if none are needed.
    pools = [tuple(each) for each in iterables] if repeat else []
    return made(Product(pools * repeat))
