# SPDX-License-Identifier: BSD-3-Clause
"""Torch's functions, methods and attributes, one small program each.

Every program is run eagerly and compiled, in one graph; the calls in the graph
are those of torch.compile's graph, in order.
"""

import operator
from collections import namedtuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import magneto
from magneto.testing import check, check_calls, magneto_graph_calls

X = torch.arange(12.0).reshape(3, 4) / 7
Y = torch.linspace(-1, 1, 20).reshape(4, 5)
Z = torch.tensor([[1, 2, 0], [2, 0, 1]])
M = torch.tensor([[True, False, True, True]] * 3)
G = torch.linspace(0, 1, 12).reshape(3, 4).requires_grad_()
IMAGE = torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)
KERNEL = torch.linspace(-1, 1, 4 * 3 * 3 * 3).reshape(4, 3, 3, 3)
HEADS = torch.linspace(-1, 1, 2 * 2 * 5 * 4).reshape(2, 2, 5, 4)


def program(fn, *inputs, id=None):
    return pytest.param(fn, inputs, id=id)


class Holder:
    """Something that isn't a module and holds tensors."""

    def __init__(self):
        self.weight = torch.ones(4)


def with_no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y + 1


def with_enable_grad(x):
    with torch.no_grad(), torch.enable_grad():
        y = x * 2
    return y + 1


def with_set_grad_enabled(x):
    with torch.set_grad_enabled(False):
        y = x * 2
    return y, y.requires_grad


@torch.no_grad()
def decorated(x):
    return x * 3


def call_decorated(x):
    return decorated(x) + x


def with_autocast(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = x @ y
    return z.float() + 1


def with_nested_autocast(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = x @ y
        with torch.autocast("cpu", enabled=False):
            w = x @ y
    return z, w, torch.is_autocast_enabled("cpu")


def new_tensors(x):
    return (
        x.new_zeros(2, 3),
        x.new_ones((2,)),
        x.new_full((2, 2), 7),
        x.new_tensor([1, 2]),
        x.new_empty(3).fill_(1),
    )


def in_place(x):
    x = x.clone()
    x.add_(1)
    x.mul_(2).sub_(3)
    x[0] = 5
    x[:, 1] += 1
    return x


def masked(x, m):
    x = x.clone()
    x[m] = 0
    return x.masked_fill(m, -1), x


def shapes(x):
    b, c = x.shape
    return x.reshape(c, b), x.size(), x.size(0), x.size(-1), x.dim(), x.ndim


def facts(x):
    return (
        x.dtype,
        x.device,
        x.layout,
        x.requires_grad,
        x.is_floating_point(),
        x.is_complex(),
        x.numel(),
        x.nelement(),
        x.ndimension(),
        x.stride(),
        x.stride(0),
        x.stride(dim=-1),
        x.is_contiguous(),
        x.is_contiguous(memory_format=torch.contiguous_format),
        x.element_size(),
        x.is_cuda,
        x.is_sparse,
        x.is_quantized,
        x.is_nested,
        x.get_device(),
        x.type(),
        len(x),
        x.is_signed(),
        x + 1,
    )


def type_facts(x):
    return (
        torch.finfo(x.dtype).min,
        torch.finfo(torch.float16).max,
        torch.finfo(x.dtype).eps,
        torch.iinfo(torch.int32).max,
        torch.float32.itemsize,
        x.dtype.is_floating_point,
        x.device.type,
        x.device.index,
        torch.device("cpu"),
        torch.device("cuda", 1).index,
        torch.Size([1, 2]).numel(),
        torch.promote_types(torch.int32, torch.float16),
        torch.result_type(x, 1),
        torch.is_floating_point(x),
        torch.is_tensor(x),
        torch.is_tensor(3),
        torch.numel(x),
        torch.typename(x),
        isinstance(x, torch.Tensor),
        isinstance(x, nn.Parameter),
        isinstance(x, (torch.LongTensor, torch.HalfTensor)),
        isinstance(x, torch.FloatTensor),
        isinstance(x.long(), torch.LongTensor),
        isinstance(x, torch.cuda.FloatTensor),
        isinstance(x.to("meta"), torch.FloatTensor),
        isinstance(3, torch.LongTensor),
        type(x) is torch.Tensor,
        x + torch.finfo(x.dtype).eps,
    )


def states(x):
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        torch.jit.is_scripting(),
        torch.jit.is_tracing(),
        x + 1,
    )


def conditionally(x):
    torch._check(x.size(0) == 3)
    torch._check(x.size(1) > 2, lambda: "too narrow")
    torch._assert(x.dim() == 2, "two dimensions")
    return x + 1


def iterated(x):
    total = 0
    for row in x:
        total = total + row.sum()
    first, *rest = x
    return total, first, len(rest)


def unpacked(x):
    a, b = x.split(2, dim=1)
    c, d = x.chunk(2, -1)
    values, indices = x.max(dim=1)
    top = x.topk(2)
    return a, b, c, d, values, indices, top.values, top.indices


def own_attribute(x):
    y = x + 1
    y.tag = "hidden"
    return y * 2, y.tag


def operators(x):
    return (
        x + 1,
        1 - x,
        x * x,
        x / 2,
        2 / (x + 1),
        x // 2,
        x % 2,
        x**2,
        2**x,
        -x,
        +x,
        abs(x),
        x @ x.T,
        x > 1,
        x == x,
        x != 1,
        ~(x > 1),
        (x > 1) & (x < 2),
        (x > 1) | (x < 2),
        (x > 1) ^ (x < 2),
    )


def in_place_operators(x):
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 3
    y **= 2
    return y


def operator_functions(x):
    return (
        operator.add(x, 1),
        operator.matmul(x, x.t()),
        operator.getitem(x, 0),
        operator.neg(x),
    )


def indexed(x, z):
    return (
        x[0],
        x[:, 1],
        x[1:, ::2],
        x[..., None],
        x[-1, -1],
        x[[0, 2]],
        x[z],
        x[None],
        x[(0, 1)],
    )


PROGRAMS = [
    # Arithmetic and functions.
    program(operators, X),
    program(in_place_operators, X),
    program(operator_functions, X),
    program(lambda x: torch.add(x, x, alpha=2), X, id="add-alpha"),
    program(lambda x, y: torch.matmul(x, y), X, Y, id="matmul"),
    program(lambda x: torch.sin(x) + torch.cos(x), X, id="sin"),
    program(lambda x: torch.rsqrt(x + 1), X, id="rsqrt"),
    program(lambda x: torch.pow(x, 2), X, id="pow"),
    program(lambda x: torch.clamp(x, min=0, max=1), X, id="clamp"),
    program(lambda x: x.clamp(min=0), X, id="clamp-method"),
    program(lambda x: torch.where(x > 1, x, -x), X, id="where"),
    program(lambda x: torch.where(x > 1, 1.0, 0.0), X, id="where-scalar"),
    program(lambda x: torch.maximum(x, x * 2), X, id="maximum"),
    program(lambda x: torch.einsum("ij,kj->ik", x, x), X, id="einsum"),
    program(lambda x: torch.tensordot(x, x, dims=2), X, id="tensordot"),
    program(lambda x: torch.outer(x[0], x[1]), X, id="outer"),
    program(lambda x, y: torch.addmm(x[:, :1], x, y), X, Y, id="addmm"),
    program(
        lambda x: torch.baddbmm(x[None], x[None], x.T[None] @ x),
        X,
        id="baddbmm",
    ),
    program(lambda x: torch.bmm(x[None], x.T[None]), X, id="bmm"),
    # Reductions.
    program(lambda x: x.sum(), X, id="sum"),
    program(lambda x: x.mean(-1, keepdim=True), X, id="mean"),
    program(lambda x: torch.sum(x, dim=0), X, id="sum-dim"),
    program(lambda x: x.pow(2).mean(-1, keepdim=True), X, id="pow-mean"),
    program(lambda x: x.var(unbiased=False), X, id="var"),
    program(lambda x: torch.std(x, dim=0), X, id="std"),
    program(lambda x: x.max(), X, id="max"),
    program(lambda x: torch.max(x, dim=1), X, id="max-dim"),
    program(lambda x: torch.min(x, dim=1).values, X, id="min-values"),
    program(lambda x: x.argmax(-1), X, id="argmax"),
    program(lambda x: x.cumsum(0), X, id="cumsum"),
    program(lambda x: x.prod(), X, id="prod"),
    program(lambda x: x.norm(), X, id="norm"),
    program(lambda x: torch.norm(x, dim=1), X, id="torch-norm"),
    program(lambda x: x.logsumexp(1), X, id="logsumexp"),
    program(lambda x: (x > 1).any(), X, id="any"),
    program(lambda x: (x > 1).all(dim=1), X, id="all"),
    program(lambda x: x.softmax(-1), X, id="softmax-method"),
    program(lambda x: torch.softmax(x, dim=-1), X, id="torch-softmax"),
    # Shapes.
    program(shapes, X),
    program(lambda x: x.view(2, 6), X, id="view"),
    program(lambda x: x.view(-1), X, id="view-flat"),
    program(lambda x: x.view(x.size(0), 2, -1), X, id="view-size"),
    program(lambda x: x.view(*x.shape[:-1], 2, 2), X, id="view-star"),
    program(lambda x: x.reshape(x.shape[0], -1), X, id="reshape"),
    program(lambda x: x.transpose(0, 1), X, id="transpose"),
    program(lambda x: x.t(), X, id="t"),
    program(lambda x: x.permute(1, 0).contiguous(), X, id="permute"),
    program(lambda x: x.unsqueeze(0).squeeze(0), X, id="unsqueeze"),
    program(lambda x: x.expand(2, 3, 4), X, id="expand"),
    program(lambda x: x[None].expand(2, *x.shape), X, id="expand-star"),
    program(lambda x: x.repeat(2, 1), X, id="repeat"),
    program(lambda x: x.repeat_interleave(2, dim=0), X, id="repeat_interleave"),
    program(lambda x: x.flatten(), X, id="flatten"),
    program(lambda x: torch.flatten(x, 0, 1), X, id="torch-flatten"),
    program(lambda x: x.unflatten(1, (2, 2)), X, id="unflatten"),
    program(lambda x: torch.cat((x, x), dim=-1), X, id="cat"),
    program(lambda x: torch.cat([x[..., 2:], x[..., :2]], -1), X, id="rotate"),
    program(lambda x: torch.stack([x, x]), X, id="stack"),
    program(lambda x: torch.split(x, 2, dim=1)[0], X, id="torch-split"),
    program(lambda x: torch.unbind(x, 0)[1], X, id="unbind"),
    program(
        lambda x: torch.meshgrid(x[0], x[1], indexing="ij"), X, id="meshgrid"
    ),
    program(lambda x: torch.broadcast_tensors(x, x[0])[1], X, id="broadcast"),
    program(lambda x: torch.tril(x), X, id="tril"),
    program(lambda x: torch.triu(x, diagonal=1), X, id="triu"),
    program(lambda x: torch.roll(x, 1, 0), X, id="roll"),
    program(lambda x: torch.flip(x, (0,)), X, id="flip"),
    program(lambda x: torch.movedim(x, 0, 1), X, id="movedim"),
    program(lambda x: x.narrow(1, 0, 2), X, id="narrow"),
    program(lambda x: x.diagonal(), X, id="diagonal"),
    program(lambda x: torch.atleast_3d(x), X, id="atleast_3d"),
    program(unpacked, X),
    program(iterated, X),
    # Indices.
    program(indexed, X, Z[0]),
    program(in_place, X),
    program(masked, X, M),
    program(lambda x, z: x.gather(1, z), X[:2], Z, id="gather"),
    program(lambda x, z: x.index_select(0, z), X, Z[0], id="index_select"),
    program(lambda x, z: torch.take_along_dim(x, z, 1), X[:2], Z, id="take"),
    program(lambda x, z: torch.scatter(x, 1, z, 0.0), X[:2], Z, id="scatter"),
    program(
        lambda x, z: x.clone().scatter_add_(1, z, x),
        X[:2, :3],
        Z,
        id="scatter_add_",
    ),
    program(lambda z: z.argsort(-1), Z, id="argsort"),
    program(lambda z: torch.sort(z, dim=-1), Z, id="sort"),
    # Attributes.
    program(lambda x: x.T + 1, X, id="T"),
    program(lambda x: x.mT + 1, X, id="mT"),
    program(lambda x: x.real + 1, X, id="real"),
    program(lambda x: x.data * 2, X, id="data"),
    program(lambda x: (x.grad is None, x + 1), X, id="grad"),
    program(lambda x: (x.grad_fn, x + 1), X, id="grad_fn"),
    program(lambda x: (x.is_leaf, x + 1), X, id="is_leaf"),
    program(own_attribute, X),
    # Conversions.
    program(lambda x: x.to(torch.float64), X, id="to"),
    program(lambda x: x.to("cpu"), X, id="to-device"),
    program(lambda x, y: x.to(y), X, Y.double(), id="to-other"),
    program(
        lambda x: x.to(dtype=torch.bfloat16).to(x.dtype), X, id="to-and-back"
    ),
    program(lambda x: x.float().half().double(), X, id="float"),
    program(lambda x: x.int().long().bool(), X, id="int"),
    program(lambda x: x.type(torch.int32), X, id="type-dtype"),
    program(lambda x: x.type(torch.DoubleTensor), X, id="type-class"),
    program(lambda x: x.type_as(x), X, id="type_as"),
    program(lambda x: x.cpu(), X, id="cpu"),
    program(lambda x: x.detach() * x, G, id="detach"),
    program(lambda x: x.clone(), X, id="clone"),
    program(lambda x: x.requires_grad_(False) + 1, X, id="requires_grad_"),
    # Constructors.
    program(new_tensors, X),
    program(lambda x: x + torch.arange(4), X, id="arange"),
    program(
        lambda x: x + torch.arange(x.shape[1], device=x.device),
        X,
        id="arange-device",
    ),
    program(lambda x: x + torch.ones(3, 1, dtype=x.dtype), X, id="ones"),
    program(lambda x: x + torch.zeros_like(x), X, id="zeros_like"),
    program(lambda x: x + torch.full((3, 4), 2.0), X, id="full"),
    program(lambda x: x + torch.full_like(x, 2), X, id="full_like"),
    program(lambda x: x + torch.tensor(2.0), X, id="tensor"),
    program(
        lambda x: x + torch.tensor([1.0, 2, 3, 4], device=x.device),
        X,
        id="tensor-list",
    ),
    program(lambda x: x + torch.as_tensor([1, 2, 3, 4]), X, id="as_tensor"),
    program(lambda x: x + torch.eye(3, 4), X, id="eye"),
    program(lambda x: x + torch.linspace(0, 1, 4), X, id="linspace"),
    program(lambda x: torch.empty_like(x).copy_(x), X, id="empty_like"),
    # Random numbers.
    program(lambda x: torch.rand(2) + x[0, 0], X, id="rand"),
    program(lambda x: torch.randn_like(x), X, id="randn_like"),
    program(lambda x: torch.bernoulli(x.clamp(0, 1)), X, id="bernoulli"),
    program(lambda x: F.dropout(x, 0.5), X, id="dropout"),
    program(lambda x: F.dropout(x, 0.5, training=False), X, id="dropout-off"),
    program(lambda x: x.clone().uniform_(), X, id="uniform_"),
    # torch.nn.functional.
    program(lambda x: F.relu(x), X, id="relu"),
    program(lambda x: F.relu(x.clone(), inplace=True), X, id="relu-inplace"),
    program(lambda x: F.gelu(x), X, id="gelu"),
    program(lambda x: F.gelu(x, approximate="tanh"), X, id="gelu-tanh"),
    program(lambda x: F.silu(x), X, id="silu"),
    program(
        lambda x: F.softmax(x, dim=-1, dtype=torch.float32), X, id="softmax"
    ),
    program(lambda x: F.log_softmax(x, dim=-1), X, id="log_softmax"),
    program(lambda x, y: F.linear(x, y.T), X, Y, id="linear"),
    program(lambda x: F.layer_norm(x, (4,)), X, id="layer_norm"),
    program(lambda x: F.rms_norm(x, (4,)), X, id="rms_norm"),
    program(lambda x: F.normalize(x, dim=-1), X, id="normalize"),
    program(lambda z, x: F.embedding(z, x), Z, X, id="embedding"),
    program(lambda z: F.one_hot(z, 3), Z, id="one_hot"),
    program(lambda x: F.pad(x, (1, 1)), X, id="pad"),
    program(
        lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2])),
        X,
        id="cross_entropy",
    ),
    program(lambda x: F.mse_loss(x, x + 1), X, id="mse_loss"),
    program(
        lambda x: F.binary_cross_entropy_with_logits(x, x / 2),
        X,
        id="bce",
    ),
    program(lambda x: F.cosine_similarity(x, x + 1), X, id="cosine_similarity"),
    program(lambda i, k: F.conv2d(i, k, padding=1), IMAGE, KERNEL, id="conv2d"),
    program(lambda i: F.max_pool2d(i, 2), IMAGE, id="max_pool2d"),
    program(lambda i: F.avg_pool2d(i, 2), IMAGE, id="avg_pool2d"),
    program(
        lambda i: F.adaptive_avg_pool2d(i, 1), IMAGE, id="adaptive_avg_pool2d"
    ),
    program(
        lambda i: F.interpolate(i, scale_factor=2.0), IMAGE, id="interpolate"
    ),
    program(lambda i: F.unfold(i, 2), IMAGE, id="unfold"),
    program(lambda i: F.group_norm(i, 3), IMAGE, id="group_norm"),
    program(
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        HEADS,
        id="attention",
    ),
    program(lambda x: F.glu(x), X, id="glu"),
    program(lambda x: F.softplus(x), X, id="softplus"),
    program(lambda x: F.hardtanh(x), X, id="hardtanh"),
    program(lambda x: F.threshold(x, 0.5, 0.0), X, id="threshold"),
    # Other namespaces.
    program(lambda x: torch.linalg.norm(x), X, id="linalg-norm"),
    program(lambda x: torch.linalg.vector_norm(x, dim=1), X, id="vector_norm"),
    program(lambda x: torch.fft.rfft(x).real, X, id="rfft"),
    program(lambda x: torch.special.expit(x), X, id="expit"),
    program(lambda x: torch.nn.functional.tanh(x), X, id="F-tanh"),
    program(lambda x: torch.ops.aten.add.Tensor(x, x), X, id="overload"),
    program(lambda x: torch.ops.aten.mul(x, 2), X, id="packet"),
    program(
        lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(3, 2, 2))),
        X,
        id="complex",
    ),
    program(lambda x: torch.polar(x, x).abs(), X, id="polar"),
    # State.
    program(with_no_grad, G),
    program(with_enable_grad, G),
    program(with_set_grad_enabled, G),
    program(call_decorated, G),
    program(with_autocast, X, Y),
    program(with_nested_autocast, X, Y),
    program(conditionally, X),
]

# Constants here; torch.compile breaks its graph, or has nodes for them.
QUESTIONS = [
    program(facts, X),
    program(type_facts, X),
    program(states, X),
    program(
        lambda x: x + torch.zeros(torch.broadcast_shapes(x.shape, (1,))),
        X,
        id="broadcast_shapes",
    ),
]


def without_dead_reads(fn, inputs):
    """torch.compile's calls, without attributes read of no tensor.

    It leaves `getattr(x, "is_leaf")` in the graph although the answer is a
    constant and nothing uses the node.
    """
    torch._dynamo.reset()
    graphs = []

    def backend(gm, _):
        graphs.append(gm)
        return gm.forward

    torch.manual_seed(0)
    torch.compile(fn, backend=backend, fullgraph=True)(*inputs)
    for gm in graphs:
        for node in reversed(gm.graph.nodes):
            if node.target is getattr and not node.users:
                gm.graph.erase_node(node)
    from magneto.testing import calls_in

    torch._dynamo.reset()
    return [calls_in(gm) for gm in graphs]


def fresh(inputs):
    return [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]


@pytest.mark.parametrize(("fn", "inputs"), PROGRAMS + QUESTIONS)
def test_program_compiled_is_eager(fn, inputs):
    check(fn, *inputs, fullgraph=True, graphs=1, recompiles=0)


@pytest.mark.parametrize(("fn", "inputs"), PROGRAMS)
def test_program_has_torch_compile_calls(fn, inputs):
    ours = magneto_graph_calls(fn, *fresh(inputs))
    assert ours == without_dead_reads(fn, fresh(inputs))


class Four:
    def __index__(self):
        return 4


class Unsure:
    def __index__(self):
        raise ValueError("which?")


@pytest.mark.parametrize(
    "items",
    [
        [2, True, Four()],
        [torch.tensor(3), torch.tensor([2])],
        {1: 2},
        [1, 1.5],
        [torch.tensor(2.5)],
        [torch.ones(2)],
        [[1]],
        [None],
        "ab",
        [Unsure()],
        3,
    ],
)
def test_size_of_items(items):
    def build(x):
        try:
            return x + 1, torch.Size(items)
        except TypeError as error:
            return x - 1, str(error)

    check(build, X)


@pytest.mark.parametrize(
    "number", [2**70, -(2**70), True, Four(), Unsure(), torch.tensor(3), 1.5]
)
def test_operator_index(number):
    def index(x):
        try:
            return x + 1, operator.index(number)
        except (TypeError, ValueError) as error:
            return x - 1, str(error)

    check(index, X)


Pair = namedtuple("Pair", "a b")

SUMS = [
    lambda s, n, x: s + (1,),
    lambda s, n, x: (1,) + s,
    lambda s, n, x: (s + s, s * 2, 2 * s),
    lambda s, n, x: (s + Pair(1, n), Pair(1, n) + s),
    lambda s, n, x: (s[:1] + (n,)).numel(),
    lambda s, n, x: (n,) + s[1:] + (True,),
    lambda s, n, x: s + ("a",),
    lambda s, n, x: s + [1],
    lambda s, n, x: [1] + s,
    lambda s, n, x: (x,) + s,
    lambda s, n, x: s + (2.5,),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("call", SUMS)
def test_sizes_in_sums(call, dynamic):
    def program(x, n):
        try:
            return x + 1, call(x.shape, n, x)
        except TypeError as error:
            return x - 1, str(error)

    calls = [((torch.ones(n, 2), n), {}) for n in (3, 4, 5)]
    check_calls(program, calls, dynamic=dynamic)


@pytest.mark.parametrize(
    "index",
    [
        [0], [5], ([0], 1), (slice(None), [3]), range(1), range(3), ((0, 4),),
        (0, range(4)), (0, 1), (..., None, 2), slice(9),
    ],
)  # fmt: skip
def test_an_index_that_nobody_needs_may_be_out_of_range(index):
    def program(x):
        x[index]
        return x + 1

    for size in (0, 2):
        check(program, torch.ones(size, 3))


def test_history_of_a_view_that_torch_does_not_tell():
    """It was made while no gradients were recorded, and written to since."""

    def program(view, x, notes):
        x.mul_(2)
        try:
            notes.append(view.grad_fn is None)
        except RuntimeError as error:
            notes.append(str(error))
        return x + 1

    def run(call):
        x = torch.ones(4, requires_grad=True) * 2
        notes = []
        with torch.no_grad():
            view = x.view(2, 2)
        return call(view, x, notes), notes

    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        assert str(run(compiled)) == str(run(program))


FILLS = [
    torch.tensor(number).to(dtype)
    for number in (3, True, 2.5)
    for dtype in (
        torch.int8,
        torch.int64,
        torch.bool,
        torch.half,
        torch.float64,
    )
]


@pytest.mark.parametrize(
    "wanted", [{}, {"dtype": None}, {"dtype": torch.int16}]
)
@pytest.mark.parametrize("fill", FILLS, ids=str)
def test_full_of_a_number_in_a_tensor(fill, wanted):
    """torch.full() has an integer's dtype, where torch.compile has floats."""
    check(lambda x: torch.full((2,), x, **wanted), fill, fullgraph=True)


def test_full_of_a_complex_number_in_a_tensor():
    check(lambda x: torch.full((2,), x), torch.tensor(1 + 2j))
