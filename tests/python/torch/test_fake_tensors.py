# SPDX-License-Identifier: BSD-3-Clause
"""Fake tensors: what they are made from, views, writes and their undoing."""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F

from support.fake_tensor_checks import (
    api,
    compare,
    fake_mode,
    metadata,
    shares,
    to_fake,
)
from support.releases import since, until


@pytest.fixture
def journal():
    """Records writes to fakes; gives a function that takes a checkpoint."""
    api.journal_start()
    yield api.journal_position
    api.journal_stop()


def fake(*size, **kwargs):
    return api.make_fake(torch.randn(*size, **kwargs))


# ---- Inputs ------------------------------------------------------------------


@pytest.mark.parametrize(
    "real",
    [
        torch.randn(2, 3),
        torch.randn(2, 3).t(),
        torch.randn(4, 6)[1:, ::2],
        torch.randn(()),
        torch.empty(0, 3),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(3).expand(4, 3),
        torch.ones(2, dtype=torch.bool),
        torch.randn(2, dtype=torch.complex64).conj(),
        torch.randn(2, dtype=torch.complex64).conj().imag,
        torch.randn(2, 3, requires_grad=True),
        torch.nn.Parameter(torch.randn(2)),
        torch.randn(2, requires_grad=True) * 2,
        torch.randn(2, requires_grad=True).detach(),
        torch.empty(3, device="meta"),
    ],
    ids=lambda t: f"{tuple(t.shape)}-{t.dtype}",
)
def test_fake_has_metadata_of_real(real):
    made = api.make_fake(real)
    want, got = metadata(real), metadata(made)
    want.pop("grad_fn"), got.pop("grad_fn")
    assert got == want
    assert type(made) is torch.Tensor
    assert api.is_fake(made)
    assert not api.is_fake(real)


def test_fake_of_inference_tensor_is_one():
    with torch.inference_mode():
        real = torch.randn(2, 3)
    made = api.make_fake(real)
    assert made.is_inference()
    with torch.inference_mode():
        assert (made + 1).is_inference()
    assert not (made + 1).is_inference()


def test_fake_of_fake_is_itself():
    made = fake(2)
    assert api.make_fake(made) is made


def test_same_real_tensor_gives_same_fake():
    inputs = api.fake_inputs()
    real = torch.randn(2)
    assert api.fake_of(inputs, real) is api.fake_of(inputs, real)


def test_aliasing_inputs_give_aliasing_fakes():
    inputs = api.fake_inputs()
    base = torch.randn(4, 4)
    a, b = api.fake_of(inputs, base[0]), api.fake_of(inputs, base)
    other = api.fake_of(inputs, torch.randn(4, 4))
    assert shares(a, b)
    assert not shares(a, other)
    assert a._base is b
    before = b._version
    a.add_(1)
    assert b._version == before + 1


def test_input_that_is_view_of_leaf_refuses_inplace_as_eager_does():
    leaf = torch.randn(4, requires_grad=True)
    assert compare(lambda v: v.add_(1), [leaf[:2]]) == ""
    view = api.make_fake(leaf[:2])
    with pytest.raises(RuntimeError, match="view of a leaf"):
        view.add_(1)


def test_version_of_input_is_kept():
    real = torch.randn(2)
    real.add_(1).mul_(2)
    assert api.make_fake(real)._version == real._version == 2


def empty_cuda(*size, device="cuda:0"):
    # torch.empty() would look for a driver first.
    empty = torch.ops.aten.empty.memory_format
    return empty(size, device=torch.device(device))


def test_input_on_cuda_keeps_its_device_keys():
    # Without a CUDA build there are no real ones; a fake can be made all the
    # same, since nothing is allocated.
    with fake_mode():
        made = empty_cuda(2, 3)
    assert made.device == torch.device("cuda", 0)
    assert made.is_cuda
    assert (made + made).device == made.device
    assert torch._C._dispatch_keys(made).has(torch._C.DispatchKey.AutogradCUDA)


def test_device_without_a_number_is_the_current_one():
    with fake_mode():
        made = empty_cuda(2, device="cuda")
        assert made.device == torch.device("cuda:0")
        assert (made + empty_cuda(2)).device == made.device


def test_tensors_on_two_devices_are_refused():
    with fake_mode():
        cuda = empty_cuda(2)
        cpu = torch.empty(2)
        with pytest.raises(RuntimeError, match="same device"):
            cuda + cpu
        assert (cuda + torch.tensor(1.0)).is_cuda


@pytest.mark.parametrize(
    "real",
    [
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse_csr(),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    ],
    ids=["coo", "csr", "nested"],
)
def test_what_has_no_strides_is_refused(real):
    with pytest.raises(RuntimeError, match="can't be traced"):
        api.make_fake(real)


def test_fake_inputs_keep_real_tensors_alive_and_let_them_go():
    inputs = api.fake_inputs()
    real = torch.randn(2)
    api.fake_of(inputs, real)
    watch = weakref.ref(real)
    del real
    gc.collect()
    assert watch() is not None
    del inputs
    gc.collect()
    assert watch() is None


# ---- The mode ----------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(3),
        lambda: torch.zeros(2, 3, dtype=torch.int32),
        lambda: torch.full((2,), 7),
        lambda: torch.arange(5),
        lambda: torch.arange(0, 1, 0.3),
        lambda: torch.arange(5, 0, -2, dtype=torch.float64),
        lambda: torch.linspace(0, 1, 5),
        lambda: torch.eye(3, 4),
        lambda: torch.rand(3, 4),
        lambda: torch.randn(3, 4, generator=torch.Generator()),
        lambda: torch.randint(0, 9, (4,)),
        lambda: torch.randperm(6),
        lambda: torch.tensor([1, 2]),
        lambda: torch.tensor([[1.0], [2.0]]),
        lambda: torch.tensor(True),
        lambda: torch.as_tensor([1, 2]),
        lambda: torch.empty(2, 3, 4, 5, memory_format=torch.channels_last),
        lambda: torch.empty_strided((2, 3), (1, 2)),
        lambda: torch.scalar_tensor(3),
        lambda: torch.hann_window(8),
        lambda: torch.tril_indices(3, 3),
        lambda: torch.Tensor([1.0, 2.0]),
        lambda: torch.FloatTensor(2, 3),
        lambda: torch.empty(3).normal_(),
        lambda: torch.nn.Linear(3, 4).weight,
    ],
)
def test_factory_under_the_mode_makes_what_eager_makes(make):
    real = make()
    state = torch.get_rng_state()
    with fake_mode():
        made = make()
    assert torch.equal(state, torch.get_rng_state())
    assert api.is_fake(made)
    assert metadata(made) == metadata(real)
    assert made._is_view() == real._is_view()
    assert type(made) is type(real)


def test_mode_ends():
    with fake_mode():
        with fake_mode():
            pass
        assert api.is_fake(torch.ones(2))
    assert not api.is_fake(torch.ones(2))
    assert torch.ones(2).sum().item() == 2


def test_default_dtype_and_device_are_followed():
    with fake_mode():
        torch.set_default_dtype(torch.float64)
        try:
            assert torch.ones(2).dtype is torch.float64
            assert torch.arange(2.0).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.device("meta"):
            assert torch.ones(2).device.type == "meta"


def test_random_operators_leave_the_generator_alone():
    x = fake(3, 4)
    state = torch.get_rng_state()
    F.dropout(x)
    x.bernoulli()
    x.uniform_()
    torch.multinomial(x.softmax(-1), 2)
    torch.rand_like(x)
    assert torch.equal(state, torch.get_rng_state())


# ---- Data --------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.item() if x.numel() == 1 else x.sum().item(),
        lambda x: bool(x.any()),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.unique(x),
        lambda x: torch.equal(x, x),
        lambda x: torch.allclose(x, x),
        lambda x: x.masked_select(x > 0),
        pytest.param(
            repr, marks=until(13, "it has a text without data since 2.14")
        ),
        lambda x: list(map(float, x.flatten())),
        lambda x: torch.tensor([x.sum()]),
        lambda x: x.to_sparse(),
    ],
)
def test_asking_for_data_says_so(ask):
    with pytest.raises(RuntimeError) as caught:
        ask(fake(2, 3))
    assert api.is_needs_data(caught.value)


@since(14, "asking for it raises before 2.14")
def test_text_without_data():
    assert repr(fake(2, 3)) == "tensor(..., size=(2, 3))"


def test_other_errors_are_not_about_data():
    with pytest.raises(RuntimeError) as caught:
        torch.mm(fake(2, 3), fake(2, 3))
    assert not api.is_needs_data(caught.value)
    assert not api.is_needs_data(ValueError("x"))


def test_real_tensor_is_never_written():
    real = torch.zeros(3)
    with pytest.raises(api.NeedsDataError, match="doesn't know"), fake_mode():
        real.add_(1)
    with pytest.raises(api.NeedsDataError):
        torch.add(fake(3), 1, out=real)
    assert real.tolist() == [0, 0, 0]
    assert real._version == 0


def test_real_tensor_may_be_read():
    real = torch.randn(3, requires_grad=True)
    out = fake(2, 3) + real
    assert api.is_fake(out)
    assert out.shape == (2, 3)
    assert out.requires_grad
    with fake_mode():
        assert api.is_fake(real[1:])
        assert not shares(real[1:], real)


# ---- Errors ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (torch.add, [(2, 3), (4, 3)]),
        (torch.mm, [(2, 3), (2, 3)]),
        (torch.mm, [(2, 3), (3,)]),
        (torch.bmm, [(2, 3, 4), (2, 3, 4)]),
        (torch.matmul, [(2, 3), (2, 3)]),
        (lambda x: x.view(4, 5), [(2, 3)]),
        (lambda x: x.t().view(6), [(2, 3)]),
        (lambda x: x.expand(4, 3), [(2, 3)]),
        (lambda x: x[5], [(2, 3)]),
        (lambda x: x.transpose(0, 3), [(2, 3)]),
        (lambda x: x.permute(0, 0), [(2, 3)]),
        (lambda x: x.split([1, 1], 1), [(2, 3)]),
        (lambda x: x.softmax(5), [(2, 3)]),
        (lambda x: x.sum(4), [(2, 3)]),
        (lambda x, y: torch.cat([x, y]), [(2, 3), (2, 4)]),
        (lambda x, y: torch.stack([x, y]), [(2, 3), (2, 4)]),
        (lambda x, y: x.add_(y), [(2, 3), (4, 2, 3)]),
        (lambda x: x.to(torch.int64).add_(1.5), [(2, 3)]),
        (lambda x: x.to(torch.int64).mean(), [(2, 3)]),
        (lambda x, w: F.linear(x, w), [(2, 3), (4, 5)]),
        (lambda x, w: F.conv2d(x, w), [(1, 3, 8, 8), (4, 2, 3, 3)]),
        (lambda x, w: F.conv2d(x, w), [(1, 3, 2, 2), (4, 3, 3, 3)]),
        (lambda x: F.layer_norm(x, (4,)), [(2, 3)]),
        (lambda x: F.embedding(x, x), [(2, 3)]),
        (lambda x: x.unflatten(1, (2, 2)), [(2, 3)]),
        (lambda x: x.index_select(0, x), [(2, 3)]),
        (lambda x: x.gather(0, x), [(2, 3)]),
        (lambda x: torch.zeros(-1), [(2,)]),
        (lambda x: x.squeeze(3), [(2, 1)]),
        (lambda x: x.copy_(torch.ones(7)), [(2, 3)]),
        (lambda x: x.masked_fill(x, 1), [(2, 3)]),
        (lambda x: x.masked_fill_(torch.ones(4, dtype=torch.bool), 1), [(2,)]),
        (lambda x: torch.where(x > 0, x, torch.ones(5)), [(2, 3)]),
        (lambda x: x.as_strided((9,), (1,)), [(2, 3)]),
        (lambda x: x.requires_grad_().add_(1), [(2, 3)]),
        (lambda x: x.diagonal(), [(2,)]),
        (lambda x: x.repeat(2), [(2, 3)]),
        (lambda x: x.topk(9), [(2, 3)]),
    ],
)
def test_error_is_of_eagers_kind(call, shapes):
    reals = [torch.randn(shape) for shape in shapes]
    with pytest.raises(Exception) as real:  # noqa: PT011
        call(*[t.clone() for t in reals])
    with pytest.raises(Exception) as made, fake_mode():  # noqa: PT011
        call(*to_fake(reals))
    assert type(made.value) is type(real.value)
    assert not api.is_needs_data(made.value)


# ---- Writes ------------------------------------------------------------------

VIEWS = [
    lambda x: x.view(3, 2),
    lambda x: x.t(),
    lambda x: x.transpose(0, 1),
    lambda x: x.permute(1, 0),
    lambda x: x[1],
    lambda x: x[:, 1:],
    lambda x: x[None],
    lambda x: x.unsqueeze(2).squeeze(2),
    lambda x: x.expand(4, 2, 3),
    lambda x: x.diagonal(),
    lambda x: x.unfold(1, 2, 1),
    lambda x: x.detach(),
    lambda x: x.view(torch.int32),
    lambda x: x.as_strided((2,), (1,), 1),
    lambda x: x.unbind()[1],
    lambda x: x.chunk(2)[1],
    lambda x: x.split(2, 1)[0],
    lambda x: torch.view_as_complex(x[:, :2].contiguous()),
    lambda x: x.flatten(),
    lambda x: x.reshape(6),
    lambda x: x.narrow(1, 0, 2),
    lambda x: x.movedim(0, 1),
    lambda x: x.swapaxes(0, 1),
    lambda x: x.data,
    lambda x: x.view_as(x),
    lambda x: x.alias() if hasattr(x, "alias") else torch.ops.aten.alias(x),
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("grad", [False, True])
def test_view_is_what_eager_makes(view, grad):
    def call(x):
        y = view(x * 1 if grad else x)
        return y, y._version, y._is_view()

    assert compare(call, [torch.randn(2, 3, requires_grad=grad)]) == ""


@pytest.mark.parametrize("view", VIEWS)
def test_write_through_view_counts_as_eager_counts(view):
    def call(x):
        y = view(x)
        first = (x._version, y._version)
        with torch.no_grad():
            y.zero_()
        return x, y, [first[0] * "v", first[1] * "v"]

    assert compare(call, [torch.randn(2, 3)]) == ""


def test_write_to_view_rewrites_history_of_base():
    def call(x):
        y = x * 2
        v = y[0]
        v.mul_(3)
        return y, v

    assert compare(call, [torch.randn(2, 3, requires_grad=True)]) == ""


MUTATIONS = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "unsqueeze_": lambda x: x.unsqueeze_(1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(),
    "squeeze_dim_": lambda x: x.unsqueeze_(0).squeeze_(0),
    "as_strided_": lambda x: x.as_strided_((3,), (1,), 1),
    "resize_smaller": lambda x: x.resize_(2),
    "resize_larger": lambda x: x.resize_(5, 5),
    "resize_same": lambda x: x.resize_(2, 3),
    "resize_as_": lambda x: x.resize_as_(torch.empty(4, 1)),
    "set_tensor": lambda x: x.set_(x.new_empty(4, 2).t()),
    "set_empty": lambda x: x.set_(),
    "set_storage": lambda x: x.set_(x.clone().untyped_storage()),
    "set_storage_view": lambda x: x.set_(
        x.untyped_storage(), 1, (2, 2), (2, 1)
    ),
    "data": lambda x: setattr(x, "data", torch.ones(7, 1)) or x,
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(torch.ones(3)),
    "fill_": lambda x: x.fill_(2),
    "out": lambda x: torch.mul(x, 2, out=x),
    "out_resized": lambda x: torch.add(torch.ones(5), 1, out=x.resize_(0)),
    "setitem": lambda x: x.__setitem__((slice(None), 0), 1.0) or x,
    "index_put_": lambda x: x.index_put_(
        (torch.tensor([0]),), torch.tensor(1.0)
    ),
}


@pytest.mark.parametrize("mutate", MUTATIONS.values(), ids=MUTATIONS)
def test_mutation_does_what_eager_does(mutate):
    assert compare(mutate, [torch.randn(2, 3)]) == ""


# What torch says of these where a gradient is required.
REFUSED = "cannot resize variables|don't support automatic differentiation"


@pytest.mark.parametrize("mutate", MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("grad", [False, True])
def test_rollback_undoes_mutation(journal, mutate, grad):
    x = fake(2, 3)
    if grad:
        x = api.make_fake(torch.randn(2, 3, requires_grad=True)) * 1
        refused = "out", "out_resized", "resize_smaller", "resize_larger"
        refused += "resize_same", "resize_as_"
        if mutate in map(MUTATIONS.get, refused):
            with fake_mode(), pytest.raises(RuntimeError, match=REFUSED):
                mutate(x)
            return
    view = x[0]
    before = metadata(x), metadata(view), api.storage_id(x)
    bytes_before = x.untyped_storage().nbytes()
    grad_fn = x.grad_fn
    here = journal()
    with fake_mode():
        mutate(x)
    api.journal_rollback(here)
    assert (metadata(x), metadata(view), api.storage_id(x)) == before
    assert x.untyped_storage().nbytes() == bytes_before
    assert x.grad_fn is grad_fn
    assert x.is_contiguous()
    assert x.numel() == 6


def test_rollback_of_write_to_view_restores_base(journal):
    x = api.make_fake(torch.randn(2, 3, requires_grad=True)) * 1
    view = x[0]
    before = metadata(x), metadata(view)
    grad_fn = x.grad_fn
    here = journal()
    view.mul_(2)
    assert x.grad_fn is not grad_fn
    api.journal_rollback(here)
    assert x.grad_fn is grad_fn
    assert (metadata(x), metadata(view)) == before


def test_rollback_stops_at_the_checkpoint(journal):
    x = fake(2, 3)
    x.t_()
    here = journal()
    x.unsqueeze_(0)
    x.add_(1)
    api.journal_rollback(here)
    assert x.shape == (3, 2)
    assert x._version == 1
    api.journal_rollback(0)
    assert x.shape == (2, 3)
    assert x._version == 0


def test_rollback_of_requires_grad_and_detach(journal):
    x = fake(2, 3)
    here = journal()
    api.set_requires_grad(x, True)
    assert x.requires_grad
    api.journal_rollback(here)
    assert not x.requires_grad
    y = api.make_fake(torch.randn(2, requires_grad=True)) * 2
    here = journal()
    api.record_metadata(y)
    y.detach_()
    assert y.grad_fn is None
    api.journal_rollback(here)
    assert y.grad_fn is not None
    assert y.requires_grad


def test_set_requires_grad_refuses_integers(journal):
    with pytest.raises(RuntimeError, match="floating point"):
        api.set_requires_grad(api.make_fake(torch.ones(2, dtype=int)), True)


def test_nothing_is_recorded_without_a_journal():
    x = fake(2, 3)
    x.t_()
    assert api.journal_position() is None


def test_guards_see_strides_of_first_sight():
    # x = x.t_(); y = y.t_(); return x + y
    real = torch.randn(2, 3), torch.randn(3, 2).t()
    snapshots = [api.take_snapshot(t) for t in real]
    x, y = to_fake(real)
    x.t_()
    y.t_()
    assert (x + y).stride() == (1, 3)
    assert all(map(api.matches, real, snapshots))


# ---- Inference and autograd --------------------------------------------------


def test_composite_operators_decompose_in_inference_mode():
    api.reset_fallback_counts()
    with torch.inference_mode():
        x = fake(2, 3, 4)
        assert F.linear(x, fake(5, 4), fake(5)).shape == (2, 3, 5)
        assert torch.matmul(x, x.mT).shape == (2, 3, 3)
        q = x.unsqueeze(1)
        assert F.scaled_dot_product_attention(q, q, q).shape == (2, 1, 3, 4)
    assert api.fallback_counts() == {}


def test_checkpointed_module_gives_eagers_history():
    def call(x, w):
        y = torch.utils.checkpoint.checkpoint(
            lambda a: F.relu(a @ w), x, use_reentrant=False
        )
        return y, y.sum()

    x, w = torch.randn(2, 3), torch.randn(3, 3, requires_grad=True)
    assert compare(call, [x, w]) == ""


def test_backward_graph_is_made_of_real_nodes():
    w = api.make_fake(torch.randn(3, 4, requires_grad=True))
    y = (fake(2, 3) @ w).relu().sum()
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    assert names[:2] == ["SumBackward0", "ReluBackward0"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_casts_as_eager_does(dtype):
    def call(x, w):
        with torch.autocast("cpu", dtype=dtype):
            return x @ w, F.softmax(x @ w, -1), x + 1

    assert compare(call, [torch.randn(2, 3), torch.randn(3, 4)]) == ""


def test_operator_without_rule_is_counted():
    api.reset_fallback_counts()
    x = fake(4, 4)
    assert torch.geqrf(x).tau.shape == (4,)
    assert api.fallback_counts() == {"aten::geqrf": 1}
    api.reset_fallback_counts()
    assert api.fallback_counts() == {}
