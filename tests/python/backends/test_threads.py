# SPDX-License-Identifier: BSD-3-Clause
"""First calls in several threads: PyTorch's compilers are for one at a time."""

from __future__ import annotations

import threading

import pytest
import torch

import magneto


def functions(count):
    made = []
    for k in range(count):
        namespace = {"torch": torch}
        source = f"def f{k}(x): return torch.sin(x * {k + 2}).cos() + {k}"
        exec(source, namespace)
        made.append(namespace[f"f{k}"])
    return made


def run_at_once(calls):
    """What each gave or raised, each in a thread of its own."""
    results = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(k):
        start.wait()
        try:
            results[k] = calls[k]()
        except BaseException as error:
            results[k] = error

    threads = [
        threading.Thread(target=run, args=(k,)) for k in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    return results


def gradient(function):
    x = torch.linspace(-1, 1, 5, requires_grad=True)
    result = function(x)
    result.sum().backward()
    return result.detach(), x.grad


def own_backend(gm, inputs):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    return aot_autograd(fw_compiler=lambda g, _: make_boxed_func(g.forward))(
        gm, inputs
    )


@pytest.mark.parametrize("backend", ["aot_eager", "inductor", own_backend])
@pytest.mark.parametrize("dynamic", [None, True])
def test_first_calls_at_once(backend, dynamic):
    plain = functions(5)
    compiled = [
        magneto.compile(f, backend=backend, dynamic=dynamic) for f in plain[:4]
    ]
    compiled.append(torch.compile(plain[4], backend="aot_eager"))
    results = run_at_once([lambda f=f: gradient(f) for f in compiled])
    for result, function in zip(results, plain, strict=True):
        if isinstance(result, BaseException):
            raise result
        torch.testing.assert_close(result, gradient(function))
    torch._dynamo.reset()


def test_backend_may_wait_for_another_thread_that_compiles():
    first, second = functions(2)
    inner = magneto.compile(second, backend="aot_eager")
    x = torch.ones(3)

    def waits(gm, inputs):
        thread = threading.Thread(target=inner, args=(x,))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        return gm.forward

    result = magneto.compile(first, backend=waits)(x)
    torch.testing.assert_close(result, first(x))


def test_compiled_function_within_a_backend_of_torch_compiles():
    first, second = functions(2)
    inner = magneto.compile(second, backend="aot_eager")

    def backend(gm, inputs):
        inner(torch.ones(3))
        return gm.forward

    x = torch.ones(4)
    result = torch.compile(first, backend=backend)(x)
    torch.testing.assert_close(result, first(x))
    torch._dynamo.reset()
