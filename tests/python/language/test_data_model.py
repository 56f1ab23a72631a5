# SPDX-License-Identifier: BSD-3-Clause
"""Python's data model: attribute access, construction, comparison, hashing and
other protocols. The programs are without a tensor and do under the compiler
what they do in plain Python.
"""

import functools
import gc
import operator
import sys
import weakref
from unittest import mock

import pytest

import magneto
from magneto.testing import check


class Liar(tuple):
    def __iter__(self):
        yield 1


class LyingList(list):
    def __iter__(self):
        yield 1


class StrName(str):
    pass


class Holder:
    pass


class Truth:
    def __init__(self, answer):
        self.answer = answer

    def __bool__(self):
        return self.answer


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


class Index:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


class IntOf:
    def __init__(self, number):
        self.number = number

    def __int__(self):
        return self.number


class OnlySet:
    def __set__(self, instance, value):
        instance.__dict__["a"] = value


class WithOnlySet:
    a = OnlySet()


class Unpacked(list):
    def __hash__(self):
        return 7


class Dying:
    log: list = []

    def __del__(self):
        self.log.append(1)


class CallsItself:
    pass


CallsItself.__call__ = CallsItself()


class ShowsItself:
    pass


ShowsItself.__repr__ = ShowsItself.__str__


class WrongNames:
    __match_args__ = (None,)


class ListOfNames:
    __match_args__ = ["a"]


class SameName:
    __match_args__ = ("a", "a")
    a = 1


class Less:
    def __lt__(self, other):
        return True


class Pretender:
    @property
    def __class__(self):
        return dict


class PretendsByGetattr:
    def __getattribute__(self, name):
        return (
            dict if name == "__class__" else object.__getattribute__(self, name)
        )


SIZED = Sized(1)
LESS = Less()
PRETENDER = Pretender()
BYTES = bytearray(b"ab")


def match_one(subject):
    match subject:
        case WrongNames(_) | ListOfNames(_) | SameName(_, _):
            return True
    return False


def raised(function, *args):
    """What it returns, or the exception's class and text."""
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def only_class(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def self_containing():
    x = []
    x.append(x)
    y = []
    y.append(y)
    return only_class(operator.eq, x, y)


def changes_items():
    d = {0: 0}
    seen = []
    try:
        for key, value in d.items():
            del d[0]
            d[0] = 0
            seen.append(key)
    except RuntimeError as error:
        return seen, str(error)
    return seen


def changes_keys():
    d = {0: 0}
    seen = []
    try:
        for key in d:
            del d[0]
            d[0] = 0
            seen.append(key)
    except RuntimeError as error:
        return seen, str(error)
    return seen


def goes_on_with_items():
    iterator = iter({None: []}.items())
    gc.collect()
    return next(iterator)


def goes_on_with_view():
    view = {1: 2}.items()
    gc.collect()
    return len(view), list(view), (1, 2) in view, view & {(1, 2)}


def dies():
    target = Holder()
    reference = weakref.ref(target)
    gc.collect()
    alive = reference() is not None
    del target
    gc.collect()
    return alive, reference() is None


def lives_as_long_as_its_variable():
    target = Holder()
    reference = weakref.ref(target)
    gc.collect()
    return reference() is not None


def lives_on_in_a_loop():
    seen = []
    references = []
    for _ in range(3):
        target = Holder()
        references.append(weakref.ref(target))
        gc.collect()
        seen.append([reference() is not None for reference in references])
    return seen


def lives_in_a_container():
    def make():
        objects = [Holder() for _ in range(3)]
        gc.collect()
        return {"a": (objects, 1)}, [weakref.ref(each) for each in objects]

    kept, references = make()  # noqa: RUF059
    gc.collect()
    return [reference() is not None for reference in references]


def lives_in_a_call():
    def inner():
        target = Holder()
        reference = weakref.ref(target)
        gc.collect()
        return reference() is not None, reference

    alive, reference = inner()
    gc.collect()
    return alive, reference() is None


def lives_in_the_caller_of_who_asks():
    def watch(watched):
        reference = weakref.ref(watched)
        gc.collect()
        return reference

    target = Holder()
    reference = watch(target)
    gc.collect()
    return reference() is not None


def finalizes():
    Dying.log.clear()
    target = Dying()
    before = list(Dying.log)
    del target
    gc.collect()
    return before, list(Dying.log)


def context_chain():
    try:
        try:
            raise KeyError("a")
        except KeyError:
            try:
                raise IndexError("b")
            except IndexError:
                {}["c"]
    except KeyError as error:
        chain = []
        while error is not None:
            chain.append((type(error), error.args, error.__suppress_context__))
            error = error.__context__
        return chain


def context_of_reraised():
    try:
        try:
            raise KeyError("a")
        except KeyError:
            try:
                raise IndexError("b")
            except IndexError as inner:
                raise ValueError("c") from inner
    except ValueError as error:
        return (
            type(error.__context__),
            type(error.__cause__),
            type(error.__context__.__context__),
            error.__suppress_context__,
        )


def context_is_no_cycle():
    a, b = KeyError("a"), IndexError("b")
    try:
        try:
            raise a
        except KeyError:
            raise b
    except IndexError:
        try:
            raise a
        except KeyError as error:
            return error.__context__ is b, b.__context__ is None


def has_traceback():
    kept = []
    try:
        raise ValueError("kept")
    except ValueError as error:
        kept.append(error)
    return kept[0].__traceback__ is not None


def traceback_of_returned():
    try:
        raise ValueError("kept")
    except ValueError as error:
        return error


class Named:
    def method(self):
        yield self


def bound_method_of_c():
    items = [1]
    append = items.append
    magneto.graph_break()
    append(2)
    return items, type(append)


def names_of_generators():
    def function():
        yield 1

    before = function()
    function.__name__ = "renamed"
    function.__qualname__ = "also.renamed"
    after = function()
    wrapped = functools.wraps(function)(lambda: (yield 1))()
    made = [before, after, wrapped, Named().method()]
    names = [(each.__name__, each.__qualname__) for each in made]
    magneto.graph_break()
    return names, [(each.__name__, each.__qualname__) for each in made]


def equal_strings():
    first = "ke"
    first += "y1"
    second = 0.5 + 1
    inside = first is "key1", second is 1.5, first is first  # noqa: F632
    magneto.graph_break()
    return inside, first is "key1", second is 1.5, first is first  # noqa: F632


PROGRAMS = {
    # sequences
    "list of a tuple that lies": lambda: list(Liar((2, 3))),
    "list of a list that lies": lambda: list(LyingList([2, 3])),
    "sum of tuples that lie": lambda: Liar((2,)) + Liar((3,)),
    "tuples that lie are compared": lambda: Liar((2,)) == (2,),
    "list times a huge number": lambda: only_class(
        operator.mul, [1, 2, 3], sys.maxsize
    ),
    "list times a big number": lambda: len([1, 2] * 3_000_000),
    "list of itself": self_containing,
    # numbers and truth
    "truth that is itself": lambda: raised(bool, Truth(Truth(True))),
    "truth that is a string": lambda: raised(bool, Truth("Yes")),
    "truth that is 1": lambda: raised(bool, Truth(1)),
    "length below zero": lambda: raised(bool, Sized(-1)),
    "length that is a string": lambda: raised(len, Sized("1")),
    "length too long": lambda: raised(len, Sized(1 << 80)),
    "length by an index": lambda: len(Sized(Index(3))),
    "index that is none": lambda: raised(operator.getitem, [1], Index("0")),
    "index that is one": lambda: [1, 2][Index(1)],
    "int of a string by __int__": lambda: raised(int, IntOf("3")),
    "int of a float by __int__": lambda: raised(int, IntOf(3.5)),
    "int by __int__": lambda: int(IntOf(3)),
    # attributes
    "name of a str subclass": lambda: getattr(Holder, StrName("__name__")),
    "descriptor that only sets": lambda: isinstance(WithOnlySet().a, OnlySet),
    "key of a list that hashes": lambda: {Unpacked([1]): 2},
    "bound methods are equal": lambda: (
        Holder.__init__ == Holder.__init__,
        SIZED.__len__ == SIZED.__len__,
        SIZED.__len__ == Sized(1).__len__,
        {SIZED.__len__: 1}.get(SIZED.__len__),
    ),
    "views can't be hashed": lambda: raised(hash, {}.keys()),
    "views are no keys": lambda: raised(dict.fromkeys, [{}.items()]),
    # comparison of what C code compares
    "bytearrays": lambda: (
        BYTES == bytearray(b"ab"),
        BYTES != bytearray(b"ab"),
        BYTES == b"ab",
        BYTES < bytearray(b"b"),
    ),
    "a mapping proxy": lambda: vars(Holder) == dict(vars(Holder)),
    "a view and its copy": lambda: {1: 2}.keys() == {1},
    "only one way of comparing": lambda: (
        Less() == Less(),
        Less() != LESS,
        LESS == LESS,
        {1} == 3,
        [1] == 3,
    ),
    # classes that objects pretend to be of
    "an instance by __class__": lambda: (
        isinstance(Pretender(), dict),
        isinstance(Pretender(), list),
        isinstance(PRETENDER, dict),
        isinstance(PretendsByGetattr(), dict),
    ),
    # patterns
    "names to match that are none": lambda: raised(match_one, WrongNames()),
    "a list of names to match": lambda: raised(match_one, ListOfNames()),
    "a name matched twice": lambda: raised(match_one, SameName()),
    # recursion without frames
    "called through itself": lambda: only_class(CallsItself()),
    "shown through itself": lambda: only_class(str, ShowsItself()),
    # iteration
    "items change": changes_items,
    "keys change": changes_keys,
    "items go on behind a break": goes_on_with_items,
    "a view goes on behind a break": goes_on_with_view,
    # life and death
    "a weak reference dies": dies,
    "a variable that isn't read again": lives_as_long_as_its_variable,
    "variables of a loop": lives_on_in_a_loop,
    "what a variable that isn't read again holds": lives_in_a_container,
    "a variable of an inlined call": lives_in_a_call,
    "a variable of who calls who asks": lives_in_the_caller_of_who_asks,
    "a finalizer runs": finalizes,
    # exceptions
    "chain of contexts": context_chain,
    "context of what is raised again": context_of_reraised,
    "contexts make no cycle": context_is_no_cycle,
    "traceback of what was caught": has_traceback,
    "traceback of what is returned": lambda: (
        traceback_of_returned().__traceback__ is not None
    ),
    "fields of a SyntaxError": lambda: (
        SyntaxError("no", ("bad.py", 1, 2, "abc", 1, 100)).filename
    ),
    "class of an OSError": lambda: type(OSError(2, "no such file")),
    "name of an AttributeError": lambda: AttributeError("no", name="x").name,
    "class of a bound method of C": lambda: (
        type([].append).__name__,
        type("".join).__name__,
        type(object().__str__).__name__,
        type(Named().method).__name__,
        [].append.__name__,
        "ab".join.__self__,
    ),
    "bound method of C that is kept": bound_method_of_c,
    "names of generators": names_of_generators,
    "strings that are equal": equal_strings,
}


@pytest.mark.feature("B2")
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_plain_python(name):
    check(PROGRAMS[name])


def computes_without_tensors(n):
    total = 0
    for i in range(n):
        total += i % 7
    return total


def test_a_long_computation_without_tensors_runs_in_plain_python():
    report = check(computes_without_tensors, 300_000)
    assert not report.graphs


def imports_a_module_of_a_package():
    sys.modules.pop("wsgiref.util", None)
    import wsgiref

    vars(wsgiref).pop("util", None)
    from wsgiref import util

    return util.__name__


@pytest.mark.feature("B1")
def test_a_module_is_imported_from_its_package():
    with mock.patch.dict(sys.modules):
        check(imports_a_module_of_a_package)


# Comparisons of a sort come in CPython's order: they may print, or raise.


class Loud:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        print(self.number, other.number)
        if self.number == 13:
            raise ValueError(other.number)
        return self.number < other.number


UNSORTED = [
    [],
    [1],
    [2, 1],
    [1, 2, 3],
    [3, 2, 1],
    [3, 1, 2, 2, 5, 4, 1],
    [5, 5, 1, 0, 7, 3],
    [2, 13, 1],
    [4, 3, 5, 1, 13, 2],
    [*range(20, 0, -1), *range(30)],
]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("numbers", UNSORTED)
def test_sort_compares_in_order(numbers, reverse):
    def program(numbers):
        items = [Loud(n) for n in numbers]
        try:
            items.sort(reverse=reverse)
        except ValueError as error:
            print("raised", error)
        return [item.number for item in items]

    check(program, numbers)


@pytest.mark.parametrize(
    "items",
    [["c", 0, "c"], [1, 2, "z", 0], [3, 2, "x", 1], [None, 1], [1.5, None, 2]],
)
def test_sort_of_what_has_no_order(items):
    def program(items):
        try:
            return sorted(items)
        except TypeError as error:
            return str(error)

    check(program, items)


class Slotted:
    __slots__ = ("extra",)
    shared = 1


class Both(Slotted):
    pass


@pytest.mark.parametrize("act", [getattr, delattr, setattr])
@pytest.mark.parametrize("name", ["extra", "shared", "append", "missing"])
@pytest.mark.parametrize("kind", [Slotted, Both, list, int])
def test_attributes_that_are_not_there(kind, name, act):
    def program(item):
        told = []
        for each in (item, kind()):
            try:
                act(each, name, *[1] * (act is setattr))
            except AttributeError as error:
                told.append((str(error), error.name, error.obj is each))
        return told

    check(program, kind())
