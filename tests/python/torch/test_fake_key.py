# SPDX-License-Identifier: BSD-3-Clause
"""Where something else has a fallback on PyTorch's key for fake tensors:
magneto traces as before, and what isn't its own goes on to that fallback."""

import subprocess
import sys
from pathlib import Path

import pytest

import magneto

LIBRARY = Path(magneto._C.__file__).resolve().with_name("libother_fallback.so")

START = f"""
import ctypes, torch
other = ctypes.CDLL({str(LIBRARY)!r})
other.calls_of_other_fallback.restype = ctypes.c_int64
calls = other.calls_of_other_fallback
import magneto

def check(function, *inputs, backend="eager"):
    expected = function(*inputs)
    call = magneto.compile(function, backend=backend, fullgraph=True)
    torch.testing.assert_close(call(*inputs), expected)
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", START + program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS = {
    "operators": """
check(lambda x, y: (x @ y).relu().sum(0), torch.randn(3, 4), torch.randn(4, 2))
""",
    "a layer in training": """
layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
x = torch.randn(5, 3, requires_grad=True)
check(lambda x: layer(x).square().mean(), x, backend="aot_eager")
""",
    "views and writes": """
def write(x):
    y = x.clone()
    y.t()[1].add_(3)
    return y.view(-1)
check(write, torch.randn(2, 3))
""",
    "an operator defined later": """
@torch.library.custom_op("later::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
@twice.register_fake
def _(x):
    return torch.empty_like(x)
check(lambda x: twice(x) + 1, torch.randn(3))
""",
    "sizes that vary": """
call = magneto.compile(lambda x: x.reshape(-1) * x.shape[0], backend="eager")
for n in (2, 3, 4, 5):
    x = torch.randn(n, 2)
    torch.testing.assert_close(call(x), x.reshape(-1) * n)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_are_traced_beside_another_fallback(program):
    assert run(program + "print(calls())").split() == ["0"]


def test_what_is_not_ours_goes_on_to_the_other_fallback():
    out = run("""
include = torch._C._dispatch_tls_set_dispatch_key_included
x = torch.ones(3)
include("Fake", True)
y = x.add(1)
include("Fake", False)
print(calls() > 0, y.tolist())
""")
    assert out.split(" ", 1) == ["True", "[2.0, 2.0, 2.0]\n"]
