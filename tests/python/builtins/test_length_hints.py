# SPDX-License-Identifier: BSD-3-Clause
"""__length_hint__: what a list or a tuple is made of is asked how many items it
has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check_calls


class Asked:
    """Tells who was asked, in which order."""

    def __init__(self, answer):
        self.answer = answer
        self.log = []

    def __iter__(self):
        self.log.append("iter")
        return iter([1, 2, 3])


class ByHint(Asked):
    def __length_hint__(self):
        self.log.append("hint")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class ByLength(ByHint):
    def __len__(self):
        self.log.append("len")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Sequence:
    def __init__(self, answer):
        self.answer = answer
        self.log = []

    def __getitem__(self, index):
        return [1, 2, 3][index]

    def __len__(self):
        self.log.append("len")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class LoggingList(list):
    log: list[str] = []

    def __len__(self):
        self.log.append("len")
        return 7


def extended(x):
    items = [0]
    items.extend(x)
    return items


def added(x):
    items = [0]
    items += x
    return items


def sliced(x):
    items = [0, 0]
    items[1:] = x
    return items


def starred(x):
    first, *rest = x
    return first, rest


def initialised(x):
    items = [5, 6]
    items.__init__(x)
    return items


def text(x):
    return ",".join(str(each) for each in list(x)) + ",".join(map(str, x))


FORMS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "set": set,
    "extended": extended,
    "added": added,
    "sliced": sliced,
    "starred": starred,
    "initialised": initialised,
    "text": text,
    "display": lambda x: [*x],
    "tuple_display": lambda x: (*x, 4),
    "call": lambda x: max(*x),
    "unpacked": lambda x: (lambda a, b, c: a + b + c)(*x),
    "by_name": lambda x: [a for (a,) in zip(x)],
    "iterator": lambda x: list(iter(x)),
    "sum": sum,
}


def answers() -> list[Any]:
    return [
        3,
        0,
        100,
        -1,
        "no",
        NotImplemented,
        TypeError("unknown"),
        ValueError("fails"),
        None,
        1.5,
    ]


@pytest.mark.parametrize("kind", [ByHint, ByLength, Asked, Sequence])
@pytest.mark.parametrize("form", FORMS)
def test_asked_as_in_plain_python(form: str, kind: type) -> None:
    take = FORMS[form]

    def program(index):
        x = kind(answers()[index])
        try:
            taken = take(x)
        except (TypeError, ValueError) as error:
            taken = type(error), str(error)
        return taken, x.log

    check_calls(program, [((index,), {}) for index in range(len(answers()))])


def test_reversed_sequences_are_asked() -> None:
    def program(answer):
        x = Sequence(answer)
        backwards = reversed(x)
        x.answer = 3 if answer == 3 else LookupError("no")
        try:
            taken = list(backwards)
        except LookupError as error:
            taken = str(error)
        return taken, x.log

    check_calls(program, [((3,), {}), ((2,), {})])


def test_subclasses_of_list_are_asked() -> None:
    def program():
        x = LoggingList([1, 2])
        LoggingList.log = log = []
        return list(x), tuple(x), [*x], log

    check_calls(program, [((), {})])


# -- lists that grow while they are looked at -----------------------------------


def looks_at_the_list(x):
    items = [1]

    def lengths():
        for _ in range(3):
            yield len(items)

    items.extend(lengths())
    items += lengths()
    return items, x + 1


def raises_in_the_middle(x):
    items = [1]

    def fails():
        yield 2
        yield 3
        raise KeyError("no more")

    try:
        items.extend(fails())
    except KeyError:
        items.append("caught")
    try:
        items += fails()
    except KeyError:
        items.append("caught")
    try:
        items[:1] = fails()
    except KeyError:
        items.append("caught")
    return items, x + 1


def with_itself(x):
    items = [1, 2]
    items.extend(items)
    items += items
    items[1:3] = items
    return items, x + 1


def errors_inside(x):
    def fails():
        yield 1
        raise TypeError("its own")

    items = [1]
    told = []
    for value in (fails(), 3):
        try:
            items[:] = value
        except TypeError as error:
            told.append(str(error))
    return items, told, x + 1


@pytest.mark.parametrize(
    "program",
    [looks_at_the_list, raises_in_the_middle, with_itself, errors_inside],
    ids=lambda each: each.__name__,
)
def test_lists_grow_item_by_item(program: Callable[[Any], Any]) -> None:
    check_calls(program, [((torch.ones(2),), {})], graphs=1, graph_breaks=0)


def test_the_whole_is_traced() -> None:
    @magneto.compile(backend="eager", fullgraph=True)
    def program():
        x = ByHint(3)
        return list(x), x.log

    assert program() == ([1, 2, 3], ["iter", "hint"])
