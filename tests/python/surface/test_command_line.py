# SPDX-License-Identifier: BSD-3-Clause
"""`python -m magneto`, and `magneto.install()`.

Each program is run by plain Python and under magneto; arguments, names, exit
codes, output and tracebacks must be the same, and `torch.compile` magneto's.
"""

import subprocess
import sys
import textwrap

import pytest
import torch

import magneto

COMPILE = '@torch.compile(backend="eager")'
COMPILES = f"""
import torch
{COMPILE}
def f(x):
    return x + 1
"""

PROGRAMS = {
    "arguments": "import sys; print(sys.argv[1:])",
    "own name": "print(__name__, __file__, __package__, __cached__)",
    "own folder is importable": "import beside; print(beside.VALUE)",
    "falls off the end": COMPILES + "print(f(torch.ones(2)))",
    "exit code": "import sys; sys.exit(3)",
    "exit without a code": "import sys; sys.exit()",
    "exit with a text": "import sys; sys.exit('gone')",
    "exception": """
        def inner():
            raise LookupError("no such thing")

        def outer():
            inner()

        outer()
        """,
    "chained exception": """
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("no a") from error
        """,
    "exception in a compiled function": COMPILES
    + textwrap.dedent("""
        @torch.compile(backend="eager")
        def g(x):
            y = f(x)
            raise ValueError("after all")

        g(torch.ones(2))
        """),
    "syntax error": "def f(:\n    pass",
    "own excepthook": """
        import sys
        sys.excepthook = lambda kind, error, trace: print("hook", error)
        raise ValueError("mine")
        """,
    "threads and exit handlers find the module": """
        import atexit, sys, threading, time
        VALUE = 3
        def later():
            time.sleep(0.2)
            print(VALUE, sys.modules["__main__"].VALUE)
        atexit.register(lambda: print("bye", VALUE))
        threading.Thread(target=later).start()
        """,
    "pickle finds the module": """
        import pickle
        class Thing:
            pass
        print(type(pickle.loads(pickle.dumps(Thing()))).__name__)
        """,
    "broken import": "import beside.nothing",
    "future statements": """
        from __future__ import annotations
        def f(x: unknown): pass
        print(f.__annotations__)
        """,
}


def run(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    return done.stdout, done.stderr, done.returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "beside.py").write_text("VALUE = 7")
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(
        "import sys; from . import other; print(__name__, __package__,"
        " __spec__.name, sys.argv, other.VALUE)"
    )
    (package / "other.py").write_text("VALUE = 5")
    (package / "broken.py").write_text("import nothing_such")
    (package / "__main__.py").write_text(
        "import sys; print('main of', __package__, sys.argv[1:]); sys.exit(4)"
    )
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_script_runs_as_under_python(name, folder):
    script = folder / "script.py"
    arguments = [str(script), "a", "-b"]
    text = textwrap.dedent(PROGRAMS[name])
    # In plain Python nothing is compiled: torch.compile adds frames of its own.
    script.write_text(text.replace(COMPILE, "@(lambda function: function)"))
    plain = run(*arguments, cwd=folder)
    script.write_text(text)
    ours = run("-m", "magneto", *arguments, cwd=folder)
    assert ours == plain


@pytest.mark.parametrize(
    "arguments",
    [
        ("package.tool", "a", "-b"),
        ("package", "-x"),
        ("beside",),
        ("package.broken",),
        ("json.tool", "--help"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_module_runs_as_under_python(arguments, folder):
    plain = run("-m", *arguments, cwd=folder)
    ours = run("-m", "magneto", "-m", *arguments, cwd=folder)
    assert ours[0] == plain[0]
    assert ours[2] == plain[2]
    assert without_runpy(ours[1]) == without_runpy(plain[1])


def without_runpy(trace):
    lines = trace.splitlines()
    return [line for line in lines if "<frozen runpy>" not in line]


def test_folder_with_main_runs(folder):
    ours = run("-m", "magneto", str(folder / "package"), "a", cwd=folder)
    assert ours == ("main of  ['a']\n", "", 4)


MISTAKES = [
    ([], "usage: "),
    (["-m"], "usage: "),
    (["--fast", "script.py"], "usage: "),
    (["/no/such.py"], "magneto: there is no file '/no/such.py'"),
    (["-m", "no_such"], "magneto: there is no module 'no_such'"),
    (["-m", "json.no_such"], "magneto: there is no module 'json.no_such'"),
    (["-m", "no.such"], "magneto: there is no module 'no.such'"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_told_in_one_line(arguments, message, folder):
    out, err, code = run("-m", "magneto", *arguments, cwd=folder)
    assert (out, code) == ("", 1)
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_help():
    out, err, code = run("-m", "magneto", "--help", cwd=None)
    assert (out.startswith("usage: "), err, code) == (True, "", 0)


def test_torch_compile_is_magnetos(folder):
    script = folder / "uses.py"
    script.write_text(
        textwrap.dedent("""
        import sys, torch, magneto
        @torch.compile(backend="eager", fullgraph=True, name="f")
        def f(x):
            return x + 1
        f(torch.ones(2))
        m = torch.nn.Linear(2, 2)
        m.compile(backend="eager")
        m(torch.ones(2))
        wrapped = torch.compile(torch.nn.Linear(2, 2), backend="eager")
        wrapped(torch.ones(2))
        off = torch.compiler.disable(lambda x: x)
        torch.compiler.reset()
        print(type(f).__module__, type(wrapped).__module__, type(off).__module__)
        print(magneto.stats()["graphs"], "torch._dynamo" in sys.modules)
        """)
    )
    out, err, code = run("-m", "magneto", str(script), cwd=folder)
    assert code == 0, err
    assert out.splitlines() == [
        "magneto._C magneto.compiled_module magneto._C",
        "3 False",
    ]


def test_install_and_uninstall():
    originals = [
        torch.compile,
        torch.compiler.compile,
        torch.compiler.disable,
        torch.compiler.reset,
    ]
    before = magneto.stats()["graphs"]
    x = torch.ones(2)
    model = torch.nn.Linear(2, 2)
    magneto.install()
    magneto.install()  # a second time it does nothing
    try:
        call = torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)
        assert torch.equal(call(x), x + 1)
        decorated = torch.compile(backend="eager")(lambda x: x * 2)
        assert torch.equal(decorated(x), x * 2)
        expected = model(x)
        model.compile(backend="eager", dynamic=False)
        assert torch.equal(model(x), expected)
        with pytest.raises(TypeError, match="no_such"):
            torch.compile(lambda x: x, no_such=1)
    finally:
        magneto.uninstall()
    magneto.uninstall()
    assert magneto.stats()["graphs"] == before + 3
    assert originals == [
        torch.compile,
        torch.compiler.compile,
        torch.compiler.disable,
        torch.compiler.reset,
    ]
