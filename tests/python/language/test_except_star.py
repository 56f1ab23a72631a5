# SPDX-License-Identifier: BSD-3-Clause
"""`except*` beside eager: which handler takes which exceptions, what is raised
again, graph breaks in between, and groups that leave the compiled function.
"""

import sys

import pytest
import torch

import magneto
from magneto.testing import check
from support.exception_trees import (
    Coded,
    Initialised,
    Own,
    nested,
    places,
    raised,
    shown,
)

X = torch.arange(4.0)


# -- except* ------------------------------------------------------------------


def star(x, make):
    """All that three clauses see, and what is left."""
    seen = []
    try:
        try:
            x = x + 1
            raise make()
        except* ValueError as some:
            x = x * 2
            seen.append((shown(some), sys.exc_info()[1] is some))
        except* (KeyError, BufferError) as some:
            x = x * 3
            seen.append((shown(some), sys.exc_info()[1] is some))
        except* TypeError:
            x = x * 5
            seen.append(shown(sys.exc_info()[1]))
        else:
            x = x - 1
        finally:
            x = x + 7
    except BaseException as left:
        return x, seen, shown(left), places(left)
    return x, seen, sys.exc_info()


RAISED = {
    "nested": nested,
    "naked ValueError": lambda: ValueError(1),
    "naked TypeError": lambda: TypeError(1),
    "naked other": lambda: IndexError(1),
    "naked KeyboardInterrupt": lambda: KeyboardInterrupt(1),
    "all of one": lambda: ExceptionGroup("m", [ValueError(1), ValueError(2)]),
    "own": lambda: Own("m", [TypeError(1), IndexError(2)]),
    "coded": lambda: Coded("m", [TypeError(1), ValueError(2)], 3),
    "base": lambda: BaseExceptionGroup("m", [SystemExit(1), ValueError(2)]),
    "left": lambda: ExceptionGroup("m", [IndexError(1)]),
    "left deeply": lambda: ExceptionGroup(
        "m", [ExceptionGroup("n", [IndexError(1), KeyError(2)]), KeyError(3)]
    ),
    "initialised": lambda: Initialised("m", [TypeError(1), IndexError(2)]),
    "class": lambda: ValueError,
}


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", RAISED)
def test_star(name):
    check(lambda x: star(x, RAISED[name]), X)


def cut():
    magneto.graph_break()


def raises_in_handlers(x):
    try:
        try:
            raise nested()
        except* ValueError:
            x = x + 1
            raise KeyError("new")
        except* KeyError as some:
            x = x + len(some.exceptions)
            raise IndexError("other") from some
        except* TypeError:
            raise
    except ExceptionGroup as left:
        return x, shown(left), [places(e) for e in left.exceptions]


def raises_one(x):
    try:
        try:
            raise ExceptionGroup("m", [ValueError(1)])
        except* ValueError:
            raise KeyError("new")
    except ExceptionGroup as left:
        return x, shown(left), places(left), places(left.exceptions[0])


def raises_one_of_a_naked(x):
    try:
        try:
            raise ValueError(1)
        except* ValueError as some:
            x = x + len(some.exceptions)
            raise KeyError("new")
    except* KeyError as left:
        seen = shown(left), places(left), places(left.exceptions[0])
    return x, seen


def raised_again(x):
    try:
        try:
            raise nested()
        except* ValueError:
            x = x + 1
            raise
        except* KeyError as some:
            raise some
    except ExceptionGroup as left:
        return x, shown(left), places(left)


def raised_again_naked(x):
    try:
        try:
            raise ValueError(1)
        except* ValueError:
            raise
    except ExceptionGroup as left:
        return x, shown(left), places(left)


def raised_in_part(x):
    try:
        try:
            raise ExceptionGroup(
                "m", [ValueError(1), ValueError(2), KeyError(3)]
            )
        except* ValueError as some:
            raise some.subgroup(lambda e: e.args != (2,))
    except ExceptionGroup as left:
        return x, shown(left), places(left)


def raised_by_name_of_a_part(x):
    try:
        try:
            raise ExceptionGroup("m", [ValueError(1), KeyError(3)])
        except* ValueError as some:
            raise some.exceptions[0]
    except ExceptionGroup as left:
        return x, shown(left), [places(e) for e in left.exceptions]


def note_in_a_handler(x):
    try:
        try:
            raise ExceptionGroup("m", [ValueError(1), KeyError(3)])
        except* ValueError as some:
            some.add_note("handled")
            raise
    except ExceptionGroup as left:
        left.add_note("left")
        return x, shown(left), left


def from_none(x):
    try:
        try:
            raise ExceptionGroup("m", [ValueError(1), KeyError(3)])
        except* ValueError:
            raise IndexError(1) from None
    except ExceptionGroup as left:
        return x, shown(left)


def wrong_type(x):
    said = []
    for wrong in (ExceptionGroup, (ValueError, Own), 3, (ValueError, 3), None):
        try:
            try:
                raise ValueError(1)
            except* wrong:
                said.append("caught")
        except TypeError as error:
            said.append((str(error), repr(error.__context__)))
    return x + 1, said


def wrong_type_in_a_plain_clause(x):
    said = []
    for wrong in (
        3,
        (ValueError, 3),
        (3, ValueError),
        (KeyError, (ValueError,)),
    ):
        try:
            try:
                raise ValueError(1)
            except wrong:
                said.append("caught")
        except TypeError as error:
            said.append((str(error), repr(error.__context__)))
    return x + 1, said


def nothing_raised(x):
    try:
        x = x + 1
    except* ValueError:
        x = x * 2
    else:
        x = x * 3
    finally:
        x = x - 1
    return x


def in_a_loop(x):
    seen = []
    for i in range(4):
        try:
            if i == 2:
                continue
            raise ExceptionGroup(str(i), [ValueError(i), KeyError(i)])
        except* ValueError as some:
            x = x + i
            seen.append(some.message)
        except* KeyError as some:
            seen.append([e.args for e in some.exceptions])
    return x, seen


def star_in_star(x):
    seen = []
    try:
        raise nested()
    except* ValueError as outer:
        try:
            raise ExceptionGroup("second", [KeyError(1), *outer.exceptions])
        except* KeyError as inner:
            seen.append((shown(inner), repr(inner.__context__)))
        except* ValueError as inner:
            x = x + 1
            seen.append(shown(inner))
        seen.append(sys.exc_info()[1] is outer)
    except* Exception as rest:
        seen.append(shown(rest))
    return x, seen


def context_of_a_star(x):
    try:
        try:
            raise KeyError("first")
        except KeyError:
            try:
                raise ExceptionGroup("m", [ValueError(1), TypeError(2)])
            except* ValueError:
                x = x + 1
    except ExceptionGroup as left:
        return x, shown(left), repr(left.__context__)


def star_of_a_call(x):
    def raises(y):
        raise ExceptionGroup("m", [ValueError(y + 1), KeyError(y + 2)])

    try:
        raises(x)
    except* ValueError as some:
        x = x * some.exceptions[0].args[0]
    except* KeyError as some:
        x = x - some.exceptions[0].args[0]
    return x


def in_an_inlined_call(x):
    def inner(y):
        try:
            raise ExceptionGroup("m", [ValueError(1), KeyError(2)])
        except* ValueError:
            y = y * 2
        return y

    try:
        return inner(x)
    except ExceptionGroup as left:
        return x + 1, shown(left)


class Splits(ExceptionGroup):
    def split(self, matcher):
        first, *others = self.exceptions
        return (
            ExceptionGroup("first", [first]),
            ExceptionGroup("others", others),
        )


class SplitsNothing(ExceptionGroup):
    def split(self, matcher):
        return (None, None)


def split_overridden(x):
    try:
        try:
            raise Splits("m", [ValueError(1), KeyError(2), KeyError(3)])
        except* KeyError as some:
            seen = shown(some)
    except ExceptionGroup as left:
        return x, seen, shown(left)


def split_gives_nothing(x):
    try:
        try:
            raise SplitsNothing("m", [ValueError(1)])
        except* ValueError:
            x = x + 1
    except ExceptionGroup as left:
        return x, shown(left)
    return x


def name_is_gone(x):
    try:
        raise ValueError(1)
    except* ValueError as some:
        x = x + len(some.exceptions)
    try:
        x = x + len(some.exceptions)  # noqa: F821  (it is gone by now)
    except UnboundLocalError as error:
        return x, str(error)


STARS = [
    raises_in_handlers,
    raises_one,
    raises_one_of_a_naked,
    raised_again,
    raised_again_naked,
    raised_in_part,
    raised_by_name_of_a_part,
    note_in_a_handler,
    from_none,
    wrong_type,
    wrong_type_in_a_plain_clause,
    nothing_raised,
    in_a_loop,
    star_in_star,
    context_of_a_star,
    star_of_a_call,
    in_an_inlined_call,
    split_overridden,
    split_gives_nothing,
    name_is_gone,
]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", STARS, ids=lambda p: p.__name__)
def test_stars(program):
    check(program, X)


WHOLE = [
    from_none,
    note_in_a_handler,
    nothing_raised,
    in_a_loop,
    star_in_star,
    context_of_a_star,
    star_of_a_call,
    in_an_inlined_call,
    split_overridden,
]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_one_graph(program):
    check(program, X, fullgraph=True)


# -- behind graph breaks ------------------------------------------------------


def break_in_a_handler(x):
    try:
        try:
            raise nested()
        except* ValueError as some:
            x = x + 1
            cut()
            seen = shown(some), sys.exc_info()[1] is some
            x = x * 2
        except* KeyError:
            cut()
            x = x * 3
            raise
    except ExceptionGroup as left:
        cut()
        return x * 5, seen, shown(left), places(left)


def break_before_a_raise(x):
    try:
        try:
            group = nested()
            x = x + 1
            cut()
            raise group
        except* (ValueError, KeyError) as some:
            seen = shown(some)
            raise IndexError(1) from some
    except ExceptionGroup as left:
        return x * 2, seen, shown(left), places(left)


@magneto.disable
def raises(error):
    raise error


def raised_outside(x):
    try:
        try:
            x = x + 1
            raises(nested())
        except* ValueError as some:
            x = x * 2
            seen = shown(some), places(some)
        except* KeyError:
            raise
    except ExceptionGroup as left:
        return x * 3, seen, shown(left), places(left)


def naked_raised_outside(x):
    try:
        x = x + 1
        raises(ValueError(3))
    except* KeyError:
        x = x * 5
    except* ValueError as some:
        x = x * 2
        seen = shown(some), places(some), places(some.exceptions[0])
    return x * 3, seen


def group_kept_over_a_break(x):
    group = nested()
    parts = group.split(ValueError)
    x = x + 1
    cut()
    again = parts[0].split(lambda e: e.args[0] == 1)
    return x, group, parts, again, shown(again[0])


def cyclic(x):
    listed = [ValueError(1)]
    group = ExceptionGroup("m", listed)
    listed.append(group)
    group.exceptions[0].__context__ = group
    cut()
    return x + 1, group.args[1][1] is group, group.exceptions[0].__context__


BREAKS = [
    break_in_a_handler,
    break_before_a_raise,
    raised_outside,
    naked_raised_outside,
    group_kept_over_a_break,
    cyclic,
]


@pytest.mark.feature("B4")
@pytest.mark.parametrize("program", BREAKS, ids=lambda p: p.__name__)
def test_breaks(program):
    check(program, X)


# -- leaving the function -----------------------------------------------------


def leaves(x, make):
    try:
        x = x + 1
        raise make()
    except* ValueError:
        x = x * 2
    except* KeyError as some:
        raise IndexError("new") from some
    return x


def leaves_made(x):
    x = x + 1
    group = nested()
    group.add_note("left")
    raise group


def tree(error):
    """What outlives a comparison of two runs."""
    if error is None:
        return None
    return shown(error), places(error), list(map(tree, parts_of(error)))


def parts_of(error):
    return getattr(error, "exceptions", ())


@pytest.mark.feature("B4")
@pytest.mark.parametrize("name", RAISED)
def test_leaving(name):
    make = RAISED[name]
    compiled = magneto.compile(leaves)
    outcomes = []
    for function in (leaves, compiled, compiled):
        try:
            outcomes.append(function(X, make).tolist())
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            outcomes.append((tree(error), repr(error.__context__)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_leaving_made():
    compiled = magneto.compile(leaves_made)
    outcomes = []
    for function in (leaves_made, compiled):
        with pytest.raises(ExceptionGroup) as caught:
            function(X)
        error = caught.value
        error.__traceback__ = error.__traceback__.tb_next
        outcomes.append(tree(error))
    assert outcomes[0] == outcomes[1]


def test_groups_as_arguments():
    def program(x, group):
        try:
            raise group
        except* ValueError as some:
            x = x + len(some.exceptions)
            seen = shown(some)
        except* Exception as rest:
            seen = None, shown(rest)
        return x, seen

    for make in (nested, raised, lambda: ValueError(1)):
        check(program, X, make())
