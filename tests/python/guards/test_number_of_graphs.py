# SPDX-License-Identifier: BSD-3-Clause
"""Programs called with one argument after the other make no more graphs than
under torch.compile.
"""

import pytest
import torch
from torch import nn

import magneto
from magneto.testing import compare
from magneto.testing.graphs import RecordingBackend

Y = torch.arange(12.0)
MODULE = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))


def with_numbers(*numbers):
    return [(Y, number) for number in numbers]


def with_columns(*widths):
    return [(torch.ones(4, width)[:, :2],) for width in widths]


def product(x, y):
    return x * y


def sliced(x, i):
    return x[i : i + 2]


def item(x, i):
    return x[i]


def zeros(x, i):
    return torch.zeros(i).sum() + x


def repeated(x, i):
    return x.repeat(i)


def branch(x, i):
    return x + 1 if i else x - 1


def power(x, i):
    return x**i


def summed(x, i):
    return x.view(3, 4).sum(i)


def viewed(x, size):
    return x.view(size)


def of_columns(x):
    return x[:, 0:1].sum(0)


def if_contiguous(x):
    return x.view(-1) if x.is_contiguous() else x.reshape(-1) + 1


def gram(x):
    return x @ x.t()


def strides(x):
    return x + 1, x.stride()


def strided(x):
    return x.as_strided((2, 2), (x.stride(0), 1))


def written(x):
    x = x.clone(memory_format=torch.preserve_format)
    x.add_(1)
    return x.t().contiguous()


def new_module(x):
    return nn.Linear(12, 3)(x)


def new_modules(x):
    return nn.Sequential(nn.Linear(12, 2), nn.ReLU(), nn.LayerNorm(2))(x)


def converted(x):
    MODULE.double()
    MODULE.float()
    return MODULE(x.view(3, 4))


class Sized:
    def __init__(self, size):
        self.size = size


def size_of_an_object(x, sized):
    return x.sum() + sized.size[0]


def categorical(x):
    return torch.distributions.Categorical(logits=x.view(3, 4)).logits * 2


def moved(x):
    MODULE.to(x.device)
    MODULE.to(x)
    return MODULE(x.view(3, 4))


ATTENTION = nn.MultiheadAttention(4, 2, batch_first=True).eval()


def attention_to_itself(x):
    with torch.no_grad():
        y = x.view(1, 3, 4)
        return ATTENTION(y, y, y)[0] + 1


@torch.jit.script
def scripted(a, b):
    return torch.sigmoid(a) * b


def scripted_inside(x):
    return scripted(x * 2, x) + 1


def chosen_kernel(x):
    y = x.view(1, 1, 3, 4)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return nn.functional.scaled_dot_product_attention(y, y, y) + 1


def switches(x):
    y = x * 2
    return (
        y + 1,
        torch.backends.mkldnn.enabled,
        torch.backends.cudnn.enabled,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch._C._are_functorch_transforms_active(),
    )


def wrappers(x):
    y, functions = x * 2, torch._C._functorch
    return (
        y + 1,
        functions.is_batchedtensor(y),
        functions.is_gradtrackingtensor(x),
        functions.is_functorch_wrapped_tensor(x),
        functions.maybe_get_level(y),
        functions.maybe_get_bdim(y),
        functions.maybe_current_level(),
        functions.peek_interpreter_stack(),
    )


SIZES = [(3, 4), (4, 3), (6, 2), (2, 6)]
TABLE = [
    (product, with_numbers(0, 1, 2, 3)),
    (product, with_numbers(5, 1, 0, 7)),
    (product, with_numbers(4.5, 4, 5)),
    (product, with_numbers(4, 4.5, 5.5)),
    (product, with_numbers(1, 2.5, 3, 4.5)),
    (product, with_numbers(True, False, True)),
    (product, [(Y, Y), (Y, 3), (Y, Y), (Y, 4)]),
    (sliced, with_numbers(0, 1, 2, 3)),
    (item, with_numbers(0, 1, 2, 3)),
    (zeros, with_numbers(0, 1, 2, 3)),
    (repeated, with_numbers(1, 2, 0, 3)),
    (branch, with_numbers(0, 1, 2, 3)),
    (power, with_numbers(0, 1, 2, 3)),
    (summed, with_numbers(0, 1, 0, -1)),
    (viewed, [(Y, torch.Size(size)) for size in SIZES]),
    (viewed, [(Y, size) for size in SIZES]),
    (of_columns, with_columns(2, 3, 4, 5, 6)),
    (product, [(torch.ones(4, n)[:, :1], Y[:4, None]) for n in (1, 2, 3, 5)]),
    (if_contiguous, with_columns(2, 3, 4, 5, 2)),
    (gram, with_columns(3, 4, 5, 6)),
    (strides, with_columns(3, 4, 5, 6)),
    (strided, with_columns(3, 4, 5, 6)),
    (written, with_columns(3, 4, 5, 6)),
    (new_module, [(Y,)] * 4),
    (new_modules, [(Y,)] * 4),
    (converted, [(Y,)] * 4),
    (size_of_an_object, [(Y, Sized((n,))) for n in range(2, 14)]),
    (size_of_an_object, [(Y, Sized(torch.Size([n]))) for n in range(2, 14)]),
    (categorical, [(Y,)] * 3),
    (moved, [(Y,)] * 3),
    (attention_to_itself, [(Y,)] * 3),
    (scripted_inside, [(Y,)] * 3),
    (scripted, [(Y, Y)] * 3),
    (chosen_kernel, [(Y,)] * 3),
    (switches, [(Y,)] * 3),
    (wrappers, [(Y,)] * 3),
]


def graphs(compiler, program, calls):
    """How many there are, and what comes out of each call."""
    backend = RecordingBackend()
    compiled = compiler(program, backend=backend)
    results = []
    for arguments in calls:
        torch.manual_seed(0)
        results.append(compiled(*arguments))
    return len(backend.graphs), results


@pytest.mark.parametrize(
    ("program", "calls"),
    TABLE,
    ids=[f"{i}-{row[0].__name__}" for i, row in enumerate(TABLE)],
)
def test_no_more_graphs(program, calls):
    torch._dynamo.reset()
    peers, _ = graphs(torch.compile, program, calls)
    torch._dynamo.reset()
    ours, results = graphs(magneto.compile, program, calls)
    for arguments, result in zip(calls, results, strict=True):
        torch.manual_seed(0)
        compare(program(*arguments), result)
    assert ours <= peers


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("program", [of_columns, gram, written])
def test_strides_that_vary_for_backends(program, backend):
    magneto.reset()
    compiled = magneto.compile(program, backend=backend)
    recompiles = magneto.stats()["recompiles"]
    for arguments in with_columns(3, 4, 5, 6):
        torch.testing.assert_close(compiled(*arguments), program(*arguments))
    assert magneto.stats()["recompiles"] == recompiles + 1
