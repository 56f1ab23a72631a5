# SPDX-License-Identifier: BSD-3-Clause
"""Rows of shapes/test_dynamic_operators.py: reductions, scans, arithmetic,
products.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from support.operator_tables import Row

REDUCTIONS: dict[str, Row] = {
    "sum": (lambda t: (t.sum(), t.sum(0), t.sum(1), t.sum((0, 1))), "n m"),
    "sum-keepdim": (lambda t: t.sum(-1, keepdim=True), "n m"),
    "sum-dtype": (lambda t: t.sum(0, dtype=torch.float64), "n m"),
    "mean": (lambda t: (t.mean(), t.mean(0), t.mean((-1, -2))), "n m"),
    "prod": (lambda t: (t.prod(), t.prod(1)), "n m"),
    "var": (lambda t: (t.var(), t.var(0), t.std(1), t.std((0, 1))), "n m"),
    "var_mean": (lambda t: torch.var_mean(t, 0), "n m"),
    "std_mean": (lambda t: torch.std_mean(t, 1, keepdim=True), "n m"),
    "max": (lambda t: (t.max(), t.min()), "n m"),
    "max-dim": (lambda t: (t.max(0), t.max(1, keepdim=True)), "n m"),
    "min-dim": (lambda t: (t.min(0), t.min(-1, keepdim=True)), "n m"),
    "amax": (lambda t: (t.amax(0), t.amin((0, 1)), t.amax()), "n m"),
    "argmax": (lambda t: (t.argmax(), t.argmax(0), t.argmin(1)), "n m"),
    "argmin-keepdim": (lambda t: t.argmin(0, keepdim=True), "n m"),
    "aminmax": (lambda t: (t.aminmax(), t.aminmax(dim=1)), "n m"),
    "all": (lambda t: (t.all(), t.all(0), t.all(1, True)), "n m:bool"),
    "any": (lambda t: (t.any(), t.any(0), t.any(1, True)), "n m:bool"),
    "all-dims": (lambda t: torch.all(t, (0, 2)), "n 2 m:bool"),
    "any-dims": (lambda t: torch.any(t, (1, 2), True), "n 2 m:bool"),
    "logsumexp": (lambda t: (t.logsumexp(0), t.logsumexp((0, 1))), "n m"),
    "softmax": (lambda t: (t.softmax(0), t.log_softmax(1)), "n m"),
    "softmin": (lambda t: F.softmin(t, 1), "n m"),
    "norm": (lambda t: (t.norm(), t.norm(dim=0), t.norm(1, dim=1)), "n m"),
    "vector_norm": (
        lambda t: (
            torch.linalg.vector_norm(t),
            torch.linalg.vector_norm(t, 1, 0),
            torch.linalg.vector_norm(t, float("inf"), 1, True),
        ),
        "n m",
    ),
    "matrix_norm": (lambda t: torch.linalg.matrix_norm(t), "2 n m"),
    "normalize": (lambda t: F.normalize(t, dim=1), "n m"),
    "cosine_similarity": (
        lambda t, u: F.cosine_similarity(t, u, dim=1),
        "n m",
        "n m",
    ),
    "pairwise_distance": (
        lambda t, u: F.pairwise_distance(t, u),
        "n m",
        "n m",
    ),
    "dist": (lambda t, u: torch.dist(t, u), "n m", "n m"),
    "cdist": (lambda t, u: torch.cdist(t, u), "n 3", "m 3"),
    "pdist": (lambda t: F.pdist(t), "n 3"),
    "nansum": (lambda t: (t.nansum(), t.nanmean(0)), "n m"),
    "count_nonzero": (lambda t: (t.count_nonzero(), (t > 0.5).sum(0)), "n m"),
    "median": (lambda t: (t.median(), t.median(0)), "n m"),
    "nanmedian-dim": (lambda t: t.nanmedian(1, True), "n m"),
    "mode": (lambda t: t.mode(0), "n m:int"),
    "kthvalue": (lambda t: t.kthvalue(2, 0), "n m"),
    "trace": (lambda t: t.trace(), "n m"),
    "histc": (lambda t: torch.histc(t, 5, 0, 1), "n m"),
}

SCANS: dict[str, Row] = {
    "cumsum": (lambda t: (t.cumsum(0), t.cumsum(1)), "n m"),
    "cumsum-int": (lambda t: t.cumsum(0), "n m:int"),
    "cumsum-dtype": (lambda t: t.cumsum(0, dtype=torch.float64), "n m"),
    "cumsum_": (lambda t: t.clone().cumsum_(0), "n m"),
    "cumprod": (lambda t: (t.cumprod(0), t.cumprod(1)), "n m"),
    "cummax": (lambda t: (t.cummax(0), t.cummin(1)), "n m"),
    "logcumsumexp": (lambda t: t.logcumsumexp(0), "n m"),
    "cumulative_trapezoid": (
        lambda t: torch.cumulative_trapezoid(t, dim=0),
        "n m",
    ),
    "trapezoid": (lambda t: torch.trapezoid(t, dim=1), "n m"),
    "diff": (lambda t: (t.diff(), t.diff(dim=0)), "n m"),
    "topk": (lambda t: (t.topk(3, 0), t.topk(2)), "n m"),
    "topk-size": (lambda t: t.topk(t.shape[1] // 2), "n m"),
    "sort": (lambda t: (t.sort(), t.sort(0, descending=True)), "n m"),
    "sort-stable": (lambda t: torch.sort(t, stable=True, dim=0), "n m"),
    "argsort": (lambda t: (t.argsort(), t.argsort(0)), "n m"),
    "msort": (lambda t: t.msort(), "n m"),
    "searchsorted": (lambda t, u: torch.searchsorted(t, u), "n", "m"),
    "bucketize": (lambda t, u: torch.bucketize(t, u), "n m", "3"),
    "unique-free": (lambda t: t.sort().values[1:], "n"),
    "logical": (lambda t: t.softmax(-1).cumsum(-1) > 0.9, "n m"),
    "top-p": (
        lambda t: t.masked_fill(
            t.softmax(-1).sort(-1, True)[0].cumsum(-1) > 0.9, 0.0
        ),
        "n m",
    ),
}

SCATTERS: dict[str, Row] = {
    "gather": (lambda t, i: t.gather(1, i), "n m", "n 2:int"),
    "take_along_dim": (
        lambda t: t.take_along_dim(t.argsort(1), 1),
        "n m",
    ),
    "scatter-src": (lambda t, i: t.scatter(1, i, t * 2), "n m", "n 2:int"),
    "scatter-value": (lambda t, i: t.scatter(0, i, 2.0), "n m", "2 m:int"),
    "scatter-value-reduce": (
        lambda t, i: t.scatter(0, i, 2.0, reduce="add"),
        "n m",
        "2 m:int",
    ),
    "scatter_": (lambda t, i: t.clone().scatter_(0, i, 1.0), "n m", "1 m:int"),
    "scatter_add": (
        lambda t, i: torch.zeros(3, t.shape[1]).scatter_add(0, i, t),
        "n m",
        "n m:int",
    ),
    "scatter_reduce": (
        lambda t, i: torch.zeros(3, t.shape[1]).scatter_reduce(0, i, t, "amax"),
        "n m",
        "n m:int",
    ),
    "one_hot-scatter": (
        lambda t, i: torch.zeros_like(t).scatter_(1, i[:, None], 1.0),
        "n m",
        "n:int",
    ),
    "index_add": (
        lambda t, i: torch.zeros(3, t.shape[1]).index_add(0, i, t),
        "n m",
        "n:int",
    ),
    "index_add_": (
        lambda t, i: t.clone().index_add_(0, i, t[:4]),
        "n m",
        "4:int",
    ),
    "index_copy": (
        lambda t, i: torch.zeros_like(t).index_copy(0, i, t[:1]),
        "n m",
        "1:int",
    ),
    "index_fill": (lambda t, i: t.index_fill(0, i, 2.0), "n m", "2:int"),
    "index_select": (
        lambda t, i: (t.index_select(0, i), t.index_select(1, i)),
        "n m",
        "n:int",
    ),
    "index": (lambda t, i: (t[i], t[:, i], t[i, i]), "n m", "n:int"),
    "index-transposed": (lambda t, i: t.T[i], "n m", "n:int"),
    "index-two": (lambda t, i: t[i[:, None], i[None]], "n m", "n:int"),
    "index-apart": (lambda t, i: t[i, :, i], "n 3 m", "n:int"),
    "index-list": (lambda t: t[[0, 2, 1]], "n m"),
    "index-arange": (
        lambda t, i: t[torch.arange(t.shape[0]), i],
        "n m",
        "n:int",
    ),
    "index_put": (
        lambda t, i: t.index_put((i,), torch.tensor(1.0)),
        "n m",
        "2:int",
    ),
    "setitem-index": (lambda t, i: set_item(t, i, 1.0), "n m", "2:int"),
    "setitem-slice": (
        lambda t: set_item(t, slice(1, None), 1.0),
        "n m",
    ),
    "setitem-tensor": (
        lambda t: set_item(t, slice(0, 2), t[2:4]),
        "n m",
    ),
    "setitem-mask": (lambda t: set_item(t, t > 0.5, 0.0), "n m"),
    "take": (lambda t, i: t.take(i), "n m", "n 2:int"),
    "masked_fill": (lambda t, b: t.masked_fill(b, 0.0), "n m", "n m:bool"),
    "masked_fill-broadcast": (
        lambda t, b: t.masked_fill(b[:, None], 0.0),
        "n m",
        "n:bool",
    ),
    "masked_fill_": (
        lambda t, b: t.clone().masked_fill_(b, 0.0),
        "n m",
        "m:bool",
    ),
    "masked_scatter": (
        lambda t, b: t.masked_scatter(b, t * 2),
        "n m",
        "n m:bool",
    ),
    "where": (
        lambda t, b: (torch.where(b, t, 0.0), torch.where(b, t, -t)),
        "n m",
        "n m:bool",
    ),
    "select_scatter": (lambda t: t.select_scatter(t[0] * 2, 0, 1), "n m"),
    "slice_scatter": (lambda t: t.slice_scatter(t[:2], 0, 1, 3), "n m"),
    "diagonal_scatter": (
        lambda t: t.diagonal_scatter(torch.zeros(t.shape[0])),
        "n n",
    ),
    "embedding": (lambda t, i: F.embedding(i, t), "m 4", "n:int"),
    "embedding_bag": (
        lambda t, i: F.embedding_bag(i, t, mode="sum"),
        "m 4",
        "n 2:int",
    ),
    "one_hot": (lambda i: F.one_hot(i, 3), "n m:int"),
    "isin": (
        lambda i, u: (torch.isin(i, u), torch.isin(i, 2)),
        "n m:int",
        "2:int",
    ),
    "bincount-free": (lambda i: (i == 1).sum(0), "n m:int"),
}


def set_item(t: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    result = t.clone()
    result[index] = value
    return result


POINTWISE: dict[str, Row] = {
    "arithmetic": (lambda t, u: (t + u, t - u, t * u, t / u), "n m", "n m"),
    "broadcast": (lambda t, u: (t + u, u - t), "n m", "m"),
    "broadcast-column": (lambda t, u: t * u[:, None], "n m", "n"),
    "broadcast-outer": (lambda t, u: t[:, None] + u[None], "n", "m"),
    "broadcast-3d": (lambda t, u: t[:, None] * u, "n m", "n 2 m"),
    "numbers": (lambda t: (t + 1, 2 - t, t**2, 1 / t, t % 2), "n m"),
    "floor": (lambda t, u: (t // u, torch.fmod(t, u), t % u), "n m", "n m"),
    "pow-scalar": (lambda t: (2**t, t**0.5, t.square()), "n m"),
    "comparison": (lambda t, u: (t > u, t <= u, t == u), "n m", "n m"),
    "transposed": (lambda t: t.T + 1, "n m"),
    "transposed-two": (lambda t: t.T + t.T * 2, "n m"),
    "transposed-mixed": (lambda t, u: t.T + u, "n m", "m n"),
    "square-transposed": (lambda t: t + t.T, "n n"),
    "permuted": (lambda t: t.permute(2, 0, 1).exp(), "n m 3"),
    "strided": (lambda t: t[:, ::2] + 1, "n m"),
    "clone": (lambda t: (t.clone(), t.T.clone(), t.T.contiguous()), "n m"),
    "to": (lambda t: (t.to(torch.float64), t.half(), t.int()), "n m"),
    "copy_": (lambda t, u: t.clone().copy_(u), "n m", "m"),
    "clamp": (lambda t: (t.clamp(0.2, 0.7), t.clamp(min=0.3)), "n m"),
    "addcmul": (lambda t, u: torch.addcmul(t, u, u, value=2), "n m", "n m"),
    "addcdiv": (lambda t, u: torch.addcdiv(t, u, u, value=2), "n m", "m"),
    "lerp": (
        lambda t, u: (torch.lerp(t, u, 0.3), torch.lerp(t, u, u)),
        "n m",
        "n m",
    ),
    "activations": (
        lambda t: (F.relu(t), F.gelu(t), F.silu(t), F.elu(t), F.selu(t)),
        "n m",
    ),
    "activations-more": (
        lambda t: (
            F.leaky_relu(t),
            F.hardswish(t),
            F.hardtanh(t),
            F.softplus(t),
            F.logsigmoid(t),
            F.mish(t),
            F.celu(t),
            F.relu6(t),
            F.softsign(t),
            F.tanhshrink(t),
        ),
        "n m",
    ),
    "glu": (lambda t: (F.glu(t, 0), F.glu(t, -1)), "2*n 2*m"),
    "glu-static": (lambda t: F.glu(t), "n m 6"),
    "swiglu": (
        lambda t: (lambda a, b: F.silu(a) * b)(*t.chunk(2, -1)),
        "n 2*m",
    ),
    "prelu": (lambda t, u: F.prelu(t, u), "n m", "m"),
    "special": (
        lambda t: (
            torch.special.i0e(t),
            torch.special.i1(t),
            torch.special.i1e(t),
            torch.special.entr(t),
            torch.special.erfcx(t),
            torch.special.log_ndtr(t),
            torch.special.ndtri(t),
            torch.special.bessel_j0(t),
            torch.special.bessel_y1(t),
            torch.special.airy_ai(t),
            torch.special.modified_bessel_k0(t),
            torch.special.spherical_bessel_j0(t),
        ),
        "n m",
    ),
    "special-two": (
        lambda t, u: (
            torch.special.chebyshev_polynomial_t(t, u),
            torch.special.hermite_polynomial_h(t, u),
            torch.special.laguerre_polynomial_l(t, 2),
            torch.special.xlog1py(t, u),
            torch.special.zeta(t + 1, u),
        ),
        "n m",
        "m",
    ),
    "gamma": (
        lambda t, u: (
            torch.igamma(t, u),
            torch.igammac(t, u),
            torch.polygamma(1, t),
            torch.lgamma(t),
            torch.mvlgamma(t + 1, 2),
        ),
        "n m",
        "n m",
    ),
    "float_power": (lambda t: torch.float_power(t, 2), "n m"),
    "complex": (lambda t, u: torch.complex(t, u).abs(), "n m", "n m"),
    "real": (lambda t: (t.real, t.imag + 1, t.conj() * t), "n m:complex"),
    "view_as_real": (lambda t: torch.view_as_real(t) + 1, "n m:complex"),
    "view_as_complex": (
        lambda t: torch.view_as_complex(t.reshape(t.shape[0], -1, 2)),
        "n 2*m",
    ),
    "polar": (lambda t: torch.polar(t, t), "n m"),
    "bitwise": (lambda i: (i & 1, i | 2, ~i, i << 1), "n m:int"),
    "logical": (lambda a: (a & ~a, a.logical_or(a), a ^ a), "n m:bool"),
    "nan_to_num": (lambda t: (t.nan_to_num(), t.isnan(), t.isfinite()), "n m"),
    "allclose-free": (lambda t, u: torch.isclose(t, u), "n m", "n m"),
    "maximum": (lambda t, u: (torch.maximum(t, u), t.fmin(u)), "n m", "m"),
    "rounding": (lambda t: (t.round(), t.floor(), t.frac(), t.trunc()), "n m"),
    "trigonometry": (lambda t: (t.sin(), t.cos(), t.tan(), t.atan2(t)), "n m"),
    "inplace": (lambda t: t.clone().add_(1).mul_(2).relu_(), "n m"),
    "inplace-broadcast": (lambda t, u: t.clone().add_(u), "n m", "m"),
    "out": (lambda t: torch.add(t, 1, out=torch.empty_like(t)), "n m"),
    "dropout-eval": (lambda t: F.dropout(t, 0.5, False), "n m"),
    "dropout": (lambda t: F.dropout(t, 0.5), "n m"),
    "bernoulli": (lambda t: t.bernoulli(), "n m"),
    "renorm": (lambda t: t.renorm(2, 0, 1.0), "n m"),
    "rms_norm": (lambda t: F.rms_norm(t, (4,)), "n m 4"),
    "rms_norm-varying": (lambda t: F.rms_norm(t, t.shape[-1:]), "n m"),
}

NORMS: dict[str, Row] = {
    "layer_norm": (lambda t: F.layer_norm(t, (4,)), "n m 4"),
    "layer_norm-weight": (
        lambda t, w: F.layer_norm(t, (4,), w, w),
        "n m 4",
        "4",
    ),
    "layer_norm-varying": (lambda t: F.layer_norm(t, t.shape[1:]), "n m"),
    "batch_norm": (
        lambda t: F.batch_norm(t, torch.zeros(4), torch.ones(4), training=True),
        "n 4 m",
    ),
    "batch_norm-eval": (
        lambda t: F.batch_norm(t, torch.zeros(4), torch.ones(4)),
        "n 4 m 2",
    ),
    "batch_norm-last": (
        lambda t: F.batch_norm(t, torch.zeros(4), torch.ones(4)),
        "n 4 m 3:last",
    ),
    "group_norm": (lambda t: F.group_norm(t, 2), "n 4 m"),
    "group_norm-image": (lambda t: F.group_norm(t, 2), "n 4 m m"),
    "instance_norm": (lambda t: F.instance_norm(t), "n 4 m"),
    "local_response_norm": (lambda t: F.local_response_norm(t, 2), "n 4 m m"),
}

PRODUCTS: dict[str, Row] = {
    "matmul": (lambda t, u: t @ u, "n m", "m 3"),
    "matmul-varying": (lambda t, u: t @ u, "n m", "m n"),
    "matmul-vector": (lambda t, u: (t @ u, u @ t.T), "n m", "m"),
    "matmul-batched": (lambda t, u: t @ u, "n 2 m", "n m 3"),
    "matmul-broadcast": (lambda t, u: t @ u, "n 2 m", "m 3"),
    "matmul-4d": (lambda t: t @ t.transpose(-1, -2), "n 2 m 4"),
    "mm": (lambda t, u: torch.mm(t, u), "n m", "m 3"),
    "bmm": (lambda t, u: torch.bmm(t, u), "n 2 m", "n m 3"),
    "mv": (lambda t, u: torch.mv(t, u), "n m", "m"),
    "dot": (lambda t, u: (t.dot(u), t.vdot(u), t.inner(u)), "n", "n"),
    "outer": (lambda t, u: torch.outer(t, u), "n", "m"),
    "addmm": (lambda t, u: torch.addmm(t[0], t, u), "n m", "m m"),
    "addmv": (lambda t, u: torch.addmv(t[:, 0], t, u), "n m", "m"),
    "addbmm": (lambda t, u: torch.addbmm(t[0], t, u), "n 3 m", "n m m"),
    "addr": (lambda t, u: torch.addr(t[:, None] * u, t, u), "n", "m"),
    "baddbmm": (lambda t, u: torch.baddbmm(t, t, u), "n 3 m", "n m m"),
    "linear": (lambda t, w: F.linear(t, w), "n m 4", "3 4"),
    "linear-bias": (lambda t, w: F.linear(t, w, w[:, 0]), "n m", "3 m"),
    "bilinear": (
        lambda t, u, w: F.bilinear(t, u, w),
        "n 3",
        "n 2",
        "m 3 2",
    ),
    "einsum": (lambda t, u: torch.einsum("ij,kj->ik", t, u), "n m", "4 m"),
    "einsum-batched": (
        lambda t, u: torch.einsum("bhqd,bhkd->bhqk", t, u),
        "2 2 n 4",
        "2 2 m 4",
    ),
    "tensordot": (lambda t, u: torch.tensordot(t, u, 1), "n m", "m 3"),
    "kron": (lambda t, u: torch.kron(t, u), "n 2", "2 m"),
    "cross": (lambda t, u: torch.linalg.cross(t, u), "n m 3", "n m 3"),
    "chain": (
        lambda t, u: torch.linalg.multi_dot([t, u, t]),
        "n m",
        "m n",
    ),
    "matrix_power": (lambda t: torch.linalg.matrix_power(t, 3), "n n"),
    "det": (lambda t: torch.linalg.det(spd(t)), "n n"),
    "slogdet": (lambda t: torch.linalg.slogdet(spd(t)), "m n n"),
    "inv": (lambda t: torch.linalg.inv(spd(t)), "n n"),
    "cholesky": (lambda t: torch.linalg.cholesky(spd(t)), "m n n"),
    "solve": (lambda t: torch.linalg.solve(spd(t), t), "n n"),
    "solve-vector": (lambda t: torch.linalg.solve(spd(t), t[0]), "n n"),
    "solve_triangular": (
        lambda t: torch.linalg.solve_triangular(spd(t), t, upper=True),
        "n n",
    ),
    "eigh": (lambda t: torch.linalg.eigvalsh(spd(t)), "n n"),
    "svdvals": (lambda t: torch.linalg.svdvals(t), "n m"),
    "lu_factor": (lambda t: torch.linalg.lu_factor(spd(t)), "n n"),
    "qr": (lambda t: torch.linalg.qr(t), "n 3"),
}


def spd(t: torch.Tensor) -> torch.Tensor:
    """A symmetric matrix with positive eigenvalues."""
    return t @ t.mT + torch.eye(t.shape[-1]) * 10
