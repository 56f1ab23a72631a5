# SPDX-License-Identifier: BSD-3-Clause
"""Generic aliases and unions of classes that the compiled function makes: equal
to what plain Python makes, as often new, and keeping no class alive.
"""

import collections
import collections.abc as abc
import gc
import types
import typing
import weakref

import pytest
import torch

import magneto
from magneto.testing import check

X = torch.arange(3.0)
T = typing.TypeVar("T")
ALIAS = list[int]
UNION = int | str


class Own:
    pass


class Generic(typing.Generic[T]):
    pass


class Hears:
    """A class of the program's that aliases are made of."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, by):
        self.by = by


class HearsNothing(Hears):
    __slots__ = ()

    def __setattr__(self, name, value):
        if name == "__orig_class__":
            raise AttributeError(name)
        super().__setattr__(name, value)


class Meta(type):
    def __or__(cls, other):
        return "own or"


class WithMeta(metaclass=Meta):
    pass


class OwnAlias(types.GenericAlias):
    pass


MAKERS = {
    "list": lambda: list[int],
    "dict": lambda: dict[str, Own],
    "tuple": lambda: tuple[int, ...],
    "empty tuple": lambda: tuple[()],
    "type": lambda: type[Own],
    "deque": lambda: collections.deque[int],
    "nested": lambda: dict[str, list[tuple[int, Own]]],
    "text": lambda: list["Own"],
    "number": lambda: list[3],
    "tensors": lambda: list[torch.Tensor],
    "any": lambda: list[typing.Any],
    "iterable": lambda: abc.Iterable[int],
    "callable": lambda: abc.Callable[[int, Own], str],
    "callable of any": lambda: abc.Callable[..., Own],
    "constructed": lambda: types.GenericAlias(list, (int, Own)),
    "constructed of one": lambda: types.GenericAlias(list, int),
    "own alias": lambda: OwnAlias(list, (int,)),
    "unpacked": lambda: tuple[*tuple[int, str]],
    "variable": lambda: list[T],
    "substituted": lambda: dict[T, list[T]][Own],
    "part of a substituted": lambda: dict[T, list[T]][Own].__args__[1],
    "of the caller's": lambda: dict[str, ALIAS],
    "a list": lambda: list[[int]],
    "union": lambda: int | str,
    "union with none": lambda: Own | None,
    "none first": lambda: None | Own,
    "union of aliases": lambda: list[int] | dict[str, Own] | None,
    "union of unions": lambda: (int | str) | (str | Own),
    "union of the caller's": lambda: UNION | Own,
    "union of one": lambda: int | int,
    "tensor or none": lambda: torch.Tensor | None,
    "list of a union": lambda: list[int | Own],
    "meta": lambda: WithMeta | int,
    "int or meta": lambda: int | WithMeta,
    "variable or none": lambda: T | None,
    "optional": lambda: typing.Optional[Own],
    "list of optional": lambda: list[typing.Optional[Own]],
    "typing list": lambda: typing.List[Own],
    "typing callable": lambda: typing.Callable[[int], Own],
    "literal": lambda: typing.Literal["a", 1],
    "generic": lambda: Generic[Own],
    "list of generic": lambda: list[Generic[int]],
}


def looking(make):
    """All that can be asked of an alias, behind a graph break, too."""

    def program(x):
        alias = make()
        said = repr(alias), getattr(alias, "__args__", None)
        same = alias == make(), hash(alias) == hash(make()), alias is make()
        origin = getattr(alias, "__origin__", None)
        parameters = getattr(alias, "__parameters__", None)
        magneto.graph_break()
        kept = [alias, alias], {alias: 1}
        again = kept[0][0] is alias, kept[1][alias], type(alias)
        return x + 1, said, same, origin, parameters, kept, again

    return program


@pytest.mark.feature("A5")
@pytest.mark.parametrize("name", MAKERS)
def test_looking(name):
    check(looking(MAKERS[name]), X)


@pytest.mark.feature("A5")
@pytest.mark.parametrize("name", MAKERS)
def test_identity(name):
    """New in each call where it is in plain Python, and one in each."""
    make = MAKERS[name]

    def program(x):
        alias = make()
        return x + 1, alias, [alias]

    compiled = magneto.compile(program, backend="eager")
    plain = [program(X)[1:] for _ in range(3)]
    results = [compiled(X)[1:] for _ in range(3)]
    assert results == plain
    assert [type(alias) for alias, _ in results] == [type(a) for a, _ in plain]
    assert all(alias is inner[0] for alias, inner in results)
    for i in range(2):
        assert (results[i][0] is results[i + 1][0]) == (
            plain[i][0] is plain[i + 1][0]
        )


NOT_WHOLE = {
    "own alias",
    "unpacked",
    "a list",
    "meta",
    "int or meta",
    "variable or none",
}


@pytest.mark.parametrize("name", [n for n in MAKERS if n not in NOT_WHOLE])
def test_one_graph(name):
    make = MAKERS[name]
    check(lambda x: (x + 1, make()), X, fullgraph=True)


KEEPERS = {
    "list": lambda cls: list[cls],
    "nested": lambda cls: dict[str, list[cls]],
    "callable": lambda cls: abc.Callable[[cls], int],
    "union": lambda cls: cls | None,
    "list of a union": lambda cls: list[cls | int],
    "arguments": lambda cls: dict[str, cls].__args__,
    "origin": lambda cls: types.GenericAlias(cls, (int,)).__origin__,
    "part": lambda cls: dict[str, list[cls]].__args__[1],
    "key": lambda cls: {list[cls]: cls},
}


@pytest.mark.feature("A5")
@pytest.mark.parametrize("name", KEEPERS)
def test_classes_may_die(name):
    make = KEEPERS[name]
    # The class is found where the function looks for it.
    namespace = {"make": make, "cls": type("Mortal", (), {})}
    exec("def program(x): return x + 1, make(cls)", namespace)
    compiled = magneto.compile(namespace["program"], fullgraph=True)
    for _ in range(2):
        assert compiled(X)[1] == make(namespace["cls"])
    alive = weakref.ref(namespace["cls"])
    namespace["cls"] = int
    gc.collect()
    assert alive() is None
    assert compiled(X)[1] == make(int)


def annotated(x):
    def inner(
        a: list[int],
        b: abc.Callable[[int], Own],
        *c: Own | None,
        d: typing.Optional[int] = None,
    ) -> dict[str, torch.Tensor]:
        return {"x": a[0] + x}

    return inner([1], None), inner.__annotations__


def annotated_and_returned(x):
    def inner(a: list[Own], b: abc.Iterable[int]) -> Own | None:
        return x

    return x + 1, inner


def asked(x):
    kinds = int | float
    found = isinstance(3, kinds), isinstance("a", int | None)
    return x + 1, found, issubclass(bool, kinds)


def called(x):
    return x + 1, list[int]([1, 2]), dict[str, int](a=1)


def called_of_own_classes(x):
    made, deaf = Hears[int](2), HearsNothing[int](by=3)
    told = made.__orig_class__ == Hears[int], hasattr(deaf, "__orig_class__")
    return x * made.by + deaf.by, told


def of_the_callers(x):
    both = ALIAS, UNION
    inside = dict[str, ALIAS].__args__[1] is ALIAS
    return x + 1, both, inside, ALIAS.__args__


@pytest.mark.parametrize(
    "program",
    [annotated, asked, called, called_of_own_classes, of_the_callers],
    ids=lambda p: p.__name__,
)
def test_programs(program):
    check(program, X, fullgraph=True)


def test_annotations_of_a_returned_function():
    compiled = magneto.compile(annotated_and_returned, fullgraph=True)
    wanted = annotated_and_returned(X)[1].__annotations__
    first, second = (compiled(X)[1].__annotations__ for _ in range(2))
    assert first == second == wanted
    assert first["a"] is not second["a"]
