# SPDX-License-Identifier: BSD-3-Clause
"""Environment variables of PyTorch's compiler, and settings from before magneto
is installed, in processes of their own.
"""

import os
import subprocess
import sys
import textwrap

import pytest


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


IS_COMPILED = """
    import sys, torch, magneto
    {install}
    compile = {compile}
    call = compile(lambda x: torch.compiler.is_compiling(), backend="eager")
    module = torch.nn.Linear(2, 2)
    x = torch.ones(2)
    same = torch.equal(compile(module, backend="eager")(x), module(x))
    print(call(x), same, "torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize(
    "variable", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"]
)
@pytest.mark.parametrize("is_installed", [False, True])
def test_variables_that_switch_compiling_off(variable, is_installed):
    script = IS_COMPILED.format(
        install="magneto.install()" if is_installed else "",
        compile="torch.compile" if is_installed else "magneto.compile",
    )
    assert run(script, **{variable: "1"}).stdout == "False True False\n"
    assert run(script, **{variable: "0"}).stdout == "True True False\n"


def test_other_variables():
    script = """
        import torch, magneto
        magneto.install()
        n = []
        def backend(gm, inputs):
            n.append(gm)
            return gm.forward
        call = torch.compile(lambda x: x + 1, backend=backend)
        for i in range(2, 6):
            call(torch.ones(i))
        print(len(n))
    """
    name = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES"
    assert run(script, **{name: "0"}).stdout == "4\n"
    early = script.replace("import torch,", "import torch._dynamo,")
    assert run(early, **{name: "0"}).stdout == "4\n"
    assert run(script, **{name: "1"}).stdout == "2\n"


def test_the_variable_for_logs():
    script = """
        import torch, magneto
        magneto.install()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    """
    done = run(script, TORCH_LOGS="graph_code")
    assert "graph_code:" in done.stderr
    assert "x + 1" in done.stderr or "+ 1" in done.stderr
    assert "graph_code:" not in run(script, TORCH_LOGS="bytecode").stderr


def test_settings_may_be_written_before_the_install():
    script = """
        import torch, torch._dynamo
        torch._dynamo.config.capture_scalar_outputs = False
        torch._dynamo.config.error_on_recompile = True
        import magneto
        call = magneto.compile(lambda x: x * x.sum().item(), backend="eager")
        call(torch.ones(2))
        print(magneto.stats()["graph_breaks"])
        magneto.install()
        try:
            call(torch.ones(3))
        except RuntimeError as error:
            print(type(error).__name__)
    """
    assert run(script).stdout == "1\nRecompileError\n"
