# SPDX-License-Identifier: BSD-3-Clause
"""What artifacts call to make objects that no constructor makes directly."""

from __future__ import annotations

import _random
import collections
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Given:
    """Passes an iterator on to C code, which asks for one: that of the user's
    class itself, whose ``__iter__`` the program has called already.
    """

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __iter__(self) -> Any:
        return self.iterator


def call(
    callable: Callable[..., Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """``callable(*args, **keywords)``."""
    return callable(*args, **keywords)


def register_hook(
    handle: Any, tensor: Any, name: str, hook: Callable[..., Any]
) -> None:
    """``tensor.register_hook(hook)``, or another such method, whose handle
    `handle` becomes.
    """
    vars(handle).update(vars(getattr(tensor, name)(hook)))


def derived(base: Any, kind: Any, *args: Any) -> Any:
    """An instance of `kind`, made as its base class `base` makes its own."""
    made = base.__new__(kind)
    base.__init__(made, *args)
    return made


def partial(kind: Any, function: Any, args: Any, keywords: Any) -> Any:
    """A `functools.partial`, or one of a class derived from it, of these very
    objects.
    """
    made = functools.partial.__new__(kind, function)
    functools.partial.__setstate__(made, (function, args, keywords, None))
    return made


def random_generator(kind: Any, state: Any) -> Any:
    """A generator of class `kind` that has come to `state`; seeded by the
    system without one.
    """
    made = _random.Random.__new__(kind)
    if state is None:
        _random.Random.seed(made)
    else:
        _random.Random.setstate(made, state)
    return made


class _Empty:
    def __getitem__(self, position: int) -> Any:
        raise IndexError


def sequence_iterator(sequence: Any, position: int) -> Any:
    """An iterator by ``__getitem__`` that has come to `position`, without
    asking for any item; without a sequence, one at its end.
    """
    if sequence is None:
        iterator = iter(_Empty())
        next(iterator, None)
        return iterator
    iterator = iter(sequence)
    iterator.__setstate__(position)
    return iterator


def outdated_deque_iterator(kind: Any, length: int, position: int) -> Any:
    """An iterator of class `kind` that has given `position` of `length` items
    of a deque, which has changed since.
    """
    changed = collections.deque(range(length))
    iterator = kind(changed, position)
    changed.append(None)
    return iterator


def advanced(iterate: Callable[..., Any], iterable: Any, count: int) -> Any:
    """``iterate(iterable)``, moved on."""
    iterator = iterate(iterable)
    for _ in range(count):
        next(iterator, None)
    return iterator


def comparison_key(compare: Callable[[Any, Any], Any], *objects: Any) -> Any:
    """What `functools.cmp_to_key` gives, or the key of an object."""
    key = functools.cmp_to_key(compare)
    return key(*objects) if objects else key


def union(*classes: Any) -> Any:
    """``int | str | ...``"""
    return functools.reduce(operator.or_, classes)
