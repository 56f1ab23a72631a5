# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks: what runs in plain Python between two graphs, and how the rest
of the function goes on.
"""

import json
import sys
import threading
import traceback

import pytest
import torch

import magneto
from magneto.testing import check, check_calls
from support.compiled_calls import compiled

X = torch.arange(4.0)


def counted(fn, *args, calls=3, **kwargs):
    """The counters that `calls` calls of the compiled function move."""
    before = magneto.stats()
    call = compiled(fn)
    for _ in range(calls):
        call(*args, **kwargs)
    after = magneto.stats()
    return {k: after[k] - before[k] for k in after}


def test_call_between_two_graphs():
    def f(x):
        y = x + 1
        magneto.graph_break()
        return y * 2

    check(f, X, graphs=2, graph_breaks=1, recompiles=0)


def test_output_is_printed_once_for_each_call(capsys):
    def f(x):
        y = x + 1
        print("between", len(y))
        return y * 2

    check(f, X)


def cut(value=None):
    magneto.graph_break()
    return value


def defaults_below_annotations(x):
    k = 3

    def g(a, b=2, *, c: cut() = 5, d: cut(int) = x) -> cut():
        return a + b + c + k + d

    return g(x), g.__defaults__, g.__kwdefaults__


def made_defaults_below_annotations(x):
    def g(a=(x, 1), q: cut() = 4):
        return a[0] * x + q

    return g()


def defaults_below_a_decorator(x):
    def add(n):
        return lambda f: lambda *args: f(*args) + n

    @add(cut(2))
    @add(3)
    def g(a, b: cut(int) = 1):
        return a + b

    return g(x)


def displays(x):
    items = [1, *cut([2, 3]), cut(x), *(4, cut(5))]
    return items, {1, *cut([2])}, {"a": 1, **cut({"b": x}), "c": cut(3)}


def comprehensions(x):
    return (
        len({cut(i % 2) for i in range(4)}),
        {i: cut(x + i) for i in range(3)},
        {cut(i): x + i for i in range(3)},
    )


def texts(x):
    return f"{cut(3)!r:>{cut(5)}}|{x.shape[0]:{cut('3d')}}|{'a'}", x + 1


def star_arguments(x):
    def g(*args, **named):
        return sum(args) + named["q"]

    return g(*cut([x, 1]), *[2], **cut({"q": 3}), **{"r": cut(2)})


def guard_of_a_pattern(x):
    match {"a": 1, "b": [1, 2]}:
        case {"a": n, "b": [c, *d], **rest} if cut(True):
            return x + n + c + len(d) + len(rest)


def chained_comparison(x):
    return x + (0 < cut(1) < cut(2) < 3)


@pytest.mark.parametrize(
    "program",
    [
        defaults_below_annotations,
        made_defaults_below_annotations,
        defaults_below_a_decorator,
        displays,
        comprehensions,
        texts,
        star_arguments,
        guard_of_a_pattern,
        chained_comparison,
    ],
    ids=lambda program: program.__name__,
)
def test_break_over_what_an_instruction_takes_from_the_stack(program):
    check(program, torch.arange(4.0))


def test_break_in_the_middle_of_an_expression():
    def unknown(a, b):
        magneto.graph_break()
        return a - b

    def f(x, k):
        return [k, (x + 1) * unknown(x.sin(), b=x.cos()), {"k": k}]

    check(f, X, 3)


def test_values_below_the_operands_stay_on_the_stack():
    def f(x):
        return max(1, magneto.graph_break() or 2) + (x * 2).sum()

    check(f, X)


def test_dead_locals_are_dropped():
    import gc
    import weakref

    class Marker:
        pass

    alive = []

    def look(ref):
        magneto.graph_break()
        gc.collect()
        alive.append(ref() is not None)

    def f(x, dead, ref):
        y = x + 1
        look(ref)
        return y * 2

    call = compiled(f)
    for _ in range(2):
        marker = Marker()
        ref = weakref.ref(marker)
        held = [marker]
        del marker
        call(X, held.pop(), ref)
        assert ref() is None


def test_live_locals_are_seen_by_who_looks_at_the_frame():
    def look():
        frame = sys._getframe(1)
        return frame.f_code.co_name, sorted(frame.f_locals)

    look = magneto.disable(look)

    def f(x, y):
        a = x + 1
        dead = a * 2  # noqa: F841
        seen = look()
        return a + y, seen

    result, seen = compiled(f)(X, X)
    assert seen == ("f", ["a", "look", "y"])
    assert torch.equal(result, X + 1 + X)


def test_jump_on_data_takes_either_branch():
    def f(x):
        if x.sum() > 3:
            return x + 1
        return x - 1

    check_calls(f, [((X,), {}), ((-X,), {}), ((X,), {})], graphs=3)


def test_boolean_operators_on_data():
    def f(x, y):
        return (x.sum() > 0 and y.sum() > 0), (x.sum() > 0 or y.sum() > 0)

    for a in (X, -X):
        for b in (X, -X):
            check(f, a, b)


def test_loop_until_data_says_so():
    def f(x):
        n = 0
        while x.sum() < 1000:
            x = x * 2
            n += 1
        return x, n

    check(f, X)


def test_break_in_a_long_loop_compiles_a_constant_number_of_times():
    def f(x):
        for _ in range(100):
            x = x + 1
            magneto.graph_break()
        return x

    moved = counted(f, X)
    assert moved["compilations"] <= 5
    assert moved["recompiles"] == 1  # the iterator's end
    assert torch.equal(compiled(f)(X), X + 100)


def test_long_loop_needs_no_deep_stack():
    def f(x):
        for _ in range(5000):
            magneto.graph_break()
        return x + 1

    assert torch.equal(compiled(f)(X), X + 1)


def test_break_in_nested_loops():
    def f(x):
        total = 0
        for i in range(3):
            for j in range(i):
                x = x + j
                magneto.graph_break()
                total += i * j
        else:
            x = x * 2
        return x, total

    check(f, X)


def test_break_in_an_inlined_function_is_gone_on_with_there():
    def helper(x):
        y = x.sin()
        magneto.graph_break()
        return y.cos()

    def f(x):
        a = x + 1
        b = helper(a)
        return a + b

    check(f, X, graphs=3, graph_breaks=1)


def test_break_three_calls_deep():
    def inner(x):
        magneto.graph_break()
        return x + 1

    def middle(x, k):
        return inner(x * k) * k

    def f(x):
        return middle(x, 2) + middle(x, 3)

    check(f, X)


def test_import_statements():
    def f(x):
        y = x + 1
        import colorsys
        from fractions import Fraction as F
        from os.path import join, sep  # noqa: F401

        return y * 2, colorsys.__name__, F(1, 2), join("a", "b")

    check(f, X)


def test_imports_where_nothing_may_break(tmp_path, monkeypatch):
    package = tmp_path / "loaded_late"
    package.mkdir()
    (package / "__init__.py").write_text("LOADED = []\n")
    (package / "part.py").write_text(
        "from . import LOADED\nLOADED.append(1)\nscale = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def f(x):
        import loaded_late
        from loaded_late import part
        from loaded_late.part import scale

        return x * scale + len(loaded_late.LOADED) + part.scale

    call = compiled(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(call(X), X * 3 + 4)

    def g(x):
        import not_there_at_all

        return x + not_there_at_all.n

    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        compiled(g, fullgraph=True)(X)


def test_attribute_store_that_cannot_be_traced():
    class Kind(type):
        def __setattr__(cls, name, value):
            super().__setattr__(name, value)

    class Thing(metaclass=Kind):
        value = 0

    def f(x):
        y = x + 1
        Thing.value += 1
        return y * 2, Thing.value

    call = compiled(f)
    assert [call(X)[1] for _ in range(3)] == [1, 2, 3]


def test_subscript_store_on_an_unknown_object():
    class Odd:
        def __init__(self):
            self.items = []

        def __setitem__(self, key, value):
            magneto.graph_break()
            self.items.append((key, value))

        def __getitem__(self, key):
            magneto.graph_break()
            return self.items[key]

        def __delitem__(self, key):
            magneto.graph_break()
            del self.items[key]

    def f(x):
        odd = Odd()
        odd["a"] = x + 1
        odd["b"] = 2
        del odd[1]
        return odd[0], odd.items

    check(f, X)


def test_closure_cells_go_on_being_shared():
    def f(x):
        def get():
            return x + y

        y = x * 2
        magneto.graph_break()
        first = get()
        y = y + 1
        magneto.graph_break()
        return first, get()

    check(f, X)


def test_nonlocal_writes_on_both_sides_of_a_break():
    def f(x):
        count = 0

        def bump(by):
            nonlocal count
            count += by
            magneto.graph_break()
            count += by

        bump(1)
        y = x + count
        bump(2)
        return y, count

    check(f, X)


def test_cells_of_the_function_itself():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        magneto.graph_break()
        calls += 10
        return x + calls

    call = compiled(f)
    assert torch.equal(call(X), X + 11)
    assert torch.equal(call(X), X + 22)
    assert calls == 22


def test_comprehension_with_a_break():
    def item(x, i):
        magneto.graph_break()
        return x + i

    def f(x):
        return [item(x, i) for i in range(3)], {i: item(x, i) for i in (5, 6)}

    check(f, X)


def test_method_and_super_behind_a_break():
    class Base:
        def scale(self, x):
            return x * 2

    class Derived(Base):
        def scale(self, x):
            magneto.graph_break()
            return super().scale(x) + 1

    def f(x):
        return Derived().scale(x)

    check(f, X)


def test_star_arguments_behind_a_break():
    def show(*args, **kwargs):
        magneto.graph_break()
        return args, sorted(kwargs)

    def f(x, *args, k=2, **more):
        y = x + len(args) + k
        return show(y, *args, k=k, **more)

    check_calls(f, [((X, 1, 2), {"k": 5, "z": 3}), ((X,), {})])


def test_error_behind_a_break_is_the_users():
    def f(x):
        y = x + 1
        magneto.graph_break()
        z = y * 2
        raise ValueError(f"no {len(z)}")

    check(f, X)


def test_error_in_the_unsupported_call_has_the_users_traceback():
    @magneto.disable
    def fail(x):
        raise KeyError("gone")

    def f(x):
        y = x + 1
        fail(y)
        return y

    call = compiled(f)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            call(X)
        names = [s.name for s in traceback.extract_tb(caught.tb)]
        assert names[1:] == ["f", "fail"]
        lines = [s.line for s in traceback.extract_tb(caught.tb)]
        assert lines[1] == "fail(y)"


def test_one_frame_of_the_function_in_a_traceback_after_many_breaks():
    def f(x):
        for _ in range(20):
            magneto.graph_break()
        return undefined_name  # noqa: F821

    call = compiled(f)
    with pytest.raises(NameError) as caught:
        call(X)
    names = [s.name for s in traceback.extract_tb(caught.tb)]
    assert names[1:] == ["f"]


def test_try_block_runs_as_in_plain_python():
    def f(x, fail):
        y = x + 1
        try:
            magneto.graph_break()
            if fail:
                raise ValueError
            y = y + 1
        except ValueError:
            y = y - 1
        finally:
            y = y * 2
        return y

    check_calls(f, [((X, True), {}), ((X, False), {}), ((X, True), {})])


def test_with_block_runs_as_in_plain_python():
    def f(x):
        with torch.no_grad():
            y = x * 2
            magneto.graph_break()
            z = y + 1
        return z, z.requires_grad, torch.is_grad_enabled()

    check(f, X.clone().requires_grad_())


def test_functions_called_between_graphs_are_compiled_only_if_they_see_tensors():
    def numbers(n):
        return sum(range(n))

    def f(x):
        # Calls back from C.
        found = json.loads("4", parse_int=lambda digits: numbers(int(digits)))
        return x + found

    moved = counted(f, X)
    assert moved["compilations"] == 2
    check(f, X)


def test_disabled_function_and_what_it_calls_stay_plain():
    def inner(x):
        return x + 1

    @magneto.disable
    def outer(x):
        return inner(x) * 2

    def f(x):
        return outer(x + 1) - 1

    check(f, X, graphs=2)


def test_disable_only_the_function_itself():
    def inner(x):
        return x.sin() + 1

    def outer(x):
        return inner(x) * 2

    outer = magneto.disable(outer, recursive=False)

    def f(x):
        magneto.graph_break()
        return [outer(x)]

    result = compiled(f)(X)
    assert torch.equal(result[0], outer(X))


def test_generators_run_in_plain_python_between_graphs():
    def numbers(x):
        magneto.graph_break()
        yield x + 1
        yield x + 2

    def f(x):
        total = x * 0
        for y in numbers(x):
            total = total + y
        return total

    check(f, X)


def test_full_graph_says_what_and_where():
    def f(x):
        y = x + 1
        print(y)
        return y

    call = compiled(f, fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported) as caught:
        call(X)
    error = caught.value
    assert error.function.endswith("f")
    assert error.filename == __file__
    assert error.line == f.__code__.co_firstlineno + 2
    assert error.reason
    assert str(error).count("\n") == 0
    assert "fullgraph=True" in str(error)


def test_breaks_in_several_threads():
    def helper(x, k):
        magneto.graph_break()
        return x * k

    def f(x, k):
        for _ in range(5):
            x = helper(x, k) + 1
        return x

    call = compiled(f)
    expected = f(X, 2)
    failures = []

    def work():
        for _ in range(30):
            if not torch.equal(call(X, 2), expected):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_recursion_through_breaks():
    def f(x, depth):
        if depth == 0:
            return x + 1
        magneto.graph_break()
        return f(x, depth - 1) * 2

    check(f, X, 3)


def test_recursion_without_end_is_a_recursion_error():
    def f(x):
        magneto.graph_break()
        return f(x + 1)

    call = compiled(f)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        with pytest.raises(RecursionError):
            call(X)
    finally:
        sys.setrecursionlimit(limit)


def test_gradients_flow_through_breaks():
    def f(x, w):
        y = torch.tanh(x @ w)
        magneto.graph_break()
        return (y * y).sum()

    check(
        f,
        torch.randn(3, 4, requires_grad=True),
        torch.randn(4, 2, requires_grad=True),
        backward=True,
    )
