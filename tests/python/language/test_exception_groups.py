# SPDX-License-Identifier: BSD-3-Clause
"""Exception groups beside eager: made, split and derived, in the trace and by
the caller.
"""

import contextlib
import sys

import pytest
import torch

import magneto
from magneto.testing import check
from support.exception_trees import (
    Coded,
    Deriving,
    Initialised,
    Own,
    OwnBase,
    nested,
    places,
    raised,
    shown,
)

X = torch.arange(4.0)


def message_of(make):
    """What is made, or the error that making it raises."""

    def program(x):
        try:
            made = make()
        except Exception as error:
            return x + 1, type(error), str(error)
        return x + 1, type(made), str(made), repr(made), made.args

    return program


class DerivesNothing(ExceptionGroup):
    def derive(self, exceptions):
        return 42


class Text(str):
    def __str__(self):
        return "own text"


class Sequence:
    def __repr__(self):
        return "a sequence"

    def __getitem__(self, i):
        return [ValueError(1), TypeError(2)][i]


class Sized:
    def __len__(self):
        return 1


SOME = (ValueError(1), TypeError(2))

MAKERS = {
    "two": lambda: ExceptionGroup("m", [ValueError(1), TypeError(2)]),
    "one": lambda: ExceptionGroup("m", [ValueError(1)]),
    "tuple": lambda: ExceptionGroup("m", (ValueError(1),)),
    "tuple of the caller's": lambda: ExceptionGroup("m", SOME),
    "base of plain": lambda: BaseExceptionGroup("m", [ValueError(1)]),
    "base of base": lambda: BaseExceptionGroup("m", [KeyboardInterrupt(1)]),
    "own": lambda: Own("m", [ValueError(1)]),
    "own base": lambda: OwnBase("m", [ValueError(1)]),
    "own base of base": lambda: OwnBase("m", [SystemExit(1), KeyError(2)]),
    "nested": lambda: ExceptionGroup(
        "o", [ExceptionGroup("i", [KeyError("k")]), OSError(2, "no")]
    ),
    "of a text": lambda: ExceptionGroup(Text("m"), [ValueError(1)]),
    "of a sequence": lambda: ExceptionGroup("m", Sequence()),
    "code": lambda: Coded("m", [ValueError(1)], 3),
    "initialised": lambda: Initialised("m", [ValueError(1)]),
    "no arguments": lambda: ExceptionGroup(),
    "message only": lambda: ExceptionGroup("m"),
    "three arguments": lambda: ExceptionGroup("m", [ValueError()], 1),
    "message is None": lambda: ExceptionGroup(None, [ValueError()]),
    "message is a number": lambda: ExceptionGroup(3, [ValueError()]),
    "message is an object": lambda: ExceptionGroup(Sized(), [ValueError()]),
    "no sequence": lambda: ExceptionGroup("m", 3),
    "None": lambda: ExceptionGroup("m", None),
    "a set": lambda: ExceptionGroup("m", {ValueError()}),
    "a dict": lambda: ExceptionGroup("m", {0: ValueError()}),
    "a generator": lambda: ExceptionGroup("m", (e for e in SOME)),
    "a sized object": lambda: ExceptionGroup("m", Sized()),
    "empty list": lambda: ExceptionGroup("m", []),
    "empty tuple": lambda: ExceptionGroup("m", ()),
    "a text of letters": lambda: ExceptionGroup("m", "ab"),
    "a class": lambda: ExceptionGroup("m", [ValueError]),
    "second is none": lambda: ExceptionGroup("m", [ValueError(), 3]),
    "base in plain": lambda: ExceptionGroup("m", [KeyboardInterrupt()]),
    "base in own": lambda: Own("m", [ValueError(1), KeyboardInterrupt()]),
    "keyword": lambda: ExceptionGroup("m", exceptions=[ValueError()]),
    "keyword too many": lambda: ExceptionGroup("m", [ValueError()], x=1),
    "new": lambda: ExceptionGroup.__new__(ExceptionGroup, "m", [KeyError()]),
    "new of base": lambda: BaseExceptionGroup.__new__(Own, "m", [KeyError()]),
    "new of another": lambda: ExceptionGroup.__new__(ValueError, "m", SOME),
    "unsafe new": lambda: BaseException.__new__(ExceptionGroup, "m", SOME),
}


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", MAKERS)
def test_making(name):
    check(message_of(MAKERS[name]), X)


def fields(x):
    parts = (ValueError(1), TypeError(2))
    group = ExceptionGroup("m", parts)
    listed = [KeyError(3)]
    other = ExceptionGroup("n", listed)
    listed.append(4)
    return (
        x + 1,
        group.message,
        group.exceptions is parts,
        group.exceptions[0] is parts[0],
        other.exceptions,
        other.args,
        other.args[1] is listed,
        group.__cause__,
        group.__context__,
        group.__suppress_context__,
        group.__traceback__,
    )


def written_fields(x):
    group = ExceptionGroup("m", [ValueError(1)])
    said = []
    for name in ("message", "exceptions"):
        for value in (None, "n", ()):
            try:
                setattr(group, name, value)
            except AttributeError as error:
                said.append((str(error), error.name))
        try:
            delattr(group, name)
        except AttributeError as error:
            said.append((str(error), error.name))
    group.code = 3
    group.__cause__ = KeyError(1)
    return x + 1, said, group.code, shown(group)


def notes(x):
    error = ValueError(1)
    before = hasattr(error, "__notes__")
    error.add_note("one")
    error.add_note("two")
    said = []
    for wrong in (None, 3, b"b", ["a"]):
        try:
            error.add_note(wrong)
        except TypeError as refused:
            said.append(str(refused))
    other = KeyError(1)
    other.__notes__ = ("a",)
    try:
        other.add_note("b")
    except TypeError as refused:
        said.append(str(refused))
    return x + 1, before, error.__notes__, said, error, other


def group_with_a_size(x):
    try:
        raise ExceptionGroup(f"size {x.shape[0]}", [ValueError(x.shape)])
    except ExceptionGroup as group:
        return x + 1, str(group), group.message, repr(group)


PLAIN = [fields, written_fields, notes, group_with_a_size]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", PLAIN, ids=lambda p: p.__name__)
def test_objects(program):
    check(program, X)


# -- split, subgroup, derive --------------------------------------------------


def is_small(error):
    return isinstance(error, ValueError) and error.args[0] < 4


def contents(error):
    return [error.code] if isinstance(error, Coded) else None


MATCHERS = {
    "ValueError": ValueError,
    "KeyError": KeyError,
    "both": (ValueError, KeyError),
    "all": Exception,
    "none": SyntaxError,
    "groups": ExceptionGroup,
    "own groups": (Own, Coded),
    "empty tuple": (),
    "function": is_small,
    "lambda": lambda error: isinstance(error, Deriving),
    "true": lambda error: [1],
    "a number": 3,
    "a builtin": len,
    "a class that is none": int,
    "a nested tuple": (ValueError, (KeyError,)),
    "a list": [ValueError],
}


def splitting(make, matcher):
    def program(x):
        group = make()
        try:
            match, rest = group.split(matcher)
            sub = group.subgroup(matcher)
        except TypeError as error:
            return x + 1, str(error)
        trees = shown(match), shown(rest), shown(sub)
        tracebacks = [
            None if part is None else part.__traceback__ is group.__traceback__
            for part in (match, rest)
        ]
        return x + 1, trees, tracebacks, match, rest

    return program


@pytest.mark.feature("B4")
@pytest.mark.parametrize("made", ["made", "raised"])
@pytest.mark.parametrize("name", MATCHERS)
def test_split(name, made):
    make = {"made": nested, "raised": raised}[made]
    check(splitting(make, MATCHERS[name]), X)


def callers_group(x, group, matcher):
    match, rest = group.split(matcher)
    sub = group.subgroup(matcher)
    same = match is group, rest is group
    return x + 1, shown(match), shown(rest), shown(sub), same


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", list(MATCHERS)[:11])
def test_split_of_the_callers(name):
    check(callers_group, X, raised(), MATCHERS[name])
    check(callers_group, X, nested(), MATCHERS[name])


def callers_fields(x, error):
    seen = error.args, error.__cause__, error.__context__
    traces = error.__traceback__ is None
    group = error if isinstance(error, BaseExceptionGroup) else None
    parts = group and (group.message, [type(e) for e in group.exceptions])
    return x + len(seen[0]), seen, traces, parts


def test_fields_of_the_callers():
    def explicit():
        error = ValueError(1, "a")
        error.__cause__ = KeyError()
        return error

    compiled = magneto.compile(callers_fields, fullgraph=True)
    for make in (nested, raised, explicit, ValueError, lambda: KeyError(3)):
        error = make()
        wanted, got = callers_fields(X, error), compiled(X, error)
        assert torch.equal(wanted[0], got[0])
        assert wanted[2:] == got[2:]
        assert all(a is b for a, b in zip(wanted[1], got[1]))


def derives_nothing(x):
    group = DerivesNothing("m", [ValueError(1), TypeError(2)])
    try:
        group.split(ValueError)
    except TypeError as error:
        return x + 1, str(error), group.split(Exception)[0] is group


class DerivesTheCallers(ExceptionGroup):
    def derive(self, exceptions):
        return CALLERS


def derives_the_callers(x):
    group = DerivesTheCallers("m", [ValueError(1), TypeError(2)])
    return x + 1, shown(group.split(ValueError)[0])


CALLERS = ExceptionGroup("of the caller's", [KeyError(1)])


def predicate_raises(x):
    def predicate(error):
        raise KeyError(type(error).__name__)

    try:
        nested().split(predicate)
    except KeyError as error:
        return x + 1, str(error), places(error)[-1]


def predicate_with_tensors(x):
    y = x + 1
    group = ExceptionGroup("m", [ValueError(y), ValueError(x)])
    match, rest = group.split(lambda e: e.args and e.args[0] is y)
    return match.exceptions[0].args[0] * 2, rest.exceptions[0].args[0] * 3


def deep(x):
    group = TypeError(1)
    for i in range(200):
        group = ExceptionGroup(f"{i}", [group])
    match, rest = group.split(TypeError)
    return x + 1, match.message, rest, group.subgroup(KeyError)


def too_deep(x):
    group = TypeError(1)
    for _ in range(sys.getrecursionlimit() + 1):
        group = ExceptionGroup("g", [group])
    try:
        group.split(TypeError)
    except RecursionError as error:
        return x + 1, str(error)


def derived_alone(x):
    group = Coded("m", [ValueError(1)], 5)
    other = group.derive([KeyError(2)])
    plain = ExceptionGroup.derive(group, (KeyError(3),))
    base = BaseExceptionGroup("b", [KeyboardInterrupt()]).derive([ValueError()])
    return x + 1, shown(other), other.code, shown(plain), shown(base)


SPLITS = [
    derives_nothing,
    derives_the_callers,
    predicate_raises,
    predicate_with_tensors,
    deep,
    too_deep,
    derived_alone,
]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", SPLITS, ids=lambda p: p.__name__)
def test_splits(program):
    check(program, X)


WHOLE = [fields, notes, predicate_with_tensors, derived_alone]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_one_graph(program):
    check(program, X, fullgraph=True)


@pytest.mark.parametrize("iterates", [False, True])
def test_groups_that_leave_a_with_block(iterates):
    def raising():
        raise KeyError
        yield

    def program(x, rows):
        with contextlib.nullcontext():
            try:
                raise ExceptionGroup("g", [KeyError(1), IndexError(1)])
            except* IndexError:
                next(rows) if rows else open("/no such file")  # noqa: SIM115

    compiled = magneto.compile(program, backend="eager")
    for call in (compiled, program, compiled):
        with pytest.raises(ExceptionGroup) as caught:
            call(torch.arange(4.0), raising() if iterates else None)
        kinds = [type(each) for each in caught.value.exceptions]
        assert kinds == [
            KeyError if iterates else FileNotFoundError,
            ExceptionGroup,
        ]
