# SPDX-License-Identifier: BSD-3-Clause
"""Programs that use a GPU, eager against compiled."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

import magneto
from magneto.testing import check, check_calls

pytestmark = pytest.mark.cuda


def pointwise(x):
    return (x * 2 + 1).relu().sum(0), x.device, x.is_cuda, x.get_device()


def makes_tensors_where_its_input_is(x):
    y = torch.zeros(3, device=x.device) + torch.ones_like(x[0, :3])
    return y, x.new_full((2,), 3), torch.arange(4, device="cuda") + x[0, :4]


def moves(x):
    there = x.cpu() + 1
    back = there.cuda() * 2
    return there, back, there.to(x.device, non_blocking=True), x.to("cuda:0")


def number_of_the_cpu_with_a_tensor(x):
    return x + torch.tensor(2.0), x * torch.ones((), dtype=torch.float64)


def two_devices(x):
    return x + torch.ones(4, 8)


def notes_two_devices(x):
    try:
        return x @ torch.ones(8, 2)
    except RuntimeError as error:
        return type(error).__name__, x + 1


def numbers_of_data(x):
    if x.sum() > 0:
        return x + x.argmax().item()
    return x - x.max().item()


def by_a_mask(x):
    return x[x > 0], torch.nonzero(x > 0), x[:, torch.tensor([1, 0])]


def writes(x):
    x[1:3].mul_(2)
    x[:, 0] = torch.arange(4, device="cuda")
    return x.add_(1).t()


def draws(x):
    y = F.dropout(x, 0.5) + torch.rand_like(x)
    return y, torch.randn(3, device="cuda"), torch.rand(2)


def draws_of_a_generator(x):
    generator = torch.Generator("cuda").manual_seed(7)
    return x + torch.rand(8, generator=generator, device="cuda")


def draws_apart(x):
    with torch.random.fork_rng([0]):
        y = torch.rand_like(x)
    return y, torch.rand_like(x)


def seeds(x):
    torch.cuda.manual_seed(3)
    return torch.rand_like(x)


def draws_around_a_break(x):
    y = torch.rand_like(x)
    magneto.graph_break()
    return y + torch.rand_like(x)


def waits(x):
    y = x + 1
    torch.cuda.synchronize()
    return y * 2


def on_a_stream(x):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 2
    torch.cuda.current_stream().wait_stream(stream)
    return y + 1


def times_itself(x):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    y = x @ x.t()
    end.record()
    end.synchronize()
    return y, start.elapsed_time(end) >= 0


def asks_of_the_device(x):
    return (
        x + 1,
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.cuda.current_device(),
        torch.cuda.get_device_capability(),
        torch.cuda.get_device_name(),
        torch.cuda.is_bf16_supported(),
        torch.cuda.get_device_properties(0).multi_processor_count,
    )


def draws_in_front_of_a_check_that_fails(x):
    y = x + torch.rand_like(x)
    return y[(x.sum() * 0 + 9).long()]


def with_a_current_device(x):
    with torch.cuda.device(0):
        y = torch.ones(3, device="cuda")
    return x[0, :3] + y


def with_a_device_for_new_tensors(x):
    with torch.device("cuda"):
        y = torch.ones(8) + torch.arange(8)
    return x + y, torch.ones(1)


def memory_in_use(x):
    return x + 1, torch.cuda.memory_allocated() > 0


def pinned(x):
    return x.cpu().pin_memory().is_pinned(), x + 1


def as_numbers(x):
    return x.tolist(), x.cpu().numpy().sum().item(), x * 2


def printed(x):
    print(x[0, :2] > 9, x.device)
    return f"{x[0, 0]:.2f}", x + 1


def in_half(x):
    with torch.autocast("cuda", torch.float16):
        y = x @ x.t()
        z = y.float().softmax(-1)
    return y, z, x @ x.t()


def whether_in_half(x):
    with torch.autocast("cuda", torch.bfloat16):
        y = x @ x.t()
        inside = torch.is_autocast_enabled("cuda")
        kind = torch.get_autocast_dtype("cuda")
        magneto.graph_break()
        z = y @ y
    return z, inside, kind, torch.is_autocast_enabled("cuda")


def allows_tf32(x):
    return x + torch.backends.cuda.matmul.allow_tf32, x @ x.t()


def sorts(x):
    return (
        torch.sort(x, -1),
        x.topk(3),
        x.unique(),
        torch.bincount(x[0].long().abs()),
    )


def typed(x):
    return isinstance(x, torch.cuda.FloatTensor), x.type(), x.cuda() is x


PROGRAMS = [
    pointwise,
    makes_tensors_where_its_input_is,
    moves,
    number_of_the_cpu_with_a_tensor,
    two_devices,
    notes_two_devices,
    numbers_of_data,
    by_a_mask,
    writes,
    draws,
    draws_of_a_generator,
    draws_apart,
    seeds,
    draws_around_a_break,
    waits,
    on_a_stream,
    times_itself,
    asks_of_the_device,
    draws_in_front_of_a_check_that_fails,
    with_a_current_device,
    with_a_device_for_new_tensors,
    memory_in_use,
    pinned,
    as_numbers,
    printed,
    in_half,
    whether_in_half,
    allows_tf32,
    sorts,
    typed,
]


def name_of(program):
    return program.__name__


def data(device="cuda"):
    return torch.linspace(-2, 2, 32).reshape(4, 8).to(device)


@pytest.mark.parametrize("dynamic", [None, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program(program, dynamic):
    check(program, data(), calls=3, dynamic=dynamic)


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program_that_is_called_on_a_cpu_and_on_a_gpu(program):
    calls = [((data(device),), {}) for device in ("cpu", "cuda", "cpu", "cuda")]
    check_calls(program, calls)


ONE_GRAPH = [
    pointwise,
    makes_tensors_where_its_input_is,
    moves,
    number_of_the_cpu_with_a_tensor,
    writes,
    draws,
    with_a_device_for_new_tensors,
    in_half,
]


@pytest.mark.parametrize("program", ONE_GRAPH, ids=name_of)
def test_program_is_one_graph(program):
    check(program, data(), graphs=1, fullgraph=True, recompiles=0)


def attention(x, **options):
    q = x.reshape(1, 2, 4, 32)
    return F.scaled_dot_product_attention(q, q, q, **options)


KERNELS = [
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
]


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_attention(kernel, dtype, causal):
    def program(x):
        with sdpa_kernel(kernel):
            return attention(x, is_causal=causal)

    x = torch.randn(256, device="cuda", dtype=dtype, requires_grad=True)
    check(program, x, backward=True, rtol=1e-2, atol=1e-2)


LAYERS = {
    "linear": (lambda: nn.Linear(8, 3), (4, 8)),
    "convolution": (lambda: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 8, 8)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(3, 4, 3), (2, 3, 8, 8)),
    "batch norm": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4)),
    "layer norm": (lambda: nn.LayerNorm(8), (4, 8)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 8)),
    "dropout": (lambda: nn.Dropout(), (4, 8)),
    "LSTM": (lambda: nn.LSTM(8, 5, 2, dropout=0.5), (6, 2, 8)),
    "GRU": (lambda: nn.GRU(8, 5, bidirectional=True), (6, 2, 8)),
    "RNN": (lambda: nn.RNN(8, 5), (6, 2, 8)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        (2, 5, 8),
    ),
    "attention": (lambda: Attends(), (2, 5, 8)),
    "pooling": (lambda: nn.MaxPool2d(2, return_indices=True), (2, 3, 8, 8)),
}  # fmt: skip


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, training):
    make, shape = LAYERS[name]
    layer = make().cuda().train(training)
    x = torch.randn(shape, device="cuda", requires_grad=True)
    close = dict(rtol=1e-4, atol=1e-5)
    check(layer, x, backward=True, **close)
    if len(shape) == 4:
        last = x.detach().contiguous(memory_format=torch.channels_last)
        check(layer.to(memory_format=torch.channels_last), last, **close)
    with torch.autocast("cuda", torch.bfloat16):
        check(layer, x, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("way", ["foreach", "fused", "capturable", ""])
def test_training_with_an_optimizer(kind, way):
    fused = kind in ("SGD", "Adam", "AdamW")
    capturable = kind in ("Adam", "AdamW", "RMSprop")
    if (way == "fused" and not fused) or (
        way == "capturable" and not capturable
    ):
        return
    options = {way: True} if way else {}

    def train(step_with):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)
        ).cuda()
        optimizer = getattr(torch.optim, kind)(
            model.parameters(), lr=0.1, **options
        )
        x = data()

        def step():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = step_with(step)
        losses = [step() for _ in range(4)]
        return losses, [p.detach() for p in model.parameters()]

    expected = train(lambda step: step)
    actual = train(lambda step: magneto.compile(step, backend="eager"))
    # While it is compiled, an optimizer counts its steps in float32.
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_training_with_scaled_gradients():
    def train(step_with):
        torch.manual_seed(0)
        model = nn.Linear(8, 1).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
        x = data()

        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = model(x).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        step = step_with(step)
        losses = [step() for _ in range(4)]
        return losses, model.weight.detach(), scaler.get_scale()

    expected = train(lambda step: step)
    actual = train(lambda step: magneto.compile(step, backend="eager"))
    torch.testing.assert_close(actual, expected)


def test_checkpoint():
    layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout()).cuda()

    def program(x):
        return checkpoint(layer, x, use_reentrant=False)

    x = data().requires_grad_()
    check(program, x, backward=True, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", ["aot_eager", "cudagraphs"])
def test_backend(backend):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).cuda()
    compiled = magneto.compile(model, backend=backend)
    x = data()
    for scale in (1, 2, 3, 4):
        torch.testing.assert_close(compiled(x * scale), model(x * scale))


def test_parameters_that_move_to_a_gpu():
    model = nn.Linear(8, 3)
    compiled = magneto.compile(model, backend="eager")
    for device in ("cpu", "cuda", "cpu"):
        model.to(device)
        x = data(device)
        torch.testing.assert_close(compiled(x), model(x))


def test_default_device():
    def program(x):
        return torch.ones(3) + 1, torch.tensor([1.0, 2.0]) * 2, x + 1

    torch.set_default_device("cuda")
    try:
        check(program, data())
    finally:
        torch.set_default_device(None)
    check(program, data())


def test_current_device_is_guarded():
    def program(x):
        return x + torch.ones(8, device="cuda")

    text = str(magneto.explain(program)(data()))
    assert "index of the current device is 0" in text


def test_device_that_a_tensor_has_is_guarded():
    compiled = magneto.compile(pointwise, backend="eager")
    for device in ("cuda", "cpu", "cuda"):
        total, where, on_gpu, number = compiled(data(device))
        assert total.device == where == data(device).device
        assert on_gpu == (device == "cuda")
        assert number == (0 if on_gpu else -1)
