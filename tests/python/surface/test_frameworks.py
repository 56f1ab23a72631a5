# SPDX-License-Identifier: BSD-3-Clause
"""What frameworks ask of compiled modules, and do with them."""

import copy
import inspect
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn

import magneto


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x, scale=2):
        return self.inner(x) * scale


def compiled_module():
    return magneto.compile(Scaled(), backend="eager")


def test_a_compiled_module_is_an_optimized_module():
    from torch._dynamo import OptimizedModule

    module = compiled_module()
    assert isinstance(module, OptimizedModule)
    assert isinstance(module, nn.Module)
    assert module._orig_mod is not module
    assert isinstance(copy.deepcopy(module), OptimizedModule)
    assert isinstance(pickle.loads(pickle.dumps(module)), type(module))


def test_torch_dynamo_is_not_loaded_for_that():
    program = (
        "import sys, torch, magneto\n"
        "module = magneto.compile(torch.nn.Linear(2, 2), backend='eager')\n"
        "assert isinstance(module, torch.nn.Module)\n"
        "module(torch.ones(2))\n"
        "assert 'torch._dynamo.eval_frame' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_signature_of_a_compiled_module():
    module = Scaled()
    compiled = magneto.compile(module, backend="eager")
    assert inspect.signature(compiled) == inspect.signature(module)


@pytest.mark.parametrize(
    "module",
    [compiled_module(), nn.Sequential(compiled_module(), nn.ReLU())],
    ids=["itself", "inside"],
)
def test_jit_trace(module):
    x = torch.ones(2, 4)
    traced = torch.jit.trace(module, x)
    torch.testing.assert_close(traced(x), module(x))
    y = torch.rand(3, 4)
    torch.testing.assert_close(traced(y), module(y))


def test_jit_trace_of_a_compiled_function():
    compiled = magneto.compile(lambda x: x.sin() + 1, backend="eager")
    x = torch.ones(2, 4)
    assert torch.equal(torch.jit.trace(compiled, x)(x), x.sin() + 1)


def test_fx_symbolic_trace_of_a_module_that_holds_a_compiled_one():
    module = nn.Sequential(compiled_module(), nn.ReLU())
    traced = torch.fx.symbolic_trace(module)
    x = torch.rand(3, 4)
    torch.testing.assert_close(traced(x), module(x))
