# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use, internal errors and exceptions: what the messages say, and what
state they leave behind.
"""

import io
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import magneto
from magneto.testing import check_calls
from support.alarms import alarms
from support.compiled_calls import compiled

X = torch.arange(4.0)


def defaults(a, b=3, c=(1, 2)):
    return a * b + c[0]


# -- wrong use -----------------------------------------------------------------


@pytest.mark.parametrize("value", [3, "f", object(), [1]])
def test_what_cannot_be_called_is_refused(value):
    with pytest.raises(TypeError, match="compile\\(\\) takes a callable"):
        magneto.compile(value)
    with pytest.raises(TypeError, match="disable\\(\\) takes a callable"):
        magneto.disable(value)


def test_none_given_to_the_decorator():
    with pytest.raises(TypeError, match="given None"):
        magneto.compile(backend="eager")(None)


WRONG_ARGUMENTS = [
    ({"backend": "indcutor"}, magneto.exc.InvalidBackend, "indcutor"),
    ({"backend": 3}, magneto.exc.InvalidBackend, "int"),
    ({"mode": 3}, magneto.exc.InvalidOptions, "mode"),
    ({"options": 3}, magneto.exc.InvalidOptions, "options"),
    (
        {"mode": "default", "options": {"a": 1}},
        magneto.exc.InvalidOptions,
        "either",
    ),
    ({"mode": "fastest"}, magneto.exc.InvalidOptions, "fastest"),
    ({"options": {"no_such": 1}}, magneto.exc.InvalidOptions, "no_such"),
    ({"fullgraph": "yes"}, TypeError, "fullgraph"),
    ({"dynamic": "yes"}, TypeError, "dynamic"),
]


@pytest.mark.parametrize(("kwargs", "error", "text"), WRONG_ARGUMENTS)
def test_wrong_arguments_are_one_line_errors(kwargs, error, text):
    with pytest.raises(error, match=text) as caught:
        magneto.compile(defaults, **kwargs)
    assert "\n" not in str(caught.value)


def test_backend_that_raises():
    def backend(gm, inputs):
        raise ValueError("broken")

    call = magneto.compile(defaults, backend=backend)
    for _ in range(2):
        with pytest.raises(magneto.exc.BackendCompilerFailed) as caught:
            call(X)
        assert isinstance(caught.value.__cause__, ValueError)


def test_backend_that_returns_no_callable():
    call = magneto.compile(defaults, backend=lambda gm, inputs: 3)
    with pytest.raises(magneto.exc.InvalidBackendResult, match="callable"):
        call(X)


def test_backend_that_skips_the_frame():
    asked = []

    def backend(gm, inputs):
        asked.append(1)
        raise magneto.SkipFrame("not this one")

    call = magneto.compile(defaults, backend=backend)
    for _ in range(3):
        assert torch.equal(call(X), defaults(X))
    assert asked == [1]


def test_compiled_graph_that_returns_nonsense():
    call = magneto.compile(defaults, backend=lambda gm, inputs: lambda *a: 3)
    with pytest.raises(TypeError, match="must return a tuple of 1 values"):
        call(X)


# -- defects and interrupts ----------------------------------------------------


def test_defect_warns_and_runs_plain_python(defect):
    call = compiled(defaults)
    with pytest.warns(magneto.exc.InternalErrorWarning, match="report"):
        assert torch.equal(call(X), defaults(X))
    assert torch.equal(call(X), defaults(X))


def test_defect_is_an_error_if_asked_for(defect, monkeypatch):
    monkeypatch.setattr(magneto.config, "raise_internal_errors", True)
    with pytest.raises(magneto.exc.InternalError):
        compiled(defaults)(X)


def test_keyboard_interrupt_in_a_backend_leaves_everything_as_it_was():
    state = {"interrupt": True}

    def backend(gm, inputs):
        if state["interrupt"]:
            raise KeyboardInterrupt
        return gm.forward

    def f(x, log):
        log.append(1)
        return x + 1

    call = magneto.compile(f, backend=backend)
    log = []
    with pytest.raises(KeyboardInterrupt):
        call(X, log)
    assert log == []
    state["interrupt"] = False
    assert torch.equal(call(X, log), X + 1)
    assert log == [1]


def test_keyboard_interrupt_during_a_trace_leaves_everything_as_it_was():
    log = []

    def f(x):
        log.append(1)
        n = 0
        for i in range(3_000_000):
            n = (n + i) % 1000
        return x + n

    # Else so long a computation would be left to plain Python.
    call = compiled(f, fullgraph=True)
    grad = torch.is_grad_enabled()
    with (
        alarms(signal.default_int_handler, 0.2),
        pytest.raises(KeyboardInterrupt),
    ):
        call(X)
    assert log == []
    assert torch.is_grad_enabled() == grad
    assert type((X + 1).sum().item()) is float


def test_exceptions_of_the_program_are_its_own():
    def f(x, n):
        y = x + 1
        if n > 2:
            raise LookupError(f"{n} is too much")
        return y

    check_calls(f, [((X, 1), {}), ((X, 3), {}), ((X, 3), {}), ((X, 1), {})])


# -- explain, logs, install ----------------------------------------------------


def test_explain_counts_and_names():
    def f(x):
        y = x + 1
        magneto.graph_break("because")
        return y * 2

    found = magneto.explain(f)(X)
    assert found.graph_count == 2
    assert found.graph_break_count == 1
    assert found.op_count == 2
    assert torch.equal(found.result, (X + 1) * 2)
    assert found.breaks[0].place.line == f.__code__.co_firstlineno + 2
    assert "because" in str(found)
    assert any("x" in line for line in found.guards[0])


def test_logs_name_frame_and_compilation(caplog):
    def f(x):
        y = x + 1
        magneto.graph_break()
        return y * 2

    call = compiled(f)
    magneto.set_logs("recompiles", "graph_breaks", "guards", "bytecode")
    try:
        with caplog.at_level("INFO", logger="magneto"):
            call(X)
            call(X.double())
    finally:
        magneto.set_logs()
    text = caplog.text
    assert "/0] guards:" in text
    assert "/1] guards:" in text
    assert "is compiled again, because" in text
    assert "magneto.graph_break()" in text
    assert "CallGraph()" in text
    assert "0x" not in "".join(
        r.getMessage() for r in caplog.records if "bytecode" in r.name
    )
    caplog.clear()
    call(torch.ones(7))
    assert caplog.text == ""


def test_unknown_log_is_an_error():
    with pytest.raises(ValueError, match="nothing_such"):
        magneto.set_logs("nothing_such")


def run_python(*arguments, **kwargs):
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        **kwargs,
    )
    return done.stdout.strip(), done.stderr.strip(), done.returncode


def test_running_a_script_under_magneto(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys, torch, magneto
        @torch.compile(backend="eager", name="f")
        def f(x):
            return x + 1
        f(torch.ones(2))
        m = torch.nn.Linear(2, 2)
        m.compile(backend="eager")
        m(torch.ones(2))
        off = torch.compiler.disable(lambda x: x)
        print(__name__, sys.argv[1:], type(f).__module__, type(off).__module__)
        print(magneto.stats()["graphs"], "torch._dynamo" in sys.modules)
        """)
    )
    out, err, code = run_python("-m", "magneto", str(script), "a", "-b")
    assert code == 0, err
    assert out.splitlines() == [
        "__main__ ['a', '-b'] magneto._C magneto._C",
        "2 False",
    ]


def test_running_nothing_under_magneto():
    out, err, code = run_python("-m", "magneto")
    assert code == 1
    assert err.startswith("usage:")
    out, err, code = run_python("-m", "magneto", "/no/such.py")
    assert code == 1
    assert err == "magneto: there is no file '/no/such.py'"


def test_install_can_be_undone():
    original = torch.compile
    magneto.install()
    try:
        assert torch.compile is not original
        call = torch.compile(defaults, backend="eager", fullgraph=True)
        assert torch.equal(call(X), defaults(X))
        assert type(call).__module__ == "magneto._C"
    finally:
        magneto.uninstall()
    assert torch.compile is original


def test_import_loads_neither_dynamo_nor_inductor():
    out, err, code = run_python(
        "-c",
        "import torch, sys; before = set(sys.modules); import magneto;"
        "new = set(sys.modules) - before;"
        "print([m for m in new if m.startswith('torch.')])",
    )
    assert code == 0, err
    assert out == "[]"


def test_stubs_name_what_the_extension_has():
    import magneto._C as extension

    stub = Path(magneto.__file__).with_name("_C.pyi").read_text()
    for name in dir(extension):
        if not name.startswith("_"):
            assert f" {name}" in stub, name


def test_printed_output_of_a_program_goes_where_it_should():
    def f(x):
        print("one")
        y = x + 1
        print("two")
        return y

    call = compiled(f)
    out = io.StringIO()
    import contextlib

    with contextlib.redirect_stdout(out):
        call(X)
        call(X)
    assert out.getvalue() == "one\ntwo\n" * 2
