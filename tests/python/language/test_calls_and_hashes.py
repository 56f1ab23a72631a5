# SPDX-License-Identifier: BSD-3-Clause
"""Calls, hash() and iterators: details that CPython decides and a program can
see.
"""

import collections
import copy
import functools
import math
import operator
import traceback

import pytest
import torch

import magneto
from magneto.testing import check, compare

LOG = []


class Hashed:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


class Mapping:
    def keys(self):
        LOG.append("keys")
        return ["c", "a", "b"]

    def __getitem__(self, key):
        LOG.append(key)
        return 1


def keywords(**given):
    return given


def raised(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def deleter():
    value = 1

    def delete():
        nonlocal value
        del value

    return delete


HASHES = [0, -1, -2, 2**61 - 1, 2**62, -(2**63), 2**63, 10**30, True, 2.5, None]


def hashes(x):
    return x + 1, [raised(lambda n=n: hash(Hashed(n))) for n in HASHES]


def keywords_twice(x):
    LOG.clear()
    return (
        x + 1,
        raised(lambda: keywords(a=1, **Mapping())),
        raised(lambda: keywords(**{"a": 1}, **Mapping())),
        [*LOG],
    )


def keywords_twice_in_a_handler(x):
    try:
        raise ValueError
    except ValueError:
        return x + 1, raised(lambda: keywords(b=2, **{"b": 3}))  # noqa: PIE804


def free_variable_deleted_twice(x):
    delete = deleter()
    delete()
    return x + 1, raised(delete)


def unhashable_keys_of_empty_dicts(x):
    key = (1, [2])
    return (
        x + 1,
        {}.pop(key, None),
        raised(lambda: {}.pop(key)),
        raised(lambda: {1: 2}.pop(key, None)),
    )


def iterators_at_their_end(x):
    ordered = collections.OrderedDict(a=1)
    made = [
        iter({1: 2}),
        iter({1: 2}.items()),
        reversed({1: 2}.values()),
        iter(ordered),
        reversed(ordered),
        iter({1}),
        reversed([1, 2]),
        reversed((1, 2)),
        reversed(range(3)),
        iter(collections.deque([1])),
        reversed(collections.deque([1])),
        iter([1]),
        iter("ab"),
    ]
    for iterator in made:
        list(iterator)
    return x + 1, [type(i) for i in made], made


def reraised_nothing():
    raise


def nothing_to_raise(x):
    try:
        reraised_nothing()
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        return x + 1, [(frame.name, frame.lineno) for frame in frames]


class Unreachable(OSError):
    pass


class Described(ConnectionError):
    def __init__(self, place):
        self.place = place
        super().__init__(f"at {place}")


class Silent(OSError):
    def __init__(self, place):
        self.place = place


def system_errors(x):
    seen = []
    for make in (
        lambda: OSError(),
        lambda: TimeoutError("late"),
        lambda: FileNotFoundError("a file"),
        lambda: Unreachable("it"),
        lambda: Described("home"),
        lambda: Silent("home"),
        lambda: UnicodeError("odd"),
        lambda: OSError(x=1),
    ):
        try:
            raise make()
        except (OSError, UnicodeError, TypeError) as error:
            number = getattr(error, "errno", "none")
            seen.append((str(error), repr(error), error.args, number, error))
    return x + 1, seen


class Item:
    def __init__(self, log):
        self.log = log

    def __eq__(self, other):
        self.log.append("eq")
        return False

    def __ne__(self, other):
        self.log.append("ne")
        return False

    def __lt__(self, other):
        self.log.append("lt")
        return "lt"

    __hash__ = None


def comparisons_of_sequences(x):
    log = []
    found = [
        ask(make([Item(log), *more]), make([3]))
        for make in (list, tuple, collections.deque)
        for ask in (operator.eq, operator.ne, operator.lt)
        for more in ((), (1,))
    ]
    return x + 1, found, log


def tensors_in_tuples(x):
    return x + 1, raised(lambda: (x, x) == (1,)), [x, x] == [1]


def tuples_themselves(x, given):
    empty = ()
    return (
        x + 1,
        given[:] is given,
        given[0:] is given,
        given + empty is given,
        empty + given is given,
        given * 1 is given,
        given[:1] is given,
    )


def bytes_of_a_tensor(x):
    try:
        return bytes(x.sum().int()), x + 1
    except TypeError as error:
        return str(error)


class Frozen(frozenset):
    def __new__(cls, count):
        made = super().__new__(cls, range(count))
        made.count = count
        return made


def frozen_with_attributes(x):
    made = Frozen(2)
    magneto.graph_break()
    return x + 1, made, made.count, vars(made)


def limit_of_a_deque(x, items):
    items.__init__([5, 6], 1)
    return x + 1


def function_with_a_dictionary(x):
    def inner(a):
        return a + 1

    magneto.graph_break()
    y = inner(x)
    wrapped = functools.wraps(inner)(lambda: 0)
    return y, wrapped.__name__, vars(inner)


def names_of_types(x, *objects):
    return x + 1, [torch.typename(each) for each in objects]


class Whole:
    def __float__(self):
        return 4


def functions_of_no_floats(x):
    functions = (math.sqrt, math.isnan, math.hypot)
    return x + 1, [raised(lambda f=f: f(Whole())) for f in functions]


PROGRAMS = [
    functions_of_no_floats,
    hashes,
    keywords_twice,
    keywords_twice_in_a_handler,
    free_variable_deleted_twice,
    unhashable_keys_of_empty_dicts,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_calls_give(program):
    check(program, torch.ones(2), graph_breaks=0)


def test_the_traceback_of_nothing_to_raise():
    check(nothing_to_raise, torch.ones(2))


Pair = collections.namedtuple("Pair", "a b")

WITH_ARGUMENTS = [
    (comparisons_of_sequences, ()),
    (tensors_in_tuples, ()),
    (tuples_themselves, (([1], [2]),)),
    (bytes_of_a_tensor, ()),
    (frozen_with_attributes, ()),
    (limit_of_a_deque, (collections.deque([1, 2], 3),)),
    (function_with_a_dictionary, ()),
    (names_of_types, (collections.OrderedDict(), Pair(1, 2), 3, int)),
]


@pytest.mark.parametrize(
    ("program", "arguments"),
    WITH_ARGUMENTS,
    ids=[row[0].__name__ for row in WITH_ARGUMENTS],
)
def test_what_python_gives(program, arguments):
    check(program, torch.ones(2), *arguments)


def test_errors_of_the_system():
    check(system_errors, torch.ones(2))

    def late(x):
        try:
            raise TimeoutError("late")
        except OSError as error:
            return x + len(error.args), error

    check(late, torch.ones(2), graph_breaks=0)


def test_iterators_keep_their_classes():
    check(lambda x: iterators_at_their_end(x)[:2], torch.ones(2))
    compiled = magneto.compile(iterators_at_their_end, backend="eager")
    expected = [type(i) for i in iterators_at_their_end(torch.ones(2))[2]]
    made = compiled(torch.ones(2))[2]
    assert [type(i) for i in made] == expected
    assert [list(i) for i in made] == [[]] * len(made)


STATE = [1]


class Number(int):
    def __mul__(self, other):
        LOG.append("mul")
        return other * STATE[0]

    def __sub__(self, other):
        LOG.append("sub")
        return NotImplemented

    def __iadd__(self, other):
        LOG.append("iadd")
        return other + 7


def numbers_with_operators(x, number):
    LOG.append("before")
    STATE[0] = 5
    result = number
    result += x
    return number * x, number - x, x * number, number + x, result


def test_numbers_with_operators_of_their_own():
    def run(call):
        LOG.clear()
        STATE[0] = 1
        return call(torch.ones(2), Number(3)), [*LOG]

    compiled = magneto.compile(numbers_with_operators, backend="eager")
    for _ in range(3):
        compare(run(numbers_with_operators), run(compiled))


def powers(x, m, n):
    truths = 1 if m * n else 2, not m * n, (m - n) or 5, m + n and 3
    return x + 1, (m + n) ** 0.5, (m + n) // 3, (m - n) % 5, truths


class Answer(str):
    def __eq__(self, other):
        return STATE[0]

    def __radd__(self, other):
        LOG.append("radd")
        return STATE[0]

    __hash__ = str.__hash__


class Ratio(float):
    def __eq__(self, other):
        return STATE[0]

    def __int__(self):
        return STATE[0]

    __hash__ = float.__hash__


def test_texts_and_numbers_that_meet_tensors():
    def program(x, text, number):
        made = [text == x, x == text, number == x, x + text, "%d" % number]
        return x + 1, made, [*LOG]

    compiled = magneto.compile(program, backend="eager")
    arguments = torch.ones(2), Answer("a"), Ratio(2.5)
    for STATE[0] in (1, 2, 2):
        LOG.clear()
        expected = program(*arguments)
        LOG.clear()
        compare(expected, compiled(*arguments))


def test_powers_of_sums_that_need_more_than_64_bits():
    compiled = magneto.compile(powers, backend="eager")
    for m, n in ((1, 2), (2, 3), (-(2**63), 10), (2**63 - 1, 5), (0, -(2**63))):
        arguments = torch.ones(1), m, n
        compare(powers(*arguments), compiled(*arguments))


RAISING = {
    "int": int,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "exp": math.exp,
    "cosh": math.cosh,
    "sin": math.sin,
    "square": lambda value: value**2,
    "power": lambda value: 2.0**value,
}
FLOATS = [1.5, 2.5, float("inf"), float("nan"), 1e200, 3000.0, -0.5]


@pytest.mark.parametrize("name", RAISING)
def test_errors_of_floats_whose_result_nobody_uses(name):
    call = RAISING[name]

    def program(x, value):
        try:
            call(value)
        except (OverflowError, ValueError):
            return x + 1, False
        return x + 1, True

    compiled = magneto.compile(program, backend="eager")
    for value in FLOATS:
        x = torch.ones(2)
        assert compiled(x, value)[1] == program(x, value)[1], value


def test_modules_of_methods_and_copies_of_slices():
    given = slice(1, 2)

    def program(x):
        module = getattr(x.add, "__module__", 0)
        copied = copy.deepcopy(given)
        return x + 1, module, copied is given, copied

    check(program, torch.ones(2))


class OnlyReflected(tuple):
    def __rmul__(self, other):
        return "reflected"


class OnlyForward(list):
    def __mul__(self, other):
        return "forward"


def test_sequences_with_one_of_two_operators():
    def program(x, right, left):
        made = [right * 2, 2 * right, left * 2, 2 * left]
        return x + 1, made, raised(lambda: "a" * left)

    check(program, torch.ones(2), OnlyReflected((1, 2)), OnlyForward([1]))
