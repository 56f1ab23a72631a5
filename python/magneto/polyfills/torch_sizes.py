# SPDX-License-Identifier: BSD-3-Clause
"""What some of torch's functions yield where sizes are symbols.

PyTorch computes these in C++ over plain numbers, before any operator whose
sizes may be symbols, so that a program with one of them would be compiled for
each size anew. The functions here give what they give: the same shape,
strides, dtype and device, and a gradient where they have one. They run on fake
tensors in the place of the function that the graph records. Where one raises,
PyTorch's own runs instead, which has the words for what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._refs
import torch.nn.functional as F
from torch import Tensor

from magneto.polyfills import torch_shapes


class NotHandled(Exception):
    """PyTorch's own function is to say what comes out."""


# -- images of other sizes ----------------------------------------------------


def _scaled(size: int, factor: float) -> int:
    """`int(size * factor)`, in integers where that is the same."""
    numerator, denominator = float(factor).as_integer_ratio()
    if numerator > 0 and denominator <= 64 and numerator <= 1 << 20:
        return size * numerator // denominator
    if factor <= 0:
        raise NotHandled
    return math.floor(torch.sym_float(size) * factor)


def _size(number: Any) -> Any:
    """One of the sizes that a program asks for: as it is, or in a tensor."""
    if isinstance(number, Tensor):
        if number.numel() != 1 or number.dtype.is_floating_point:
            raise NotHandled
        number = number.item()
    if not isinstance(number, (int, torch.SymInt)):
        raise NotHandled
    return number


def _resized(kernel: Any, takes_align_corners: bool) -> Callable[..., Tensor]:
    """`torch._C._nn.upsample_*` by way of the operator below it."""

    def resize(
        input: Tensor,
        output_size: Sequence[int] | None,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        names = ("align_corners", "scale_factors")[not takes_align_corners :]
        named |= dict(zip(names, rest, strict=False))
        factors = named.get("scale_factors")
        sizes = input.shape[2:]
        if (output_size is None) == (factors is None):
            raise NotHandled
        if output_size is None:
            output_size = [
                _scaled(n, f) for n, f in zip(sizes, factors, strict=True)
            ]
        corners = [named["align_corners"]] if takes_align_corners else []
        return kernel(input, output_size, *corners)

    return resize


_aten = torch.ops.aten

_RESIZED = {
    torch._C._nn.upsample_nearest1d: (_aten.upsample_nearest1d, False),
    torch._C._nn.upsample_nearest2d: (_aten.upsample_nearest2d, False),
    torch._C._nn.upsample_nearest3d: (_aten.upsample_nearest3d, False),
    torch._C._nn._upsample_nearest_exact1d: (
        _aten._upsample_nearest_exact1d,
        False,
    ),
    torch._C._nn._upsample_nearest_exact2d: (
        _aten._upsample_nearest_exact2d,
        False,
    ),
    torch._C._nn._upsample_nearest_exact3d: (
        _aten._upsample_nearest_exact3d,
        False,
    ),
    torch._C._nn.upsample_linear1d: (_aten.upsample_linear1d, True),
    torch._C._nn.upsample_bilinear2d: (_aten.upsample_bilinear2d, True),
    torch._C._nn.upsample_trilinear3d: (_aten.upsample_trilinear3d, True),
    torch._C._nn.upsample_bicubic2d: (_aten.upsample_bicubic2d, True),
    torch._C._nn._upsample_bilinear2d_aa: (_aten._upsample_bilinear2d_aa, True),
    torch._C._nn._upsample_bicubic2d_aa: (_aten._upsample_bicubic2d_aa, True),
}

_INTERPOLATED = {
    (3, "nearest"): torch._C._nn.upsample_nearest1d,
    (4, "nearest"): torch._C._nn.upsample_nearest2d,
    (5, "nearest"): torch._C._nn.upsample_nearest3d,
    (3, "nearest-exact"): torch._C._nn._upsample_nearest_exact1d,
    (4, "nearest-exact"): torch._C._nn._upsample_nearest_exact2d,
    (5, "nearest-exact"): torch._C._nn._upsample_nearest_exact3d,
    (3, "linear"): torch._C._nn.upsample_linear1d,
    (4, "bilinear"): torch._C._nn.upsample_bilinear2d,
    (5, "trilinear"): torch._C._nn.upsample_trilinear3d,
    (4, "bicubic"): torch._C._nn.upsample_bicubic2d,
}

_SMOOTHED = {
    "bilinear": torch._C._nn._upsample_bilinear2d_aa,
    "bicubic": torch._C._nn._upsample_bicubic2d_aa,
}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """`torch.nn.functional.interpolate`, but for what it refuses."""
    count = input.dim() - 2
    is_nearest = mode in ("nearest", "nearest-exact")
    if (size is None) == (scale_factor is None) or (
        is_nearest and (align_corners is not None or antialias)
    ):
        raise NotHandled
    if size is not None and recompute_scale_factor:
        raise NotHandled
    given = scale_factor if size is None else size
    if not isinstance(given, (list, tuple)):
        given = [given] * count
    if len(given) != count or not input.is_cpu:
        raise NotHandled
    if size is None:
        given = [
            _scaled(n, f) for n, f in zip(input.shape[2:], given, strict=True)
        ]
    else:
        given = [_size(n) for n in given]
    function = (
        _SMOOTHED[mode] if antialias else _INTERPOLATED[input.dim(), mode]
    )
    corners = [] if is_nearest else [bool(align_corners)]
    return FUNCTIONS[function](input, given, *corners)


# -- signals ------------------------------------------------------------------


def take_along_dim(input: Tensor, indices: Tensor, dim: Any = None) -> Tensor:
    """`torch.take_along_dim`."""
    if dim is None:
        return input.view(-1).gather(0, indices.view(-1))
    dim = range(input.dim())[dim]
    if indices.dim() != input.dim():
        raise NotHandled
    sizes = torch.broadcast_shapes(
        input.shape[:dim] + input.shape[dim + 1 :],
        indices.shape[:dim] + indices.shape[dim + 1 :],
    )

    def expanded(t: Tensor) -> Tensor:
        return t.expand(*sizes[:dim], t.shape[dim], *sizes[dim:])

    return expanded(input).gather(dim, expanded(indices))


def kron(input: Tensor, other: Tensor) -> Tensor:
    """`torch.kron`."""
    rank = max(input.dim(), other.dim())
    first = (1,) * (rank - input.dim()) + input.shape
    second = (1,) * (rank - other.dim()) + other.shape
    left = input.reshape([n for size in first for n in (size, 1)])
    right = other.reshape([n for size in second for n in (1, size)])
    sizes = [a * b for a, b in zip(first, second, strict=True)]
    return (left * right).reshape(sizes)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """`torch.vander`."""
    if x.dim() != 1 or (N is not None and N < 0):
        raise NotHandled
    columns = x.shape[0] if N is None else N
    is_integral = not (x.dtype.is_floating_point or x.dtype.is_complex)
    dtype = torch.int64 if is_integral else x.dtype
    return x.to(dtype)[:, None] * x.new_ones((1, columns), dtype=dtype)


# -- sizes out of tensors -----------------------------------------------------


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, **named: Any
) -> Tensor:
    """`torch.linspace` between numbers."""
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        raise NotHandled
    if named.pop("out", None) is not None:
        raise NotHandled
    if dtype is None and (
        isinstance(start, complex) or isinstance(end, complex)
    ):
        raise NotHandled
    dtype = torch.get_default_dtype() if dtype is None else dtype
    # Numbers that the type doesn't hold are refused.
    torch.full((), start, dtype=dtype, **named)
    return torch.full((steps,), end, dtype=dtype, **named)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, **named: Any
) -> Tensor:
    """`torch.logspace` between numbers."""
    if steps == 1:  # a power is filled in
        raise NotHandled
    return linspace(start, end, steps, **named)


def arange(
    *args: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: torch.dtype | None = None,
    **named: Any,
) -> Tensor:
    """`torch.arange` between floats, for types that are computed in doubles."""
    if len(args) == 1:
        end = args[0]
    elif len(args) == 2:
        start, end = args
    elif args:
        start, end, step = args
    if not any(isinstance(each, torch.SymFloat) for each in (start, end, step)):
        raise NotHandled
    dtype = torch.get_default_dtype() if dtype is None else dtype
    plain_step = isinstance(step, (int, float)) and step != 0
    if not plain_step or dtype not in (torch.float32, torch.float64):
        raise NotHandled
    if named.pop("out", None) is not None:
        raise NotHandled
    steps = (end - start) / step
    if not steps >= 0:
        raise NotHandled
    return torch.empty(math.ceil(steps), dtype=dtype, **named)


def combinations(
    input: Tensor, r: int = 2, with_replacement: bool = False
) -> Tensor:
    """`torch.combinations` of a vector."""
    if input.dim() != 1 or not 1 <= r <= 4:
        raise NotHandled
    count = 1
    for i in range(r):
        count = count * (input.shape[0] + (i if with_replacement else -i))
    rows = input.new_empty((count // math.factorial(r), r))
    return _connected(rows, [input])


def cov(input: Tensor, *, correction: int = 1, **weights: Any) -> Tensor:
    """`torch.cov` without weights."""
    if input.dim() > 2 or weights:
        raise NotHandled
    return torch_shapes.cov(input)


def corrcoef(input: Tensor) -> Tensor:
    """`torch.corrcoef`."""
    if input.dim() > 2:
        raise NotHandled
    return torch_shapes.corrcoef(input)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, *_: Any, **__: Any) -> Tensor:
    """`torch.cdist`."""
    if x1.dtype != x2.dtype or not x1.is_floating_point() or not p >= 0:
        raise NotHandled
    if x1.dim() < 2 or x2.dim() < 2 or x1.shape[-1] != x2.shape[-1]:
        raise NotHandled
    batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    made = x1.new_empty((*batch, x1.shape[-2], x2.shape[-2]))
    return _connected(made, [x1, x2])


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`torch.batch_norm` of sizes out of tensors, which aren't asked whether
    they are zero: then the same comes out.
    """
    if not any(map(_is_open, input.shape)) or not input.is_cpu:
        raise NotHandled
    return torch.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def functional_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`torch.nn.functional.batch_norm`, which refuses one value a channel."""
    return batch_norm(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        training,
        momentum,
        eps,
        False,
    )


def _is_open(size: Any) -> bool:
    """Whether nothing tells if a size is zero."""
    return isinstance(size, torch.SymInt) and not size.node.has_hint()


# -- recurrent layers ---------------------------------------------------------


def _recurrent(
    input: Tensor,
    state: Tensor,
    has_biases: bool,
    params: Sequence[Tensor],
    layers: int,
    bidirectional: bool,
    batch_first: bool,
    hidden: int,
) -> tuple[Tensor, Tensor]:
    if input.dim() != 3:
        raise NotHandled
    directions = 2 if bidirectional else 1
    per_cell = len(params) // (layers * directions)
    if len(params) != per_cell * layers * directions:
        raise NotHandled
    steps, batch = input.shape[:2]
    if batch_first:
        steps, batch = batch, steps
    width = input.shape[2]
    gates = params[0].shape
    if (
        gates[1] != width
        or state.dim() != 3
        or state.shape[0] != layers * directions
        or state.shape[1] != batch
    ):
        raise NotHandled
    output = input.new_empty((steps, batch, directions * hidden))
    if batch_first:
        output = output.transpose(0, 1)
    last = input.new_empty((layers * directions, batch, hidden))
    return output, last


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`torch.lstm` of a padded batch."""
    input, hx, params, has_biases, layers, _, _, both_ways, batch_first = args
    if not isinstance(input, Tensor) or isinstance(hx, Tensor):
        raise NotHandled
    hidden, cells = hx[0].shape[2], hx[1].shape[2]
    output, last = _recurrent(
        input,
        hx[0],
        has_biases,
        params,
        layers,
        both_ways,
        batch_first,
        hidden,
    )
    cell = last.new_empty((*last.shape[:2], cells))
    sources = [input, *hx, *params]
    return (
        _connected(output, sources),
        _connected(last, sources),
        _connected(cell, sources),
    )


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """`torch.gru` of a padded batch; also the plain recurrent layers."""
    input, hx, params, has_biases, layers, _, _, both_ways, batch_first = args
    if not isinstance(hx, Tensor) or not isinstance(params, (list, tuple)):
        raise NotHandled
    output, last = _recurrent(
        input,
        hx,
        has_biases,
        params,
        layers,
        both_ways,
        batch_first,
        hx.shape[2],
    )
    sources = [input, hx, *params]
    return _connected(output, sources), _connected(last, sources)


def _connected(made: Tensor, sources: Sequence[Tensor]) -> Tensor:
    """`made`, differentiable if one of the sources is."""
    for source in sources:
        if source.requires_grad:
            return made + source.sum()
    return made


def grid_sampler(
    input: Tensor, grid: Tensor, mode: int, padding: int, align: bool
) -> Tensor:
    """`torch.grid_sampler` by way of the operators below it."""
    kernels = {4: _aten.grid_sampler_2d, 5: _aten.grid_sampler_3d}
    if input.dim() not in kernels:
        raise NotHandled
    return kernels[input.dim()](input, grid, mode, padding, align)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        function: _resized(kernel, takes_align_corners)
        for function, (kernel, takes_align_corners) in _RESIZED.items()
    },
    F.interpolate: interpolate,
    torch.take_along_dim: take_along_dim,
    torch.kron: kron,
    torch.vander: vander,
    torch.stft: torch._refs.stft,
    torch.istft: torch._refs.istft,
    torch.arange: arange,
    torch.combinations: combinations,
    torch.cov: cov,
    torch.corrcoef: corrcoef,
    torch.linspace: linspace,
    torch.logspace: logspace,
    torch.cdist: cdist,
    torch.grid_sampler: grid_sampler,
    torch.batch_norm: batch_norm,
    F.batch_norm: functional_batch_norm,
    torch.lstm: lstm,
    torch.gru: gru,
    torch.rnn_tanh: gru,
    torch.rnn_relu: gru,
}
"""By torch's function."""

METHODS: dict[str, Callable[..., Any]] = {
    "take_along_dim": take_along_dim,
    "kron": kron,
    "cov": cov,
    "corrcoef": corrcoef,
    "stft": torch._refs.stft,
    "istft": torch._refs.istft,
}
"""By the name of the tensor's method."""
