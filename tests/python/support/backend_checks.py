# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of backends share."""

import torch

from magneto import backends


def compile_with(backend, handle, inputs, **kwargs):
    return backends.compile_graph(
        backends.lookup_backend(backend), handle, inputs, **kwargs
    )


def fresh(inputs):
    return [
        type(x)(x.detach().clone())
        if isinstance(x, torch.nn.Parameter)
        else x.clone()
        for x in inputs
    ]


def assert_training_step_equal(compiled, eager, inputs):
    """Outputs, gradients and written inputs are eager's."""
    results = []
    for function in (compiled, eager):
        arguments = fresh(inputs)
        outputs = function(*arguments)
        sum(o.square().sum() for o in outputs if o.requires_grad).backward()
        results.append((outputs, [a.grad for a in arguments], arguments))
    (one, one_grads, one_inputs), (other, other_grads, other_inputs) = results
    torch.testing.assert_close(tuple(one), tuple(other))
    assert [g is None for g in one_grads] == [g is None for g in other_grads]
    for got, expected in zip(one_grads, other_grads):
        if expected is not None:
            torch.testing.assert_close(got, expected)
    torch.testing.assert_close(one_inputs, other_inputs)


def failing(error):
    def broken_backend(gm, example_inputs):
        raise error

    return broken_backend
