# SPDX-License-Identifier: BSD-3-Clause
"""decode and encode, over every function of the standard library and of torch."""

import asyncio
import collections
import importlib.util
import marshal
import os
import subprocess
import sys
import sysconfig
import textwrap
import traceback
import types
import warnings

import pytest
import torch

from magneto import _C
from support.paths import ROOT


def load(path):
    """The module's code object: from its .pyc if there is one. None if the
    file can't be compiled (some files test exactly that)."""
    cached = importlib.util.cache_from_source(path)
    if os.path.exists(cached):
        with open(cached, "rb") as file:
            return marshal.loads(file.read()[16:])
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(file.read(), path, "exec")
    except (SyntaxError, ValueError):
        return None


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def python_files(folder):
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "site-packages"]
        for file in files:
            if file.endswith(".py"):
                yield os.path.join(path, file)


@pytest.mark.parametrize(
    ("folder", "at_least"),
    [
        pytest.param(sysconfig.get_path("stdlib"), 10_000, id="stdlib"),
        pytest.param(os.path.dirname(torch.__file__), 10_000, id="torch"),
    ],
)
def test_every_code_object_comes_back_the_same(folder, at_least):
    differences = collections.Counter()
    first = {}
    count = 0
    for path in python_files(folder):
        module = load(path)
        if module is None:
            continue
        for code in code_objects(module):
            count += 1
            difference = _C.roundtrip_code(code)
            if difference is not None:
                differences[difference] += 1
                first.setdefault(difference, f"{path}:{code.co_firstlineno}")
    assert not differences, first
    assert count > at_least


def test_code_that_has_been_specialised_comes_back_as_compiled():
    def busy(items):
        total = 0
        for item in items:
            if item > 2.5:
                total = total + len(str(item)) * item
            else:
                total += items[0]
        return total

    plain = _C.disassemble_code(busy.__code__.replace())
    for _ in range(100):
        busy([1, 2, 3.5, 4])
    assert _C.disassemble_code(busy.__code__) == plain
    assert _C.roundtrip_code(busy.__code__) is None
    for function in (
        collections.namedtuple,
        textwrap.dedent,
        torch.nn.Linear.forward,
    ):
        assert _C.roundtrip_code(function.__code__) is None


def test_the_opcode_table_is_what_its_generator_writes():
    table = subprocess.run(
        [sys.executable, ROOT / "tools/gen_opcodes.py"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert (ROOT / "src/bytecode/v311/opcodes.inc").read_text() == table


# ---- Rebuilt code runs as the original does --------------------------------


def rebuilt(function):
    result = types.FunctionType(
        _C.rebuild_code(function.__code__),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    result.__kwdefaults__ = function.__kwdefaults__
    return result


def closures():
    def outer(a, /, b, *rest, c=3, **more):
        def inner(d):
            nonlocal b
            b += d
            return a, b, c, rest, sorted(more)

        inner(1)
        return [inner(i) for i in range(2)]

    return outer(1, 2, 4, 5, c=6, e=7)


def exceptions():
    seen = []
    for divisor in (0, 1, None):
        try:
            try:
                seen.append(1 / divisor)
            except ZeroDivisionError as error:
                raise KeyError("zero") from error
            finally:
                seen.append("finally")
        except (KeyError, TypeError) as error:
            seen.append((repr(error), repr(error.__cause__)))
        else:
            seen.append("else")
    return seen


def groups():
    try:
        raise ExceptionGroup("both", [ValueError(1), TypeError(2)])
    except* ValueError as error:
        first = error.exceptions
    except* TypeError as error:
        second = error.exceptions
    return repr((first, second))


class Context:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is ValueError


def contexts():
    with Context() as outer, Context():
        with outer:
            raise ValueError
    return "went on"


def matching():
    results = []
    for subject in (
        1,
        "a",
        [1, 2, 3],
        {"k": 1, "z": 2},
        types.SimpleNamespace(x=4),
    ):
        match subject:
            case int(n) if n > 0:
                results.append(n)
            case [first, *rest]:
                results.append((first, rest))
            case {"k": value, **others}:
                results.append((value, others))
            case types.SimpleNamespace(x=x):
                results.append(x)
            case _:
                results.append(None)
    return results


def generators():
    def delegate(n):
        got = yield from range(n)
        return got, (yield "last")

    generator = delegate(2)
    values = [next(generator), next(generator), next(generator)]
    try:
        generator.send("sent")
    except StopIteration as stop:
        values.append(stop.value)
    return values


def coroutines():
    async def numbers():
        for i in range(3):
            await asyncio.sleep(0)
            yield i

    async def total():
        return sum([i async for i in numbers()])

    return asyncio.run(total())


def operators():
    x, y = 7, 3
    results = [
        x @ 1 if False else x**y,
        x // y,
        x % y,
        x << y,
        x & y,
        -x,
        ~x,
        not x,
    ]
    x += y
    x <<= 2
    text = f"{x!r:>5} {y:{y}} {x=}"
    chain = 1 < x <= 100 != y
    a, *b, c = range(6)
    d = {**{"k": 1}, "z": [*b, c]}
    del b[0], d["k"]
    return (
        results,
        text,
        chain,
        a,
        b,
        c,
        d,
        {*b},
        x is not None,
        y in b,
        "abcd"[1:3],
    )


@pytest.mark.parametrize(
    "function",
    [
        closures,
        exceptions,
        groups,
        contexts,
        matching,
        generators,
        coroutines,
        operators,
    ],
    ids=lambda function: function.__name__,
)
def test_rebuilt_function_does_the_same(function):
    assert rebuilt(function)() == function()


def test_rebuilt_code_runs_jumps_over_hundreds_of_names():
    body = "\n".join(f"    total += v{i} * {i}.5" for i in range(300))
    source = f"total = 0\nwhile total < 3e7:\n{body}\nelse:\n{body}\n"
    code = compile(source, "long", "exec")
    totals = []
    for version in (code, _C.rebuild_code(code)):
        scope = {f"v{i}": i for i in range(300)}
        exec(version, scope)
        totals.append(scope["total"])
    assert totals[0] == totals[1] > 3e7


def test_rebuilt_code_is_equal_at_every_level():
    for function in (closures, exceptions, generators, coroutines):
        for code in code_objects(function.__code__):
            again = _C.rebuild_code(code)
            assert again == code
            assert list(again.co_positions()) == list(code.co_positions())
            assert list(again.co_lines()) == list(code.co_lines())
            assert again.co_exceptiontable == code.co_exceptiontable
            assert again.co_qualname == code.co_qualname


def raising(depth):
    if depth:
        return [
            raising(
                depth - 1,
            )
        ]
    return torch.ones(2).reshape(
        3,
    )


def test_rebuilt_function_has_the_same_traceback():
    texts = []
    for function in (raising, rebuilt(raising)):
        try:
            function(2)
        except RuntimeError:
            texts.append(traceback.format_exc().split("in raising", 1)[1])
    assert texts[0] == texts[1]


def stepped(x):
    for i in range(
        x,
    ):
        if i == 1:
            continue
        x = (
            str(i)
            .replace(
                "a",
                "b",
            )
            .split(
                sep=None,
                maxsplit=1,
            )
        )
    return x


def test_rebuilt_function_steps_through_the_same_lines():
    def lines(function):
        seen = []

        def trace(frame, event, argument):
            seen.append((event, frame.f_lineno))
            return trace

        old = sys.gettrace()
        sys.settrace(trace)
        try:
            function(3)
        finally:
            sys.settrace(old)
        return seen

    assert lines(rebuilt(stepped)) == lines(stepped)


DISASSEMBLY = """\
    1        0 @0     Resume             0
    2        1 @1     Nop
    3        2 @2     LoadFast           0 (items)
             3 @3     GetIter
       >>    4 @4     ForIter            to 12
             5 @5     StoreFast          2 (item)
    4        6 @6     LoadGlobalNull     0 (print)
             7 @12    LoadFast           2 (item)
             8 @13    LoadFast           1 (key)
             9 @14    Call               2 (('sep',))
            10 @22    PopTop
            11 @23    Jump               to 4
    3  >>   12 @24    LoadConst          0 (None)
            13 @25    ReturnValue
    -  >>   14 @26    PushExcInfo
    5       15 @27    LoadGlobal         1 (ValueError)
            16 @33    CheckExcMatch
            17 @34    PopJumpIfFalse     to 22
            18 @35    PopTop
    6       19 @36    PopExcept
            20 @37    LoadConst          0 (None)
            21 @38    ReturnValue
    5  >>   22 @39    Reraise            0
    -  >>   23 @40    Copy               3
            24 @41    PopExcept
            25 @42    Reraise            1
exceptions:
  2 to 11 -> 14 [0]
  14 to 18 -> 23 [1] lasti
  22 to 22 -> 23 [1] lasti
"""


def test_disassembly_names_operands_and_ranges():
    source = textwrap.dedent(
        """\
        def f(items, *, key):
            try:
                for item in items:
                    print(item, sep=key)
            except ValueError:
                pass
        """
    )
    module = compile(source, "example", "exec")
    code = next(c for c in code_objects(module) if c.co_name == "f")
    assert _C.disassemble_code(code) == DISASSEMBLY
