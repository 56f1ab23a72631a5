# SPDX-License-Identifier: BSD-3-Clause
"""How fake tensors are compared with real ones, and access to the room."""

import importlib.util
import itertools

import torch
from torch.utils import _pytree as pytree

from support.paths import ROOT


def load_api():
    """The functions of the tensor room, from the package or a test build."""
    try:
        from magneto import _C

        return _C._tensor
    except (ImportError, AttributeError):
        pass
    builds = sorted(
        ROOT.glob("build*/lib/_magneto_tensor_test.*"),
        key=lambda path: path.stat().st_mtime,
    )
    if not builds:
        raise ImportError(
            "neither magneto._C nor _magneto_tensor_test is built"
        )
    spec = importlib.util.spec_from_file_location(
        "_magneto_tensor_test", builds[-1]
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api = load_api()


class fake_mode:
    """Within it, factory functions make fakes."""

    def __enter__(self):
        api.enter_fake_mode()

    def __exit__(self, *exc_info):
        api.exit_fake_mode()


def to_fake(tree, inputs=None):
    """Every tensor in a tree replaced by its fake; aliases stay aliases."""
    inputs = inputs or api.fake_inputs()
    return pytree.tree_map_only(
        torch.Tensor, lambda t: api.fake_of(inputs, t), tree
    )


def copy_tensors(tree):
    """Fresh tensors with the same layout, so that in-place calls do no harm."""

    def copy(t):
        if t.layout != torch.strided:
            return t.clone()
        size = t.untyped_storage().nbytes() // max(t.element_size(), 1)
        base = torch.empty(size, dtype=t.dtype, device=t.device)
        out = base.as_strided(t.size(), t.stride(), t.storage_offset())
        with torch.no_grad():
            if t.is_conj():
                out = out.conj()
            if t.is_neg():
                out = out._neg_view()
            out.copy_(t.detach()) if not overlaps(t) else None
        return out.detach().requires_grad_(t.requires_grad)

    return pytree.tree_map_only(torch.Tensor, copy, tree)


def overlaps(t):
    return any(s == 0 and n > 1 for s, n in zip(t.stride(), t.size()))


def metadata(t):
    """What must be equal between a fake and the real tensor."""
    if not isinstance(t, torch.Tensor):
        return type(t).__name__
    if t.layout != torch.strided:
        return {"layout": t.layout}
    return {
        "shape": tuple(t.shape),
        "stride": t.stride(),
        "dtype": t.dtype,
        "device": t.device,
        "offset": t.storage_offset(),
        "requires_grad": t.requires_grad,
        "is_leaf": t.is_leaf,
        "grad_fn": t.grad_fn is not None and type(t.grad_fn).__name__,
        "conj": t.is_conj(),
        "neg": t.is_neg(),
        "inference": t.is_inference(),
    }


def version(tensor, inputs):
    """How often it was written; of a fresh result nobody asks."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
        return None
    if tensor.is_inference() or not any(shares(tensor, t) for t in inputs):
        return None
    return tensor._version


def aliasing(outputs, inputs):
    """Which outputs are, or share memory with, which inputs and outputs."""
    tensors = [
        t
        for t in itertools.chain(outputs, inputs)
        if isinstance(t, torch.Tensor) and t.layout == torch.strided
    ]
    n = len(tensors)
    same = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if tensors[i] is tensors[j]
    ]
    shared = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if shares(tensors[i], tensors[j])
    ]
    views = [t._is_view() for t in tensors[: len(outputs)]]
    return {"identical": same, "shared": shared, "views": views}


def shares(a, b):
    return api.storage_id(a) == api.storage_id(b)


def tensors_in(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def differences(real_out, real_in, fake_out, fake_in):
    """Text of what differs, empty if nothing does."""
    real_leaves = pytree.tree_leaves(real_out)
    fake_leaves = pytree.tree_leaves(fake_out)
    if len(real_leaves) != len(fake_leaves):
        return f"{len(real_leaves)} outputs, fake has {len(fake_leaves)}"
    lines = []
    pairs = [
        *(
            (f"out{i}", r, f)
            for i, (r, f) in enumerate(zip(real_leaves, fake_leaves))
        ),
        *(
            (f"in{i}", r, f)
            for i, (r, f) in enumerate(
                zip(tensors_in(real_in), tensors_in(fake_in))
            )
        ),
    ]
    real_inputs, fake_inputs = tensors_in(real_in), tensors_in(fake_in)
    for name, real, fake in pairs:
        want, got = version(real, real_inputs), version(fake, fake_inputs)
        if want != got:
            lines.append(f"{name}.version: real {want}, fake {got}")
        want, got = metadata(real), metadata(fake)
        if want == got:
            continue
        if not isinstance(want, dict) or not isinstance(got, dict):
            lines.append(f"{name}: real {want}, fake {got}")
            continue
        lines += [
            f"{name}.{key}: real {want[key]}, fake {got[key]}"
            for key in want
            if want[key] != got.get(key)
        ]
    for leaf in tensors_in(fake_out):
        if leaf.layout == torch.strided and not api.is_fake(leaf):
            lines.append("an output is a real tensor")
    want = aliasing(tensors_in(real_out), tensors_in(real_in))
    got = aliasing(tensors_in(fake_out), tensors_in(fake_in))
    lines += [
        f"{key}: real {want[key]}, fake {got[key]}"
        for key in want
        if want[key] != got[key]
    ]
    return "; ".join(lines)


def random_states():
    """Of the CPU's generator and, where they are in use, of the GPUs'."""
    used = torch.cuda.is_initialized()
    others = torch.cuda.get_rng_state_all() if used else []
    return [torch.get_rng_state(), *others]


def run(fn, args, kwargs):
    """(result, None) or (None, exception)."""
    try:
        return fn(*args, **kwargs), None
    except Exception as error:
        return None, error


def compare(fn, args, kwargs=None):
    """Runs `fn` on real and on fake tensors.

    Returns "" if they agree or the fake run can't know, else what differs.
    """
    kwargs = kwargs or {}
    real_args, real_kwargs = copy_tensors((args, kwargs))
    fake_args, fake_kwargs = to_fake((real_args, real_kwargs))
    states = random_states()
    with fake_mode():
        fake, fake_error = run(fn, fake_args, fake_kwargs)
    if not all(map(torch.equal, states, random_states())):
        return "the fake run advanced the random number generator"
    if fake_error is not None and api.is_needs_data(fake_error):
        return ""
    real, real_error = run(fn, real_args, real_kwargs)
    if "not implemented for" in str(real_error):
        return ""  # fakes don't know which dtypes kernels exist for
    if real_error is not None or fake_error is not None:
        if type(real_error) is type(fake_error):
            return ""
        return f"errors: real {real_error!r}, fake {fake_error!r}"[:600]
    return differences(
        real, (real_args, real_kwargs), fake, (fake_args, fake_kwargs)
    )
