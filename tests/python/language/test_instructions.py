# SPDX-License-Identifier: BSD-3-Clause
"""Python programs traced: the same as eager, in the expected number of graphs.

A table of programs by family of instructions. `whole` programs must be captured
in one graph; `broken` ones contain what breaks it and must still be right.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from magneto.testing import check


def x() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3)


# -- stack, locals, cells -----------------------------------------------------


def closures(a):
    scale = 2.0

    def inner(b, offset=1.0, *, factor=3.0):
        return b * scale + offset * factor

    return inner(a) + inner(a, 2.0, factor=0.5)


def nonlocal_write(a):
    count = 0

    def bump():
        nonlocal count
        count += 1
        return a * count

    return bump() + bump(), count


def chained_assignment(a):
    b = c = a + 1
    b, c = c * 2, b * 3
    del a
    return b - c


def star_arguments(a):
    def f(first, *rest, key=0, **more):
        return first + sum(rest) + key + more["extra"]

    args = (a, a * 2)
    return f(*args, 3, key=4, **{"extra": 5})


def lambdas(a):
    return (lambda t, n=2: t**n)(a)


# -- containers ---------------------------------------------------------------


def lists(a):
    items = [a, a + 1]
    items.append(a + 2)
    items[0] = items[0] * 10
    items[1:2] = [a - 1, a - 2]
    items += [a * 3]
    del items[-1]
    return items


def list_comprehension(a):
    return [a * i for i in range(5) if i % 2 == 0]


def dict_comprehension(a):
    table = {f"k{i}": a + i for i in range(3)}
    table["k1"] = table["k1"] * 2
    return table


def nested_results(a):
    return {"a": [a, (a + 1, {"b": a * 2})], "n": None, "t": (1, "x", 2.5)}


def unpacking(a):
    first, *middle, last = [a, a + 1, a + 2, a + 3]
    (p, q), r = (first, last), middle
    return p, q, r


def tuple_arithmetic(a):
    shape = a.shape
    pair = shape + (1,)
    return a.reshape(pair), len(shape) * 2, (1, 2) * 2


def slices(a):
    values = [0, 1, 2, 3, 4, 5]
    return a[:, 1:], a[..., 0], a[0], values[1:5:2], values[::-1], a[None]


def set_operations(a):
    names = {"a", "b"} | {"c"}
    return a * len(names) if "c" in names else a


def shared_list(a):
    inner = [a]
    outer = [inner, inner]
    inner.append(a + 1)
    return outer


# -- control flow -------------------------------------------------------------


def branches(a):
    if a.shape[0] == 2 and a.dim() > 1:
        a = a + 1
    elif a.shape[0] == 3:
        a = a + 2
    else:
        a = a + 3
    return a if a.dtype is torch.float32 else None


def loops(a):
    total = a
    for i in range(10):
        if i == 2:
            continue
        if i == 5:
            break
        total = total + i
    else:
        total = total * 100
    n = 3
    while n > 0:
        total = total * 2
        n -= 1
    return total


def comparisons(a):
    n = a.shape[1]
    return a * (1 if 1 < n <= 3 else 2), n is not None, not n, n in (3, 4)


def boolean_operators(a):
    empty = []
    return (empty or [a])[0], (empty and a), None or 0 or "x"


# -- generators, exceptions, with ----------------------------------------------


def generator(a):
    def numbers(n):
        for i in range(n):
            received = yield i
            assert received is None
        return "done"

    def outer():
        result = yield from numbers(3)
        yield len(result)

    return a * sum(outer()), [a + i for i in numbers(2)]


def caught_exception(a):
    try:
        raise ValueError("no")
    except (TypeError, ValueError) as error:
        a = a + len(error.args)
    else:
        a = a * 100
    finally:
        a = a * 2
    return a


def caught_key_error(a):
    try:
        return {"k": a}["missing"]
    except KeyError:
        return a - 1


def nested_exceptions(a):
    def risky(n):
        if n > 1:
            raise RuntimeError("deep")
        return n

    out = []
    for i in range(4):
        try:
            out.append(a * risky(i))
        except RuntimeError as e:
            out.append(str(e))
            break
    return out


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return 3

    def __exit__(self, kind, value, traceback):
        self.log.append("out" if kind is None else kind.__name__)
        return kind is ValueError


def with_statement(a):
    log = []
    with Manager(log) as n:
        a = a * n
    with Manager(log):
        raise ValueError
    return a, log


def no_grad_block(a):
    w = a * 2
    with torch.no_grad():
        v = w + 1
    return v, torch.is_grad_enabled()


# -- objects ------------------------------------------------------------------


@dataclass
class Point:
    left: object
    right: object = 2

    def total(self):
        return self.left + self.right

    @property
    def double(self):
        return self.left * 2

    @staticmethod
    def helper(v):
        return v + 10

    @classmethod
    def make(cls, v):
        return cls(v, 5)


def objects(a):
    p = Point(a)
    q = Point.make(a)
    q.left = q.left + 1
    return p.total() + q.double + Point.helper(q.right)


class Base:
    scale = 3

    def __init__(self, v):
        self.v = v

    def get(self):
        return self.v * self.scale

    def __add__(self, other):
        return type(self)(self.v + other.v)

    def __getitem__(self, i):
        return self.v[i]

    def __len__(self):
        return 7

    def __call__(self, t):
        return self.get() + t

    def __eq__(self, other):
        return isinstance(other, Base)

    __hash__ = None


class Derived(Base):
    scale = 4

    def get(self):
        return super().get() + 1


def special_methods(a):
    d = Derived(a) + Derived(a * 2)
    return d.get(), d[0], len(d), d(a), d == Base(a), isinstance(d, Base)


def getattr_builtin(a):
    d = Derived(a)
    return getattr(d, "v"), getattr(d, "missing", 5), hasattr(d, "nope")


def string_formatting(a):
    name = f"size {a.shape[0]:>3} {'x'!r} " + "%d-%s" % (3, "y")
    return name, a + len(name)


def matching(a):
    match a.shape:
        case (2, n):
            return a * n
        case _:
            return a


def integer_loop(a):
    n = 1
    for i in range(200):
        n = (n * 31 + i) % 1009
    return a + n


def in_place_tensors(a):
    b = a.clone()
    b.add_(1)
    b[0] = 5
    b *= 2
    return b


def mutate_argument(a):
    a.mul_(2)
    a[0, 0] = -1.0
    return a.sum()


def return_input(a):
    return a, a


WHOLE = [
    closures, nonlocal_write, chained_assignment, star_arguments, lambdas,
    lists, list_comprehension, dict_comprehension, nested_results, unpacking,
    tuple_arithmetic, slices, set_operations, shared_list, branches, loops,
    comparisons, boolean_operators, generator, caught_exception,
    caught_key_error, nested_exceptions, with_statement, no_grad_block,
    objects, special_methods, getattr_builtin, string_formatting, matching,
    integer_loop, in_place_tensors, mutate_argument, return_input,
]  # fmt: skip


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_program_is_one_graph_and_equals_eager(program):
    check(program, x(), fullgraph=True)


# -- graph breaks --------------------------------------------------------------


def break_in_the_middle(a):
    b = a + 1
    print("hello")
    return b * 2


def break_in_a_loop(a):
    for i in range(4):
        a = a + i
        print(i)
    return a


def data_dependent(a):
    if a.sum() > 3:
        return a + 1
    return a - 1


def data_dependent_value(a):
    n = int(a.max().numpy())
    return a * n


def break_with_live_containers(a):
    items = [a, a + 1]
    table = {"items": items}
    print(len(items))
    items.append(a + 2)
    return table, items


def break_in_an_expression(a):
    return (a + 1) * float(a[0, 1].numpy()) + (a - 1)


def break_with_a_closure(a):
    total = a

    def add(n):
        nonlocal total
        total = total + n

    add(1)
    print("between")
    add(2)
    return total


BROKEN = [
    break_in_the_middle, break_in_a_loop, data_dependent, data_dependent_value,
    break_with_live_containers, break_in_an_expression, break_with_a_closure,
]  # fmt: skip


@pytest.mark.parametrize("program", BROKEN, ids=lambda f: f.__name__)
def test_program_with_breaks_equals_eager(program):
    report = check(program, x())
    assert report.graph_breaks > 0


# -- exceptions that leave the program ------------------------------------------


def raises_value_error(a):
    b = a + 1
    raise ValueError(f"got {b.shape[0]}")


def raises_in_a_callee(a):
    def inner(t):
        return t["missing"]

    return inner({"k": a})


def shape_mismatch(a):
    return a @ a


@pytest.mark.parametrize(
    "program",
    [raises_value_error, raises_in_a_callee, shape_mismatch],
    ids=lambda f: f.__name__,
)
def test_exception_is_the_one_that_eager_raises(program):
    check(program, x())


def test_backend_that_raises_is_named_with_its_cause():
    import magneto

    def broken(gm, example_inputs):
        raise ValueError("no good")

    with pytest.raises(magneto.exc.BackendCompilerFailed) as caught:
        magneto.compile(lambda a: a + 1, backend=broken)(x())
    assert isinstance(caught.value.__cause__, ValueError)


def test_backend_that_returns_no_callable_is_named():
    import magneto

    with pytest.raises(magneto.exc.MagnetoError, match="callable"):
        magneto.compile(lambda a: a + 1, backend=lambda gm, e: 3)(x())


def test_global_written_by_a_function_is_seen_as_the_modules_attribute():
    import types

    module = types.ModuleType("counters")
    exec(
        "count = 0\n"
        "def add(n):\n"
        "    global count\n"
        "    count += n\n"
        "def drop():\n"
        "    global count\n"
        "    del count\n",
        module.__dict__,
    )

    def program(x):
        module.__dict__["count"] = 1
        module.add(2)
        seen = module.count
        module.drop()
        gone = getattr(module, "count", None)
        module.__dict__["count"] = 5
        return x + seen, gone, module.count

    check(program, torch.ones(2), calls=2)
