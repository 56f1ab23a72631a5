# SPDX-License-Identifier: BSD-3-Clause
"""Subclasses of builtin classes with methods of their own, iterators that log
and descriptors, in expressions that may call them: results and errors.
"""

import contextlib
import enum
import itertools
import math
import operator
from collections import OrderedDict, UserDict, defaultdict, deque

import pytest
import torch
import torch.utils.checkpoint

import magneto
from magneto.testing import check
from support.expressions import check_error, check_expression, lines

X = torch.arange(4.0)


class Number:
    """What `__index__` gives is read from an attribute."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Real:
    def __float__(self):
        return 2.5


class Doubling(OrderedDict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class DoublingDict(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class Nine(dict):
    def get(self, key, default=None):
        return 9


class Everything(OrderedDict):
    def __contains__(self, key):
        return True


class OtherItems(OrderedDict):
    def items(self):
        return [(1, 2)]

    def keys(self):
        return ["b"]


class LyingSet(set):
    def __iter__(self):
        return iter([9, 8])


class LyingTuple(tuple):
    def __iter__(self):
        return iter([9, 8])


class Sevens(list):
    def __getitem__(self, index):
        return 7


class OneAsIndex(int):
    def __index__(self):
        return 1


class OtherAsFloat(float):
    def __float__(self):
        return 3.5


class Logged:
    """An iterator that says how often it is asked for itself."""

    def __init__(self, log):
        self.log = log
        self.count = 0

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.count += 1
        if self.count > 3:
            raise StopIteration
        return self.count


class NoIterator:
    def __iter__(self):
        return 5


class OnClass:
    @classmethod
    @property
    def value(cls):
        return 2

    @classmethod
    @staticmethod
    def made():
        return 3


class OwnProperty(property):
    def __get__(self, instance, owner=None):
        if instance is None:
            return "unbound"
        return super().__get__(instance, owner) * 2


class WithProperty:
    @OwnProperty
    def value(self):
        return 4


class Reflected:
    def __rmod__(self, other):
        return "never"

    def __radd__(self, other):
        return "added"


class Owner:
    def __get__(self, instance, owner=None):
        return owner.__name__


class Above:
    owner = Owner()


class Between(Above):
    def owners(self):
        mine = super().owner, super(Between, self).owner
        return *mine, super(Between, Between).owner

    @classmethod
    def of_class(cls):
        return super().owner


class Below(Between):
    pass


def doubling(kind):
    made = kind()
    (OrderedDict if kind is Doubling else dict).__setitem__(made, "a", 3)
    return made


def keywords(**given):
    return given


def matched(subject):
    match subject:
        case {"a": value, **rest}:
            return value, rest
    return None


def logged(take):
    log = []
    return take(Logged(log)), log


def consumed(take):
    seen = []

    def numbers():
        for i in (0, 1, 2, 3):
            seen.append(i)
            yield i

    try:
        return take(numbers()), seen
    except ValueError as error:
        return str(error), seen


def same_namespaces():
    first = locals()
    extra = 1
    second = locals()
    del extra
    third = locals()
    return first is second, second is third, sorted(third)


def own_key_in_namespace():
    locals()["own"] = 1
    other = 2
    return sorted(locals()), sorted(vars()), other


NAMESPACE = {
    **globals(),
    **{module.__name__: module for module in (itertools, math, operator)},
    **{made.__name__: made for made in (UserDict, defaultdict, deque)},
}

EXPRESSIONS = """
hex(Number(3)), oct(Number(3)), list(range(Number(3)))
[1, 2, 3, 4].pop(Number(2)), deque([1, 2, 3]).rotate(Number(1))
list(itertools.islice([1, 2, 3, 4], Number(2)))
list(itertools.islice(range(9), Number(1), Number(7), Number(2)))
math.floor(Real()), math.ceil(Real()), math.floor(Number(3))
list(enumerate("ab", OneAsIndex(5))), [1, 2, 3][OneAsIndex(2)]
math.sqrt(OtherAsFloat(2.5))
math.isqrt(OneAsIndex(9)), math.gcd(OneAsIndex(9), 6), math.comb(OneAsIndex(5), 2)
"%s %s" % LyingTuple((1, 2))
bytes(OneAsIndex(3))
issubclass({1: 2}, ())
operator.concat((3, 1), x.shape), type(operator.concat((3, 1), x.shape))
deque([1]) + deque([2]), deque([1]) == [1]
dict(doubling(Doubling)), {**doubling(Doubling)}
keywords(**doubling(Doubling)), "{a}".format(**doubling(Doubling))
doubling(Doubling).copy(), OrderedDict(doubling(Doubling))
doubling(Doubling) | {"q": 1}, {"q": 1} | doubling(Doubling)
doubling(Doubling).setdefault("a", 1), matched(doubling(Doubling))
defaultdict(int, doubling(Doubling))
dict(doubling(DoublingDict)), {**doubling(DoublingDict)}
OrderedDict(doubling(DoublingDict))
dict(OtherItems(b=3)), OrderedDict(OtherItems(b=3)), repr(OtherItems(b=3))
matched(Nine(a=3)), matched({"a": 1, "b": 2}), matched(UserDict(a=1))
set(LyingSet({1, 2, 3})), frozenset(LyingSet({1})), {*LyingSet({1})} == {8, 9}
LyingSet({1, 2}) | {4}, LyingSet({1, 2}) & {1}, {1}.union(LyingSet({2}))
{1, 2, 9}.intersection(LyingSet({1})), {9}.isdisjoint(LyingSet({1}))
repr(LyingSet({1, 2, 3}))
list(reversed(Sevens([1, 2, 3])))
logged(list), logged(tuple), logged(sorted), logged(lambda i: [*i])
logged(bytes), logged(set), logged(sum), logged(lambda i: operator.index(3))
consumed(lambda i: {0, 9}.isdisjoint(i))
consumed(lambda i: {1}.issuperset(i))
consumed(lambda i: frozenset([0, 1]).intersection(i))
consumed(lambda i: {1}.intersection(i, [1]))
consumed(lambda i: {0: 1}.keys().isdisjoint(i))
consumed(lambda i: operator.indexOf(i, 1))
consumed(lambda i: bytes(v * 200 for v in i))
OnClass.value, OnClass().value, OnClass.made()
WithProperty().value, WithProperty.value
Below().owners(), Below.of_class()
same_namespaces()
own_key_in_namespace()
type(iter("abcd")).__name__, type(iter("\\u00e9")).__name__
type(iter(b"a")).__name__, list(iter("ab")), list(iter(b"ab"))
next(iter("ab")), "".join(iter("abc")), sum(iter(b"ab"))
hasattr(x.sin, "__get__"), hasattr([].append, "__get__")
x.sin.__qualname__, [].append.__qualname__, "".join.__name__
slice(x) == slice(x), slice(None, x, "a") != slice(None, x, "a")
slice(1, 2) < slice(1, 3), slice(1, 2) == slice(1, 2, None)
complex(1), (x.numel() >= 4) ^ True
torch._foreach_add_([x], 1) == [x]
"""


@pytest.mark.parametrize("expression", lines(EXPRESSIONS))
def test_expression(expression):
    check_expression(expression, NAMESPACE)


ERRORS = """
defaultdict([1, 2])
defaultdict(5)
OrderedDict().update([1])
OrderedDict().update([(1, 2, 3)])
OrderedDict().update("ab")
OrderedDict([()])
reversed(UserDict(a=1))
list(NoIterator())
[*NoIterator()]
for each in NoIterator(): pass
list(itertools.islice([1], 1.5))
list(itertools.islice([1], -2))
list(itertools.islice([1], 0, 1, 0))
math.trunc(Number(3))
"ab" % Reflected()
raise ValueError from 5
raise 5 from ValueError
Everything().setdefault("c", 3)
bytes(x for x in [1, 300])
bytes(["a"])
"""


@pytest.mark.parametrize("statement", lines(ERRORS))
def test_error(statement):
    check_error(statement, NAMESPACE)


def test_unbound_variables_have_no_name():
    def program(x):
        try:
            raise ValueError
        except ValueError as error:
            caught = type(error)
        try:
            error  # noqa: B018, F821
        except UnboundLocalError as unbound:
            return x + 1, unbound.name, str(unbound), caught

    check(program, X, fullgraph=True)


class Refusing:
    def __rmul__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return NotImplemented


def test_reflected_methods_that_refuse_a_tensor():
    def program(x, other):
        try:
            return x * other
        except TypeError as error:
            text = str(error)
        try:
            x += other
        except TypeError as error:
            return x + 1, text, str(error)

    check(program, X, Refusing(), fullgraph=True)


def test_lists_that_are_written_to_are_given_back():
    def program(tensors):
        made = torch._foreach_add_(tensors, 1)
        other = torch._foreach_mul_([tensors[0], tensors[1]], 2)
        return made, made is tensors, other

    check(program, [torch.ones(2), torch.ones(3)], fullgraph=True)


def test_messages_of_checks_that_hold():
    def program(x):
        try:
            torch._check(x.sum().item() > 3, "text")
            return x + 1
        except TypeError as error:
            return str(error)

    check(program, torch.ones(4))
    check(program, torch.zeros(4))


def test_bools_of_sizes():
    def program(x):
        n = x.size(0)
        return x + 1, (n >= 4) ^ True, True ^ (n >= 4), (n >= 4) ^ (n > 2)

    for size in (2, 3, 5):
        check(program, torch.ones(size), dynamic=True)


def test_floats_are_no_indices():
    def program(x, number):
        y = x + 1
        try:
            return y, operator.index(number)
        except TypeError as error:
            return y, str(error)

    check(program, X, 2.5, dynamic=True)


def test_cells_are_read_as_they_are():
    def make():
        k = 1

        def inner():
            return k

        def program(x):
            nonlocal k
            k += 1
            return inner.__closure__[0].cell_contents, k, inner(), x + 1

        return program

    compiled = magneto.compile(make(), backend="eager", fullgraph=True)
    program = make()
    for _ in range(3):
        assert compiled(X)[:3] == program(X)[:3]


class OwnCall(torch.nn.Linear):
    def _call_impl(self, *args, **kwargs):
        return super()._call_impl(*args, **kwargs) * 10


def test_modules_that_are_called_in_a_way_of_their_own():
    module, plain = OwnCall(4, 2), torch.nn.Linear(4, 2)

    def program(x):
        return module(x), plain(x)

    def agrees():
        return all(map(torch.equal, compiled(X), program(X)))

    compiled = magneto.compile(program, backend="eager")
    assert agrees()
    plain._call_impl = lambda x: x * 5
    assert agrees()
    del plain._call_impl
    OwnCall._call_impl = lambda self, x: x * 7
    assert agrees()
    del OwnCall._call_impl
    assert agrees()


def test_parameters_in_a_dictionary_of_another_class():
    module = torch.nn.Linear(4, 2)
    own = Doubling()
    for name, parameter in module._parameters.items():
        OrderedDict.__setitem__(own, name, parameter)
    module._parameters = own
    compiled = magneto.compile(module, backend="eager")
    assert torch.equal(compiled(X), module(X))


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("__getattribute__", lambda self, name: 100),
        ("__setattr__", lambda self, name, value: None),
        ("__delattr__", lambda self, name: None),
    ],
)
def test_hooks_of_attributes_that_come_later(hook, answer):
    class Root:
        pass

    class Holder(Root):
        pass

    def program(holder, x):
        holder.b = 2
        del holder.b
        return x * holder.a, hasattr(holder, "b")

    compiled = magneto.compile(program, backend="eager")

    def agrees():
        pairs = []
        for call in (compiled, program):
            holder = Holder()
            holder.__dict__.update(a=1) if hook != "__getattribute__" else None
            holder = Holder.__new__(Holder)
            object.__setattr__(holder, "a", 1)
            if hook == "__delattr__":
                object.__setattr__(holder, "b", 1)
            try:
                pairs.append(call(holder, X))
            except AttributeError as error:
                pairs.append((X, str(error)))
        return torch.equal(pairs[0][0], pairs[1][0]) and (
            pairs[0][1] == pairs[1][1]
        )

    assert agrees()
    setattr(Root, hook, answer)
    assert agrees()
    delattr(Root, hook)
    assert agrees()


def test_metaclass_hooks_that_come_later():
    class Meta(type):
        pass

    class Holder(metaclass=Meta):
        a = 1

    def program(x):
        return x * Holder.a

    compiled = magneto.compile(program, backend="eager")
    assert torch.equal(compiled(X), X)
    Meta.__getattribute__ = lambda cls, name: 100
    assert torch.equal(compiled(X), X * 100)


# -- iterators that live across a graph break ---------------------------------

LIVING = """
map(lambda q: q, Logged(log))
filter(None, Logged(log))
zip(Logged(log), [4, 5, 6])
zip([4, 5, 6], Logged(log), strict=True)
enumerate(Logged(log))
itertools.islice(Logged(log), 2)
itertools.accumulate(Logged(log))
itertools.takewhile(lambda q: q < 3, Logged(log))
itertools.dropwhile(lambda q: q < 2, Logged(log))
itertools.starmap(lambda q: q, zip(Logged(log)))
itertools.zip_longest(Logged(log), [1])
itertools.pairwise(Logged(log))
itertools.groupby(Logged(log))
itertools.compress(Logged(log), Logged(log))
itertools.filterfalse(lambda q: q < 2, Logged(log))
itertools.chain(Logged(log), [1])
"""


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("expression", lines(LIVING))
def test_iterators_of_new_objects(expression, begun):
    source = (
        "def program(x):\n"
        "    log = []\n"
        f"    iterator = {expression}\n"
        f"    first = next(iterator) if {begun} else None\n"
        "    magneto.graph_break()\n"
        "    rest = [str(type(each)) if callable(each) else each\n"
        "            for each in iterator if not isinstance(each, tuple)]\n"
        "    return x + 1, rest, log, type(first).__name__\n"
    )
    scope = dict(NAMESPACE)
    exec(source, scope)
    check(scope["program"], X)


# -- variables that aren't there -----------------------------------------------


def broken_rows(x):
    magneto.graph_break()
    yield x


def deleted_in_a_loop(x):
    for _ in broken_rows(x):
        del missing  # noqa: F821
    missing = 1
    return x + 1, missing


def deleted_in_finally(x):
    y = x + 1
    try:
        try:
            open("/no such file")  # noqa: SIM115
        finally:
            del missing  # noqa: F821
    except Exception as error:
        return y, type(error), type(error.__context__)
    missing = 1
    return missing


def deleted_twice(x):
    for _ in broken_rows(x):
        there = 1
        magneto.graph_break()
        del there
        try:
            del there  # noqa: F821
        except UnboundLocalError as error:
            return x + 1, str(error)


@pytest.mark.parametrize(
    "program", [deleted_in_a_loop, deleted_in_finally, deleted_twice]
)
def test_variables_that_are_not_there(program):
    check(program, X)


# -- classes that are gone through --------------------------------------------

SEEN = []


class Rows(type):
    def __iter__(cls):
        SEEN.append("iter")
        yield 1


class Places(type):
    def __getitem__(cls, place):
        SEEN.append(place)
        if place > 1:
            raise IndexError
        return len(SEEN)


class OfRows(metaclass=Rows):
    pass


class OfPlaces(metaclass=Places):
    pass


@pytest.mark.parametrize(
    "take", [list, tuple, sorted, lambda given: 1 in given]
)
@pytest.mark.parametrize("given", [OfRows, OfPlaces])
def test_classes_that_are_gone_through(take, given):
    def program(x):
        SEEN.append("before")
        return take(given), list(SEEN), x + 1

    compiled = magneto.compile(program, backend="eager")
    outcomes = []
    for call in (program, compiled, program, compiled):
        SEEN.clear()
        outcomes.append(call(X)[:2])
    assert outcomes == outcomes[:1] * 4


# -- groups of exceptions that leave a with block -----------------------------


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
            call(X, raising() if iterates else None)
        kinds = [type(each) for each in caught.value.exceptions]
        assert kinds == [
            KeyError if iterates else FileNotFoundError,
            ExceptionGroup,
        ]


# -- hooks that raise ---------------------------------------------------------


class Stop(Exception):
    pass


def test_a_hook_that_raises_is_not_called_again():
    packed = []

    def pack(tensor):
        packed.append(1)
        if len(packed) == 2:
            raise Stop
        return tensor

    compiled = magneto.compile(lambda x: x.sin().tanh(), backend="eager")
    x = X.clone().requires_grad_()
    for _ in range(2):
        packed.clear()
        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
            pytest.raises(Stop),
        ):
            compiled(x)
        assert len(packed) == 2


def test_checkpoints_of_pieces():
    def program(x):
        y = x.sin()
        magneto.graph_break()
        return y.tanh()

    def gradient(call):
        x = X.clone().requires_grad_()
        torch.utils.checkpoint.checkpoint(
            call, x, use_reentrant=False
        ).sum().backward()
        return x.grad

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert torch.equal(gradient(compiled), gradient(program))


class Summing(torch.Tensor):
    def sum(self):
        return super().sum() + 1


def test_super_of_a_tensors_class():
    compiled = magneto.compile(lambda x: x.sum(), backend="eager")
    x = torch.ones(3).as_subclass(Summing)
    assert torch.equal(compiled(x), x.sum())


@pytest.mark.parametrize("boundary", enum.FlagBoundary)
def test_flags_that_nobody_has_inverted(boundary):
    class Flags(enum.IntFlag, boundary=boundary):
        READ = 1
        WRITE = 8

    def program(x, flag):
        return x + 1, ~flag, ~~flag, ~(flag | Flags.WRITE)

    compiled = magneto.compile(program, backend="eager", fullgraph=True)
    for flag in (Flags.READ, Flags.READ | Flags.WRITE):
        got = compiled(X, flag)
        expected = program(X, flag)
        assert got[1:] == expected[1:]
        assert [*map(type, got)] == [*map(type, expected)]
