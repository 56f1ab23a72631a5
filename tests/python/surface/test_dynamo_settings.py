# SPDX-License-Identifier: BSD-3-Clause
"""Settings of torch._dynamo.config and functions of torch.compiler: which of
them magneto follows, and how.
"""

import contextlib
import types
import warnings
import zlib

import pytest
import torch
import torch._dynamo

import magneto
from magneto import heard_settings
from support.compiled_calls import Recorder, compiled, moved

X = torch.arange(3.0)
Y = torch.arange(4.0)
BACKENDS = ["eager", "aot_eager"]
dynamo = torch._dynamo.config


@pytest.fixture
def installed():
    magneto.install()
    yield
    magneto.uninstall()


@contextlib.contextmanager
def said(**settings):
    """As in a new process where a program writes to torch._dynamo.config."""
    before = {name: getattr(dynamo, name) for name in settings}
    for name, value in settings.items():
        setattr(dynamo, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(dynamo, name, value)
        heard_settings.switched_off.clear()


compiling = torch.compiler.is_compiling


def plus(x):
    return x + 1, compiling()


def graphs_of(call, sizes):
    before = magneto.stats()["graphs"]
    for size in sizes:
        call(torch.ones(size))
    return magneto.stats()["graphs"] - before


# -- limits --------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name", ["recompile_limit", "cache_size_limit"], ids=str
)
@pytest.mark.parametrize("is_installed", [False, True])
def test_the_recompile_limit(name, is_installed, backend, request):
    if is_installed:
        request.getfixturevalue("installed")
    call = magneto.compile(plus, backend=backend, dynamic=False)
    with said(**{name: 2}), warnings.catch_warnings():
        warnings.simplefilter("ignore", magneto.exc.RecompileLimitWarning)
        assert graphs_of(call, range(2, 9)) == 2
        assert not call(torch.ones(9))[1]
    assert call(torch.ones(9))[1]


def test_what_is_said_to_magneto_counts_more(installed, monkeypatch):
    monkeypatch.setattr(magneto.config, "recompile_limit", 3)
    call = compiled(plus, dynamic=False)
    with (
        said(recompile_limit=2),
        pytest.warns(magneto.exc.RecompileLimitWarning),
    ):
        assert graphs_of(call, range(2, 9)) == 3


def test_what_compile_is_told_counts_most(installed):
    call = compiled(plus, dynamic=False, recompile_limit=4)
    with (
        said(recompile_limit=2),
        pytest.warns(magneto.exc.RecompileLimitWarning),
    ):
        assert graphs_of(call, range(2, 9)) == 4


@pytest.mark.parametrize(
    "name", ["accumulated_recompile_limit", "accumulated_cache_size_limit"]
)
def test_the_accumulated_limit(name, installed):
    call = compiled(plus, dynamic=False)
    with said(**{name: 2}), pytest.warns(magneto.exc.RecompileLimitWarning):
        assert graphs_of(call, range(2, 9)) == 2


@pytest.mark.parametrize(
    "name", ["fail_on_recompile_limit_hit", "fail_on_cache_limit_hit"]
)
def test_a_limit_may_be_an_error(name, installed):
    call = compiled(plus, dynamic=False)
    with said(**{name: True, "recompile_limit": 2}):
        graphs_of(call, [2, 3])
        with pytest.raises(
            magneto.exc.RecompileLimitExceeded, match="fail_on_recompile"
        ):
            call(torch.ones(4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_error_on_recompile(installed, backend):
    call = magneto.compile(plus, backend=backend)
    with said(error_on_recompile=True):
        assert call(X)[1]
        assert call(X)[1]
        with pytest.raises(magneto.exc.RecompileError, match="shape|size"):
            call(Y)
    assert call(Y)[1]


# -- what varies ---------------------------------------------------------------


@pytest.mark.parametrize("is_installed", [False, True])
def test_automatic_dynamic_shapes(is_installed, request):
    if is_installed:
        request.getfixturevalue("installed")
    with said(automatic_dynamic_shapes=False):
        assert graphs_of(compiled(plus), range(2, 7)) == 5
    assert graphs_of(compiled(lambda x: x + 1), range(2, 7)) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_assume_static_by_default(installed, backend):
    def function(x, n):
        return x * n + 1

    with said(assume_static_by_default=False):
        call = magneto.compile(function, backend=backend)
        before = magneto.stats()["graphs"]
        for n in range(3, 6):
            x = torch.ones(n)
            assert torch.equal(call(x, n + 1), function(x, n + 1))
        assert magneto.stats()["graphs"] == before + 1
        static = magneto.compile(plus, backend=backend, dynamic=False)
        assert graphs_of(static, [3, 4]) == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [("specialize_int", (3, 4, 5)), ("specialize_float", (0.5, 1.5, 2.5))],
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_that_are_compiled_for(name, values, dynamic, installed):
    def function(x, n):
        return x * n

    def count():
        call = compiled(function, dynamic=dynamic)
        before = magneto.stats()["graphs"]
        for value in values:
            assert torch.equal(call(X, value), function(X, value))
        return magneto.stats()["graphs"] - before

    with said(**{name: True}):
        assert count() == len(values)
    magneto.reset()
    assert count() < len(values)


def test_allow_ignore_mark_dynamic(installed):
    def function(x):
        return x * 2 if x.size(0) == 3 else x

    x = X.clone()
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(magneto.exc.SizeNotDynamic):
        compiled(function)(x)
    with said(allow_ignore_mark_dynamic=True):
        assert torch.equal(compiled(function)(x), x * 2)


# -- what comes out of tensors -------------------------------------------------


def takes_item(x):
    return x * x.sum().item(), compiling()


def takes_shape(x):
    return x.nonzero() + 1, compiling()


RESTRICTED = [
    ("capture_scalar_outputs", takes_item),
    ("capture_dynamic_output_shape_ops", takes_shape),
]


def breaks_of(function):
    magneto.reset()
    call = compiled(function)
    before = magneto.stats()["graph_breaks"]
    assert torch.equal(call(X)[0], function(X)[0])
    return magneto.stats()["graph_breaks"] - before


@pytest.mark.parametrize(("name", "function"), RESTRICTED)
def test_numbers_and_shapes_out_of_tensors_break_if_it_is_asked_for(
    name, function
):
    assert breaks_of(function) == 0
    with said(**{name: False}):
        assert breaks_of(function) == 1
    with dynamo.patch({name: False}):
        assert breaks_of(function) == 1
    heard_settings.switched_off.clear()


@pytest.mark.parametrize(("name", "function"), RESTRICTED)
def test_what_goes_back_to_its_default_restricts_nothing(name, function):
    with dynamo.patch({name: True}):
        assert breaks_of(function) == 0
    assert breaks_of(function) == 0
    torch.cond(X.sum() > 100, lambda x: x + 1, lambda x: x - 1, [X])
    assert breaks_of(function) == 0


# -- errors --------------------------------------------------------------------


def failing(gm, inputs):
    raise ValueError("no such thing")


def test_suppress_errors(installed, caplog):
    call = magneto.compile(plus, backend=failing)
    with said(suppress_errors=True):
        assert torch.equal(call(X)[0], X + 1)
        assert "no such thing" in caplog.text
    whole = magneto.compile(plus, backend=failing, fullgraph=True)
    with said(suppress_errors=True):
        with pytest.raises(magneto.exc.BackendCompilerFailed):
            whole(X)
    with pytest.raises(magneto.exc.BackendCompilerFailed):
        magneto.compile(lambda x: x + 2, backend=failing)(X)


def test_verify_correctness(installed):
    def wrong(gm, inputs):
        return lambda *args: tuple(out + 1 for out in gm.forward(*args))

    with said(verify_correctness=True):
        with pytest.raises(magneto.exc.VerificationFailed):
            magneto.compile(plus, backend=wrong)(X)


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_disable(installed, backend, fullgraph):
    call = magneto.compile(plus, backend=backend, fullgraph=fullgraph)
    with said(disable=True):
        value = call(X)
        assert not value[1]
        assert torch.equal(value[0], X + 1)
    assert call(X)[1]


def test_without_install_only_torch_compilers_settings_are_heard():
    call = compiled(plus)
    call(X)
    with said(error_on_recompile=True, suppress_errors=True):
        assert call(Y)[1]
        with pytest.raises(magneto.exc.BackendCompilerFailed):
            magneto.compile(plus, backend=failing)(X)
    torch.compiler.config.recompile_limit = 1
    try:
        static = compiled(lambda x: x * 2, dynamic=False)
        with pytest.warns(magneto.exc.RecompileLimitWarning):
            assert graphs_of(static, [2, 3]) == 1
    finally:
        torch.compiler.config.recompile_limit = 8


def test_settings_of_other_threads_arent_seen():
    # As in torch._dynamo.config, whose values belong to a context.
    assert heard_settings.value("recompile_limit") == 8
    with said(recompile_limit=3):
        assert heard_settings.value("recompile_limit") == 3
    assert heard_settings.value("recompile_limit") == 8


def test_reorderable_logging_functions(installed, capsys):
    def function(x):
        y = x + 1
        print("reached")
        return y.sin()

    call = compiled(function)
    with said(reorderable_logging_functions={print}):
        assert moved(lambda: call(X)) == {"compilations": 1, "graphs": 1}
    assert capsys.readouterr().out == "reached\n"


# -- operators -----------------------------------------------------------------


@pytest.fixture(scope="module")
def operators():
    with torch.library._scoped_library("heard_settings", "FRAGMENT") as library:
        tag = torch.Tag.pt2_compliant_tag
        library.define("good(Tensor x) -> Tensor", tags=(tag,))
        library.define("bad(Tensor x) -> Tensor")
        library.define("mixed.one(Tensor x) -> Tensor", tags=(tag,))
        library.define("mixed.two(Tensor x, Tensor y) -> Tensor")
        kind = "CompositeExplicitAutograd"
        for name in ("good", "bad", "mixed.one"):
            library.impl(name, lambda x: x + 1, kind)
        library.impl("mixed.two", lambda x, y: x + y, kind)
        yield torch.ops.heard_settings


OPERATORS = [
    ("good", lambda ops, x: ops.good(x), False),
    ("good overload", lambda ops, x: ops.good.default(x), False),
    ("bad", lambda ops, x: ops.bad(x), True),
    ("bad overload", lambda ops, x: ops.bad.default(x), True),
    ("mixed, good", lambda ops, x: ops.mixed(x), False),
    ("mixed, bad", lambda ops, x: ops.mixed(x, x), True),
    ("mixed, bad by name", lambda ops, x: ops.mixed(x, y=x), True),
    ("mixed overload", lambda ops, x: ops.mixed.two(x, x), True),
    ("mixed good one", lambda ops, x: ops.mixed.one(x), False),
    ("PyTorch's", lambda ops, x: torch.ops.aten.sin(x), False),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("name", "called", "breaks"), OPERATORS)
def test_only_operators_that_are_known_to_be_safe(
    name, called, breaks, operators, installed, backend
):
    def function(x):
        return called(operators, x + 1).cos()

    function(X)  # makes the attributes of torch.ops that it names
    with said(only_allow_pt2_compliant_ops=True):
        call = magneto.compile(function, backend=backend)
        counts = moved(lambda: call(X))
        assert counts.get("graph_breaks", 0) == int(breaks)
        assert torch.allclose(call(X), function(X))
        if breaks:
            whole = compiled(function, fullgraph=True)
            with pytest.raises(magneto.exc.Unsupported, match="safe"):
                whole(X)
    call = compiled(lambda x: function(x))
    assert "graph_breaks" not in moved(lambda: call(X))


# -- torch.compiler ------------------------------------------------------------


def test_the_default_backend():
    backend = Recorder()
    torch.compiler.set_default_backend(backend)
    try:
        magneto.compile(plus)(X)
    finally:
        torch.compiler.set_default_backend(None)
    assert backend.graphs == 1


FILTERS = [
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
]


@pytest.mark.parametrize("backend", [*BACKENDS, Recorder(), None])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_guards_are_taken_and_change_no_result(name, backend):
    options = {"guard_filter_fn": getattr(torch.compiler, name)}
    scale = types.SimpleNamespace(by=2)
    if backend is None and name != "skip_all_guards_unsafe":
        return  # once is enough of what takes seconds
    call = magneto.compile(
        lambda x: x * scale.by, backend=backend, options=options
    )
    assert torch.equal(call(X), X * 2)
    scale.by = 3
    assert torch.equal(call(X), X * 3)
    assert list(options) == ["guard_filter_fn"]


@pytest.mark.parametrize(
    "reset", [torch._dynamo.reset, torch.compiler.reset], ids=["dynamo", "api"]
)
@pytest.mark.parametrize("is_installed", [False, True])
def test_reset(reset, is_installed, request):
    if is_installed:
        request.getfixturevalue("installed")
    if reset.__module__ == "torch.compiler":
        reset = torch.compiler.reset
    else:
        reset = torch._dynamo.reset
    call = compiled(plus)
    call(X)
    assert moved(lambda: call(X)) == {}
    reset()
    assert moved(lambda: call(X)) == {"compilations": 1, "graphs": 1}


def test_the_mark_of_a_step(installed):
    torch.compiler.cudagraph_mark_step_begin()

    def function(x):
        torch.compiler.cudagraph_mark_step_begin()
        return x + 1

    assert torch.equal(compiled(function)(X), X + 1)


def checksum(data, value=1, /):
    a, b = value & 0xFFFF, value >> 16
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b << 16 | a


@pytest.fixture(scope="module")
def substituted():
    substitute = torch.compiler.substitute_in_graph
    return substitute(zlib.adler32, skip_signature_check=True)(checksum)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_stands_for_a_c_function(backend, substituted):
    def function(x, data):
        return x + zlib.adler32(data), substituted(data, 3)

    whole = magneto.compile(function, backend=backend, fullgraph=True)
    for data in (b"abc", b"defg"):
        y, number = whole(X, data)
        assert torch.equal(y, X + zlib.adler32(data))
        assert number == zlib.adler32(data, 3)
    crc = compiled(lambda x, data: x + zlib.crc32(data), fullgraph=True)
    with pytest.raises(magneto.exc.Unsupported, match="crc32"):
        crc(X, b"abc")


# -- disable(recursive=False) --------------------------------------------------


def leaf(x):
    return x.cos(), compiling()


def not_recursive(disable):
    @disable(recursive=False)
    def off(x):
        before = compiling()
        y, inside = leaf(x.sin())
        return y, before, inside

    class Scale:
        @disable(recursive=False)
        def method(self, x):
            return off.__wrapped__(x)

    class Layer(torch.nn.Module):
        @disable(recursive=False)
        def forward(self, x):
            return off.__wrapped__(x)

    return [off, Scale().method, Layer()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("which_disable", ["magneto", "torch", "installed"])
def test_disable_that_is_not_recursive(which_disable, which, backend, request):
    if which_disable == "installed":
        request.getfixturevalue("installed")
    module = magneto if which_disable == "magneto" else torch.compiler
    off = not_recursive(module.disable)[which]

    def function(x):
        return off(x + 1), compiling()

    (y, before, inside), around = magneto.compile(function, backend=backend)(X)
    assert torch.allclose(y, (X + 1).sin().cos())
    assert (before, inside, around) == (False, True, True)
    if which_disable != "torch":  # whose wrapper is compiled, as by PyTorch
        y, before, inside = magneto.compile(off, backend=backend)(X)
        assert (before, inside) == (False, True)
    y, before, inside = off(X)
    assert (before, inside) == (False, False)
    with pytest.raises(magneto.exc.Unsupported, match="disabled|marked"):
        magneto.compile(function, backend=backend, fullgraph=True)(X)


def test_a_class_and_a_module_that_are_disabled_but_not_what_they_call():
    class Off:
        def __init__(self, x):
            self.before = compiling()
            self.y, self.inside = leaf(x)

    assert magneto.disable(Off, recursive=False) is Off
    made = compiled(lambda x: Off(x + 1))(X)
    assert (made.before, made.inside) == (False, True)
    layer = magneto.disable(torch.nn.Linear(3, 3), recursive=False)
    counts = moved(lambda: compiled(lambda x: layer(x))(X))
    assert counts["graphs"] == 1


# -- mark_static_address -------------------------------------------------------


def marks_of(call, *inputs):
    marks = []

    def backend(gm, example_inputs):
        marks.append(
            [
                node.meta["tensor_dict"].get("_dynamo_static_input_type")
                for node in gm.graph.find_nodes(op="placeholder")
            ]
        )
        return gm.forward

    magneto.compile(call, backend=backend)(*inputs)
    return marks[0]


def test_compilers_are_told_which_addresses_stay():
    x, y, z = X.clone(), X.clone(), X.clone()
    torch._dynamo.mark_static_address(x)
    torch._dynamo.mark_static_address(y, guard=True)
    assert marks_of(lambda x, y, z: x + y + z, x, y, z) == [
        "unguarded",
        "guarded",
        None,
    ]


@pytest.mark.parametrize("backend", [*BACKENDS, "inductor"])
@pytest.mark.parametrize("guard", [False, True])
def test_a_guarded_address_is_compiled_for(guard, backend):
    call = magneto.compile(lambda x: x + 1, backend=backend)
    inputs = [X.clone(), X * 2]
    for x in inputs:
        torch._dynamo.mark_static_address(x, guard=guard)
    before = magneto.stats()["graphs"]
    for x in inputs * 2:
        assert torch.equal(call(x), x + 1)
    assert magneto.stats()["graphs"] - before == (2 if guard else 1)


# -- logs ----------------------------------------------------------------------


@pytest.fixture
def texts(heard):
    yield lambda: {record.magneto["artifact"] for record in heard.records}
    torch._logging.set_logs()


def test_logs_that_pytorch_is_asked_for(installed, texts):
    torch._logging.set_logs(graph_code=True, recompiles=True, aot_graphs=True)
    call = compiled(plus)
    call(X)
    call(Y)
    assert texts() == {"graph_code", "recompiles"}


def test_logs_of_both(installed, texts):
    magneto.set_logs("graph_breaks")
    torch._logging.set_logs(guards=True)
    compiled(lambda x: [x + 1, magneto.graph_break(), x][0])(X)
    assert texts() == {"graph_breaks", "guards"}


def test_without_install_pytorchs_logs_are_its_own(texts):
    torch._logging.set_logs(graph_code=True)
    compiled(plus)(X)
    assert texts() == set()
