# SPDX-License-Identifier: BSD-3-Clause
"""torch.compiler.set_stance: as a call, a context and a decorator, with and
without magneto.install().
"""

import subprocess
import sys
import textwrap
import threading

import pytest
import torch

import magneto
from support.compiled_calls import Recorder, moved

X = torch.arange(3.0)
Y = torch.arange(4.0)
BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True, params=[False, True], ids=["bare", "installed"])
def stance(request):
    if request.param:
        magneto.install()
    yield torch.compiler.set_stance
    torch.compiler.set_stance("default")
    if request.param:
        magneto.uninstall()


compiling = torch.compiler.is_compiling


def plus(x):
    return x + 1, compiling()


def inner(x):
    return x.sin(), compiling()


def with_breaks(x):
    y, a = inner(x + 1)
    magneto.graph_break()
    z, b = inner(y * 2)
    return z, a, b


def in_a_loop(x):
    seen = []
    for i in range(3):
        x = x + i
        magneto.graph_break()
        seen.append(compiling())
    return x, seen


class Layer(torch.nn.Module):
    def forward(self, x):
        return x * 2, compiling()


PROGRAMS = [plus, with_breaks, in_a_loop, Layer()]


def results(value):
    """Without what says whether it was compiled."""
    return value[0]


def was_compiled(value):
    seen = value[1:] if not isinstance(value[1], list) else value[1]
    assert len(set(seen)) == 1
    return seen[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_force_eager_runs_plain_python(
    program, is_warm, fullgraph, backend, stance
):
    if fullgraph and program in (with_breaks, in_a_loop):
        is_warm = False
    call = magneto.compile(program, backend=backend, fullgraph=fullgraph)
    if is_warm:
        assert was_compiled(call(X))
    before = magneto.stats()
    with stance("force_eager"):
        value = call(X)
        assert torch.equal(results(value), results(program(X)))
        assert not was_compiled(value)
    assert magneto.stats() == before


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_behind_a_stance_everything_is_as_before(program, backend, stance):
    call = magneto.compile(program, backend=backend)
    with stance("force_eager"):
        call(X)
    value = call(X)
    assert was_compiled(value)
    before = magneto.stats()
    with stance("force_eager"):
        call(X)
    assert was_compiled(call(X))
    assert magneto.stats() == before


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_eager_on_recompile_uses_what_there_is(program, backend, stance):
    call = magneto.compile(program, backend=backend)
    call(X)
    before = magneto.stats()
    with stance("eager_on_recompile"):
        assert was_compiled(call(X))
        value = call(Y)
        assert not was_compiled(value)
        assert torch.equal(results(value), results(program(Y)))
    assert magneto.stats() == before
    assert was_compiled(call(Y))


@pytest.mark.parametrize("program", PROGRAMS)
def test_eager_on_recompile_compiles_nothing_at_first_either(program, stance):
    call = magneto.compile(program, backend="eager")
    with stance("eager_on_recompile"):
        assert moved(lambda: call(X)) == {}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_fail_on_recompile_raises(program, backend, stance):
    call = magneto.compile(program, backend=backend)
    with stance("fail_on_recompile"):
        with pytest.raises(RuntimeError, match="Detected recompile when"):
            call(X)
    call(X)
    before = magneto.stats()
    with stance("fail_on_recompile"):
        assert was_compiled(call(X))
        with pytest.raises(RuntimeError) as raised:
            call(Y)
    assert isinstance(raised.value, magneto.exc.RecompileError)
    assert "shape" in str(raised.value) or "size" in str(raised.value)
    assert isinstance(program, Layer) or __file__ in str(raised.value)
    assert magneto.stats() == before
    assert was_compiled(call(Y))


def test_fail_on_recompile_names_the_failed_guard(stance):
    call = magneto.compile(plus, backend="eager")
    call(X)
    stance("fail_on_recompile")
    with pytest.raises(RuntimeError, match=r"x.*3.*4|4.*3"):
        call(Y)


def test_functions_without_tensors_are_no_failure(stance):
    def calls_plain(x, n):
        magneto.graph_break()
        return without_tensors(n), x + 1

    def without_tensors(n):
        return [n] * n

    call = magneto.compile(calls_plain, backend="eager")
    call(X, 2)
    alone = magneto.compile(without_tensors, backend="eager")
    with stance("fail_on_recompile"):
        call(X, 2)
        assert alone(3) == [3, 3, 3]


def test_as_a_call(stance):
    backend = Recorder()
    call = magneto.compile(plus, backend=backend)
    stance("force_eager")
    call(X)
    assert backend.graphs == 0
    stance("default")
    call(X)
    assert backend.graphs == 1


def test_as_a_decorator(stance):
    backend = Recorder()
    call = magneto.compile(plus, backend=backend)

    @stance("force_eager")
    def calls(x):
        return call(x)

    call(Y)
    assert backend.graphs == 1
    assert not was_compiled(calls(X))
    assert was_compiled(call(X))
    assert backend.graphs == 2


def test_contexts_nest(stance):
    call = magneto.compile(plus, backend="eager")
    call(X)
    with stance("force_eager"):
        with stance("eager_on_recompile"):
            assert was_compiled(call(X))
        assert not was_compiled(call(X))
        with pytest.raises(ZeroDivisionError), stance("default"):
            1 / 0  # noqa: B018
        assert not was_compiled(call(X))
    assert was_compiled(call(X))


def test_it_is_the_whole_process_s(stance):
    call = magneto.compile(plus, backend="eager")
    call(X)
    seen = []
    with stance("force_eager"):
        thread = threading.Thread(target=lambda: seen.append(call(X)))
        thread.start()
        thread.join()
    assert not was_compiled(seen[0])


def test_methods_and_compiled_modules(stance):
    layer = Layer()
    layer.call = magneto.compile(layer.forward, backend="eager")
    assert was_compiled(layer.call(X))
    with stance("force_eager"):
        assert not was_compiled(layer.call(X))


def test_in_a_compiled_function_it_is_an_error(stance):
    def sets(x):
        with stance("force_eager"):
            return x + 1

    with pytest.raises(RuntimeError, match="in a compiled function"):
        magneto.compile(sets, backend="eager")(X)
    with pytest.raises(magneto.exc.Unsupported):
        magneto.compile(sets, backend="eager", fullgraph=True)(X)
    assert torch.equal(sets(X), X + 1)


@pytest.mark.parametrize("module", [magneto, torch.compiler])
def test_what_is_disabled_in_one_may_set_it(module, stance):
    @module.disable
    def sets():
        stance("force_eager")

    def calls(x):
        y = x + 1
        sets()
        return y.sin(), compiling()

    value = magneto.compile(calls, backend="eager")(X)
    assert not value[1]
    assert torch.equal(value[0], (X + 1).sin())


def test_guards_hold_where_they_could_be_skipped(stance):
    scale = {"by": 2}
    call = magneto.compile(lambda x: x * scale["by"], backend="eager")
    call(X)
    with stance(skip_guard_eval_unsafe=True):
        assert torch.equal(call(X), X * 2)
        scale["by"] = 3
        assert torch.equal(call(X), X * 3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [plus, Layer()])
def test_eager_then_compile(program, backend, stance):
    call = magneto.compile(program, backend=backend)
    with stance("eager_then_compile"):
        assert moved(lambda: call(X)) == {}
        assert was_compiled(call(X))
        assert was_compiled(call(Y))
    magneto.reset()
    with stance("eager_then_compile"):
        assert not was_compiled(call(X))


def test_what_varies_between_a_first_and_a_second_call(stance):
    backend = Recorder()
    call = magneto.compile(lambda x, n: x * n + len(x), backend=backend)
    with stance("eager_then_compile"):
        for size in range(3, 7):
            x = torch.ones(size)
            assert torch.equal(call(x, size + 1), x * (size + 1) + size)
    assert backend.graphs == 1


def test_a_first_call_that_raises(stance):
    def function(x):
        x.add_(1)
        raise LookupError

    call = magneto.compile(function, backend="eager")
    x = torch.zeros(2)
    with stance("eager_then_compile"):
        for i in range(3):
            with pytest.raises(LookupError):
                call(x)
            assert torch.equal(x, torch.full((2,), i + 1.0))


@pytest.mark.parametrize("program", PROGRAMS)
def test_force_backend(program, stance):
    own, forced = Recorder(), Recorder()
    call = magneto.compile(program, backend=own)
    with stance(force_backend=forced):
        assert torch.equal(results(call(X)), results(program(X)))
        before = magneto.stats()
        assert was_compiled(call(X))
        assert magneto.stats() == before
    assert own.graphs == 0
    assert forced.graphs > 0
    assert was_compiled(call(X))
    assert own.graphs == forced.graphs
    before = magneto.stats()
    with stance(force_backend=forced):
        call(X)
    call(X)
    assert magneto.stats() == before
    with pytest.raises(RuntimeError, match="force_backend"):
        stance("force_eager", force_backend=forced)


def test_force_backend_by_name(stance):
    call = magneto.compile(plus, backend=Recorder(), fullgraph=True)
    for name in ("eager", "aot_eager"):
        with stance(force_backend=name):
            assert was_compiled(call(X))
    with pytest.raises(magneto.exc.InvalidBackend):
        stance(force_backend="no_such")


def test_methods_with_another_backend(stance):
    forced = Recorder()

    class Net(torch.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x):
            return x * self.n

    nets = [magneto.compile(Net(n), backend="eager") for n in range(3)]
    with stance(force_backend=forced):
        for n, net in enumerate(nets):
            assert torch.equal(net(X), X * n)
    assert 1 <= forced.graphs <= 3


@pytest.mark.parametrize("program", [plus, with_breaks, Layer()])
def test_aot_eager_then_compile(program, stance):
    backend = Recorder()
    call = magneto.compile(program, backend=backend)
    with stance("aot_eager_then_compile"):
        assert was_compiled(call(X))
        assert backend.graphs == 0
        assert was_compiled(call(X))
        assert backend.graphs > 0
    before = magneto.stats()
    call(X)
    assert magneto.stats() == before


def test_stances_that_arent_there_are_told(stance):
    call = magneto.compile(plus, backend="eager")
    with pytest.warns(magneto.exc.MagnetoWarning, match="doesn't know"):
        stance("no_such_stance")
    assert was_compiled(call(X))


SCRIPT = """
    import sys
    import torch
    from torch.compiler import set_stance
    {early}
    import magneto
    {late}
    call = magneto.compile(lambda x: torch.compiler.is_compiling(),
                           backend="eager")
    x = torch.ones(2)
    print("torch._dynamo" in sys.modules, call(x))
    with set_stance("force_eager"):
        print(call(x))
    print(call(x))
"""


@pytest.mark.parametrize(
    ("early", "late", "is_loaded"),
    [
        ("", "", False),
        ("import torch._dynamo", "", True),
        ("", "magneto.install(); import torch._dynamo", True),
        ("", "magneto.install()", False),
    ],
)
def test_whenever_it_is_imported(early, late, is_loaded):
    script = textwrap.dedent(SCRIPT.format(early=early, late=late))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(is_loaded), "True", "False", "True"]


def test_a_stance_from_before_the_import_counts():
    script = textwrap.dedent("""
        import torch
        torch.compiler.set_stance("force_eager")
        import magneto
        call = magneto.compile(lambda x: torch.compiler.is_compiling(),
                               backend="eager")
        print(call(torch.ones(2)))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
