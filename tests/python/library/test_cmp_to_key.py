# SPDX-License-Identifier: BSD-3-Clause
"""functools.cmp_to_key: the keys that it makes are CPython's own."""

import functools

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.expressions import check_expression, lines


def descending(a, b):
    return b - a


def by_texts(a, b):
    """No number, but what compares with one."""
    return float(len(a) - len(b))


KEY = functools.cmp_to_key(descending)
THREE = KEY(3)

EXPRESSIONS = lines(r"""
sorted([3, 1, 2], key=functools.cmp_to_key(descending)), sorted([3, 1, 2], key=KEY), sorted(["aa", "b", ""], key=functools.cmp_to_key(mycmp=by_texts)), max([1, 5, 3], key=KEY), [v.sort(key=KEY) or v for v in [[1, 2, 3]]]
KEY(1) < KEY(2), KEY(1) <= KEY(2), KEY(1) == KEY(1), KEY(1) != KEY(1), KEY(1) > KEY(2), KEY(2) >= KEY(2), KEY(1) < THREE, THREE < KEY(1), THREE == KEY(3), THREE.obj, KEY.obj, KEY(obj=4).obj
type(KEY) is type(functools.cmp_to_key(descending)), type(KEY(1)) is type(THREE), type(KEY(1)), type(functools.cmp_to_key(descending)), callable(KEY), callable(functools.cmp_to_key(descending)), KEY(1)(2).obj, THREE(5).obj, isinstance(KEY(1), type(THREE)), KEY(1).__class__.__name__
sorted([x + 2, x, x + 1], key=functools.cmp_to_key(lambda a, b: a.ndim - b.ndim)), min(3, 1, key=functools.cmp_to_key(lambda a, b: a - b)), functools.cmp_to_key(lambda a, b: a - b)(2) > functools.cmp_to_key(lambda a, b: b - a)(1), KEY(x).obj is x, [KEY(1)].index(KEY(1)), KEY(2) in [KEY(1), KEY(2)]
""")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    check_expression(expression, globals())


ERRORS = lines(r"""
KEY(1) < 1
KEY(1) == 1
KEY(1) < KEY
KEY == KEY
hash(KEY(1))
{KEY: 1}
KEY()
KEY(1, 2)
KEY(other=1)
functools.cmp_to_key()
functools.cmp_to_key(1, 2)
functools.cmp_to_key(1)(2) < functools.cmp_to_key(1)(3)
sorted([1, "a"], key=KEY)
sorted([1, 2], key=functools.cmp_to_key(lambda a, b: "text"))
KEY(1).compare
""")


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression):
    def program(x):
        try:
            return evaluate(x)
        except Exception as error:
            return x + 1, type(error), str(error)

    evaluate = eval(f"lambda x: {expression}", dict(globals()))
    check(program, torch.ones(2))


def leaves_keys(x):
    key = functools.cmp_to_key(descending)
    return x + 1, key, key(x.shape[0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_keys_that_leave_are_usable(dynamic):
    call = magneto.compile(
        leaves_keys, backend="eager", fullgraph=True, dynamic=dynamic
    )
    for n in (2, 3):
        _, key, made = call(torch.ones(n))
        assert type(key) is type(made) is type(KEY)
        assert made.obj == n
        assert key(n + 1) < made < KEY(n - 1)
        assert sorted([1, 2, 3], key=key) == [3, 2, 1]


def test_sorting_by_a_callers_key_is_one_graph():
    def program(x, way, items):
        return [x + item for item in sorted(items, key=keys[way])]

    keys = {"up": functools.cmp_to_key(lambda a, b: a - b), "down": KEY}
    check_calls(
        program,
        [
            ((torch.ones(2), way, [2, 3, 1]), {})
            for way in ("up", "down", "up", "down")
        ],
        graph_breaks=0,
        graphs=2,
    )


class Holder:
    key = None


HOLDER = Holder()


def reads(x):
    return x + 1, HOLDER.key.obj


def compares(x):
    try:
        return x + 1, HOLDER.key < KEY(2)
    except AttributeError as error:
        return x + 2, str(error)


@pytest.mark.parametrize("program", [reads, compares])
def test_another_key_recompiles(program):
    call = magneto.compile(program, backend="eager")
    for key in (KEY, KEY(3), KEY(1), KEY, KEY(3)):
        HOLDER.key = key
        x = torch.zeros(1)
        assert call(x) == program(x)
