# SPDX-License-Identifier: BSD-3-Clause
"""Rows over sizes and numbers that vary together: see
guards/test_guard_strictness.py.

"=n" is the int n itself, "=n/2" a float.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from support.operator_tables import Row


def accumulate(t: torch.Tensor, n: int) -> torch.Tensor:
    total = torch.zeros_like(t)
    for i in range(min(n, 3)):
        total = total + t * i
    return total


def positions(t: torch.Tensor) -> torch.Tensor:
    rows, columns = t.shape
    grid = torch.arange(rows * columns).view(rows, columns)
    return grid + t


def by_parity(t: torch.Tensor) -> torch.Tensor:
    return t * 2 if t.shape[0] % 2 == 0 else t + 1


def by_bound(t: torch.Tensor) -> torch.Tensor:
    if 3 <= t.shape[0] <= 7:
        return t.sum(0)
    return t.mean(0)


def by_relation(t: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    return t @ u if t.shape[1] == u.shape[0] else t.sum() + u.sum()


def padded_to_multiple(t: torch.Tensor) -> torch.Tensor:
    rest = -t.shape[1] % 4
    return F.pad(t, (0, rest)).view(t.shape[0], -1, 4).sum(1)


def windows(t: torch.Tensor) -> list[torch.Tensor]:
    return [t[i : i + 2].sum() for i in range(0, 4, 2)]


def set_number(t: torch.Tensor, n: int) -> torch.Tensor:
    t = t.clone()
    t[n] = 1.0
    t[: n // 2] = n
    return t


def in_dict(t: torch.Tensor) -> dict[str, Any]:
    sizes = {"rows": t.shape[0], "columns": t.shape[1]}
    return {"total": sizes["rows"] * sizes["columns"] + t.sum(), **sizes}


def in_object(t: torch.Tensor) -> torch.Tensor:
    class Box:
        pass

    box = Box()
    box.rows = t.shape[0]
    return t / box.rows


def checked(t: torch.Tensor) -> torch.Tensor:
    if t.shape[0] < 1:
        raise ValueError("no rows")
    assert t.shape[1] > 1, "one column"
    torch._check(t.shape[0] > 0)
    return t + 1


def cache(k: torch.Tensor, v: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    k, v = torch.cat([k, new], 1), torch.cat([v, new], 1)
    return F.scaled_dot_product_attention(new, k, v)


def causal(t: torch.Tensor) -> torch.Tensor:
    n = t.shape[1]
    mask = torch.full((n, n), float("-inf")).triu(1)
    return (t @ t.mT / math.sqrt(t.shape[-1]) + mask).softmax(-1) @ t


NUMBERS: dict[str, Row] = {
    "add": (lambda t, n: t + n, "4", "=n"),
    "arithmetic": (
        lambda t, n, m: t * (n * m + n // 2 - m % 3),
        "4",
        "=n",
        "=m",
    ),
    "true-division": (lambda t, n, m: t * (n / m), "4", "=n", "=m"),
    "power": (lambda t, n: (t**n, n**2 + t), "4", "=n"),
    "divmod": (lambda t, n: t + divmod(n, 3)[0] + divmod(n, 3)[1], "4", "=n"),
    "divmod-two": (lambda t, n, m: (t, divmod(n, m)), "4", "=n", "=m"),
    "rdivmod": (lambda t, n: (t, divmod(100, n)), "4", "=n"),
    "abs": (lambda t, n: t * abs(-n), "4", "=n"),
    "shift": (lambda t, n: t + (1 << (n % 5)) + (n >> 1), "4", "=n"),
    "bits": (lambda t, n: t + (n & 3) + (n | 8), "4", "=n"),
    "min-max": (lambda t, n, m: t * min(n, m) + max(n, m, 3), "4", "=n", "=m"),
    "sum": (lambda t, n, m: t + sum([n, m, 1]), "4", "=n", "=m"),
    "math": (
        lambda t, n: t * math.sqrt(n) + math.ceil(n / 2) + math.log(n),
        "4",
        "=n",
    ),
    "gcd-free": (lambda t, n: t + math.floor(n * 0.5), "4", "=n"),
    "float": (lambda t, n: t * float(n) + int(n / 2), "4", "=n"),
    "compare": (lambda t, n: t + 1 if n > 2 else t, "4", "=n"),
    "chain": (lambda t, n: t + 1 if 2 <= n < 100 else t, "4", "=n"),
    "bool": (lambda t, n: t + 1 if n else t, "4", "=n"),
    "returned": (lambda t, n: (t + 1, n, n + 1, [n * 2]), "4", "=n"),
    "size": (lambda t, n: torch.ones(n, 2) + t.sum(), "4", "=n"),
    "arange": (lambda t, n: torch.arange(n) + t.sum(), "4", "=n"),
    "slice": (lambda t, n: t[:n], "40", "=n"),
    "slice-from": (lambda t, n: (t[n:], t[-n:]), "40", "=n"),
    "select": (lambda t, n: t[n], "40 2", "=n"),
    "select-column": (lambda t, n: t[:, n], "2 40", "=n"),
    "select-two": (lambda t, n, m: t[n, m], "40 40", "=n", "=m"),
    "set-item": (set_number, "40 2", "=n"),
    "narrow": (lambda t, n: t.narrow(0, n, 2), "40 2", "=n"),
    "split": (lambda t, n: t.split([n, 40 - n]), "40 2", "=n"),
    "view": (lambda t, n: t.view(n, -1), "n m", "=m"),
    "expand": (lambda t, n: t.expand(n, 4), "4", "=n"),
    "repeat": (lambda t, n: t.repeat(n), "4", "=n"),
    "roll": (lambda t, n: t.roll(n, 0), "n 4", "=m"),
    "pad": (lambda t, n: F.pad(t, (n, 0)), "n 4", "=m"),
    "tril": (lambda t, n: t.tril(n), "n 40", "=m"),
    "clamp": (lambda t, n: t.clamp(0, n), "n", "=m"),
    "fill": (lambda t, n: torch.full_like(t, n), "n", "=m"),
    "masked_fill": (lambda t, n: t.masked_fill(t > 0.5, n), "n", "=m"),
    "new_full": (lambda t, n: t.new_full((n,), n), "n", "=m"),
    "loop": (accumulate, "4", "=n"),
    "in-tuple": (lambda t, n: t + (n, 2)[0] + len((n, 2)), "4", "=n"),
    "keyword": (lambda t, n: torch.add(t, t, alpha=n), "4", "=n"),
    "topk": (lambda t, n: t.topk(n), "40", "=n"),
    "scalar-tensor": (lambda t, n: torch.tensor(n) + t, "4", "=n"),
    "scalar-tensors": (
        lambda t, n, m: torch.tensor([n, m]) + t,
        "2",
        "=n",
        "=m",
    ),
    "as_tensor": (lambda t, n: torch.as_tensor(n) + t, "4", "=n"),
    "linspace": (lambda t, n: torch.linspace(0, 1, n) + t[0], "4", "=n"),
    "float-times": (lambda t, s: t * s, "4", "=n/8"),
    "float-arithmetic": (lambda t, s: t * (s * 2 + 1) - s, "4", "=n/8"),
    "float-int": (lambda t, s, n: t * s * n, "4", "=n/8", "=n"),
    "float-compare": (lambda t, s: t if s > 0.1 else t + 1, "4", "=n/8"),
    "float-math": (lambda t, s: t * math.exp(s) + math.sqrt(s), "4", "=n/8"),
    "float-full": (lambda t, s: torch.full((3,), s) + t[0], "4", "=n/8"),
    "float-clamp": (lambda t, s: t.clamp(0.0, s), "4", "=n/40"),
    "float-alpha": (lambda t, s: torch.add(t, t, alpha=s), "4", "=n/8"),
    "float-dropout": (lambda t, p: F.dropout(t, p), "40", "=n/40"),
    "float-leaky": (lambda t, p: F.leaky_relu(t - 0.5, p), "40", "=n/40"),
    "float-eps": (lambda t, e: F.layer_norm(t, (4,), eps=e), "n 4", "=n/40"),
    "float-scale": (
        lambda t, s: F.scaled_dot_product_attention(t, t, t, scale=s),
        "2 n 4",
        "=n/40",
    ),
    "float-power": (lambda t, s: (t * s**2, t * 2**s, t**s), "4", "=n/8"),
    "float-divide": (lambda t, s: (t / s, s / t, s // 0.1, t % s), "4", "=n/8"),
    "float-round": (lambda t, s: (t, int(s * 8), round(s * 8)), "4", "=n/8"),
    "float-tensor": (lambda t, s: torch.tensor(s) + t, "4", "=n/8"),
    "float-tensors": (lambda t, s: torch.tensor([s, 1.0]) + t, "2", "=n/8"),
    "float-where": (lambda t, s: torch.where(t > s, t, s), "4", "=n/40"),
    "float-fill": (lambda t, s: t.masked_fill(t > 0.5, s), "4", "=n/40"),
    "float-pad": (lambda t, s: F.pad(t, (1, 1), value=s), "4", "=n/40"),
    "float-arange": (lambda t, s: torch.arange(0, s) + t[0], "4", "=n/2"),
    "float-int-tensor": (lambda i, s: (i * s, i + s, i / s), "4:int", "=n/8"),
    "float-addcmul": (
        lambda t, s: torch.addcmul(t, t, t, value=s),
        "4",
        "=n/8",
    ),
    "float-lerp": (lambda t, s: torch.lerp(t, t + 1, s), "4", "=n/40"),
    "float-inplace": (
        lambda t, s: t.clone().mul_(s).add_(t, alpha=s),
        "4",
        "=n/8",
    ),
    "float-abs": (lambda t, s: t * abs(-s) + max(s, 0.5), "4", "=n/8"),
    "float-list": (lambda t, s: [each * t for each in [s, s + 1]], "4", "=n/8"),
    "float-smoothing": (
        lambda t, i, s: F.cross_entropy(t, i, label_smoothing=s),
        "n 4",
        "n:int",
        "=n/40",
    ),
    "float-bernoulli": (lambda t, s: t.bernoulli(s), "4", "=n/40"),
    "float-gelu": (lambda t, s: F.elu(t, s) + F.softplus(t, s), "4", "=n/8"),
    "float-returned": (lambda t, s: (t + 1, s, s * 2), "4", "=n/8"),
    "float-text": (lambda t, s: (t, s - s // 1), "4", "=n/8"),
}

PROGRAMS: dict[str, Row] = {
    "positions": (positions, "n m"),
    "parity": (by_parity, "n m"),
    "bounds": (by_bound, "n m"),
    "relation": (by_relation, "n m", "m n"),
    "relation-fails": (by_relation, "n m", "n m"),
    "multiple": (padded_to_multiple, "n m"),
    "windows": (windows, "n m"),
    "dict": (in_dict, "n m"),
    "object": (in_object, "n m"),
    "checks": (checked, "n m"),
    "cache": (cache, "2 n 4", "2 n 4", "2 1 4"),
    "causal": (causal, "2 n 4"),
    "text": (lambda t: (t + 1, f"{t.shape[0]} rows"), "n m"),
    "text-shape": (lambda t: (t + 1, str(t.shape)), "n m"),
    "key": (lambda t: {t.shape[0]: t + 1}, "n m"),
    "rows": (lambda t: sum(row.sum() for row in t[:3]), "n m"),
    "zip": (lambda t: [a * b for a, b in zip(t.shape, (2, 3))] + [t], "n m"),
    "unpack": (lambda t: torch.zeros(*t.shape[:-1], 2) + t.sum(), "n m 4"),
    "shape-equal": (
        lambda t, u: t + u if t.shape == u.shape else t,
        "n m",
        "n m",
    ),
    "shape-sum": (lambda t: t.reshape(t.shape[:1] + (-1, 2)), "n 2*m"),
    "numel": (lambda t: t.sum() / t.numel() + math.prod(t.shape), "n m"),
    "nelement": (lambda t: t.view(t.nelement()), "n m"),
    "prod": (lambda t: t.reshape(math.prod(t.shape[:2]), 4), "n m 4"),
    "stride": (lambda t: t.as_strided(t.shape, t.stride()) + 1, "n m"),
    "size-tuple": (lambda t: torch.Size([t.shape[0], 2]).numel() + t, "n m"),
    "isinstance": (
        lambda t: t + 1 if isinstance(t.shape[0], int) else t,
        "n m",
    ),
    "type": (lambda t: t + 1 if type(t.shape[0]) is int else t, "n m"),
    "sorted": (lambda t: (t, sorted([t.shape[0], 1])), "n m"),
    "in-range": (lambda t: t + 1 if t.shape[0] in range(2, 90) else t, "n m"),
    "in-list": (lambda t: t + 1 if 2 in [t.shape[0], 2] else t, "n m"),
    "range-length": (lambda t: t + len(range(0, t.shape[0], 2)), "n m"),
    "list-times": (lambda t: t + len([1] * 3 + [t.shape[0]]), "n m"),
    "default": (lambda t: t / (t.shape[0] or 1), "n m"),
    "conditional": (lambda t: t[: 3 if t.shape[0] > 3 else 2], "n m"),
    "interpolate-twice": (
        lambda t: F.interpolate(
            F.interpolate(t, scale_factor=2.0), size=t.shape[-2:]
        ),
        "2 3 n m",
    ),
    "interpolate-half": (
        lambda t: F.interpolate(t, scale_factor=0.5, mode="bilinear"),
        "2 3 n m",
    ),
    "interpolate-recompute": (
        lambda t: F.interpolate(
            t,
            scale_factor=1.5,
            mode="bilinear",
            align_corners=True,
            recompute_scale_factor=True,
        ),
        "2 3 n m",
    ),
    "interpolate-factors": (
        lambda t: F.interpolate(t, scale_factor=(2.0, 1.5), mode="nearest"),
        "2 3 n m",
    ),
    "interpolate-linear": (
        lambda t: F.interpolate(t, scale_factor=2.5, mode="linear"),
        "n 3 m",
    ),
    "interpolate-bicubic": (
        lambda t: F.interpolate(t, scale_factor=2, mode="bicubic"),
        "2 3 n m",
    ),
    "interpolate-area": (
        lambda t: F.interpolate(t, size=(3, 3), mode="area"),
        "2 3 n m",
    ),
    "interpolate-skip": (
        lambda t, u: u + F.interpolate(t, size=u.shape[2:], mode="nearest"),
        "2 3 n m",
        "2 3 2*n 2*m",
    ),
    "upsample-module": (torch.nn.Upsample(scale_factor=2), "2 3 n m"),
    "upsample-module-bilinear": (
        torch.nn.UpsamplingBilinear2d(scale_factor=2),
        "2 3 n m",
    ),
    "unet": (
        lambda t: torch.cat(
            [F.interpolate(F.max_pool2d(t, 2), scale_factor=2.0), t], 1
        ),
        "2 3 2*n 2*m",
    ),
    "linear": (torch.nn.Linear(4, 3), "n m 4"),
    "convolution": (torch.nn.Conv2d(3, 4, 3, padding=1), "n 3 m m"),
    "convolution-circular": (
        torch.nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"),
        "n 3 m",
    ),
    "convolution-reflect": (
        torch.nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
        "2 3 n m",
    ),
    "layer-norm": (torch.nn.LayerNorm(4), "n m 4"),
    "batch-norm": (torch.nn.BatchNorm2d(3).eval(), "n 3 m m"),
    "group-norm": (torch.nn.GroupNorm(2, 4), "n 4 m"),
    "embedding": (torch.nn.Embedding(5, 3), "n m:int"),
    "embedding-bag": (torch.nn.EmbeddingBag(5, 3), "n m:int"),
    "embedding-bag-max": (torch.nn.EmbeddingBag(5, 3, mode="max"), "n m:int"),
    "embedding-bag-offsets": (
        lambda t, i: F.embedding_bag(i, t, torch.tensor([0, 2])),
        "5 4",
        "n:int",
    ),
    "lstm": (torch.nn.LSTM(4, 3), "n m 4"),
    "gru": (torch.nn.GRU(4, 3, batch_first=True), "n m 4"),
    "attention": (
        torch.nn.MultiheadAttention(4, 2, batch_first=True).eval(),
        "n m 4",
        "n m 4",
        "n m 4",
    ),
    "encoder": (
        torch.nn.TransformerEncoderLayer(
            4, 2, 8, batch_first=True, dropout=0.0
        ),
        "n m 4",
    ),
    "encoder-eval": (
        torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(),
        "n m 4",
    ),
    "flatten": (torch.nn.Flatten(), "n m 4"),
    "unflatten": (torch.nn.Unflatten(1, (2, 3)), "n 6"),
    "fold": (torch.nn.Fold((4, 4), 2), "n 8 9"),
    "pad-module": (torch.nn.ZeroPad2d(1), "n 3 m m"),
    "reflection-3d": (torch.nn.ReflectionPad3d(1), "2 3 4 n m"),
    "replication-3d": (torch.nn.ReplicationPad3d(1), "2 3 4 n m"),
    "softmax2d": (torch.nn.Softmax2d(), "2 3 n m"),
    "max-unpool": (
        lambda t: F.max_unpool2d(*F.max_pool2d(t, 2, return_indices=True), 2),
        "2 3 2*n 2*m",
    ),
    "fractional": (
        lambda t, s: F.fractional_max_pool2d(
            t, 2, output_size=(3, 3), _random_samples=s
        ),
        "2 3 n m",
        "2 3 2",
    ),
    "lp-pool": (torch.nn.LPPool1d(2, 2), "2 3 n"),
    "adaptive-varying": (
        lambda t: F.adaptive_avg_pool2d(t, (None, 2)),
        "2 3 n m",
    ),
    "adaptive-half": (
        lambda t: F.adaptive_avg_pool1d(t, t.shape[-1] // 2),
        "2 3 n",
    ),
    "conv_transpose1d-padded": (
        lambda t, w: F.conv_transpose1d(t, w, stride=2, output_padding=1),
        "n 3 m",
        "3 4 3",
    ),
    "ctc_loss": (
        lambda t, i: F.ctc_loss(
            t.log_softmax(-1).transpose(0, 1),
            i + 1,
            torch.full((t.shape[0],), t.shape[1]),
            torch.full((t.shape[0],), 2),
        ),
        "n m 4",
        "n 2:int",
    ),
    "multilabel_margin_loss": (
        lambda t, i: F.multilabel_margin_loss(t, i),
        "n 3",
        "n 3:int",
    ),
    "multilabel_soft_margin_loss": (
        lambda t, b: F.multilabel_soft_margin_loss(t, b.float()),
        "n m",
        "n m:bool",
    ),
    "gaussian_nll_loss": (
        lambda t, u: F.gaussian_nll_loss(t, u, u),
        "n m",
        "n m",
    ),
    "hinge_embedding_loss": (
        lambda t, u: F.hinge_embedding_loss(t, u),
        "n m",
        "n m",
    ),
    "multi_margin_loss-p": (
        lambda t, i: F.multi_margin_loss(t, i, p=2, reduction="none"),
        "n m",
        "n:int",
    ),
    "nll_loss-weight": (
        lambda t, i: F.nll_loss(t, i, torch.ones(4), ignore_index=1),
        "n 4",
        "n:int",
    ),
    "pinv": (lambda t: torch.linalg.pinv(t), "n m"),
    "lstsq": (
        # Its last digits differ from run to run.
        lambda t, u: torch.linalg.lstsq(t, u).solution * 0,
        "2*n 3",
        "2*n 2",
    ),
    "svd": (lambda t: torch.linalg.svd(t, full_matrices=False)[1], "n m"),
    "eigh": (lambda t: torch.linalg.eigh(t @ t.T)[0], "n m"),
    "eigvals": (lambda t: torch.linalg.eigvals(t).abs().sum(), "n n"),
    "matrix_rank-free": (lambda t: torch.linalg.cond(t @ t.T), "3 n"),
    "cholesky_solve": (
        lambda t: torch.cholesky_solve(
            t, torch.linalg.cholesky(t @ t.mT + torch.eye(t.shape[0]))
        ),
        "n n",
    ),
    "householder": (lambda t: torch.linalg.qr(t, mode="r")[1], "n m"),
    "expm": (lambda t: torch.linalg.matrix_exp(t), "n n"),
    "cov": (lambda t: (torch.cov(t), torch.corrcoef(t)), "n m"),
    "chain_matmul": (
        lambda t, u: torch.linalg.multi_dot([t, u, t, u]),
        "n 3",
        "3 n",
    ),
    "kron-square": (lambda t: torch.kron(t, t), "n m"),
    "vander": (lambda t: torch.vander(t), "n"),
    "vander-linalg": (lambda t: torch.linalg.vander(t), "n m"),
    "vander-linalg-n": (lambda t: torch.linalg.vander(t, N=3), "n m"),
    "take_along_dim": (
        lambda t, i: torch.take_along_dim(t, i, 0),
        "n m",
        "2 m:int",
    ),
    "take_along_dim-flat": (
        lambda t, i: torch.take_along_dim(t, i),
        "n m",
        "4:int",
    ),
    "stft": (
        lambda t: torch.stft(
            t, 8, hop_length=2, window=torch.ones(8), return_complex=True
        ).abs(),
        "2 4*n",
    ),
    "stft-uncentered": (
        lambda t: (
            torch.stft(
                t, 4, center=False, window=torch.ones(4), return_complex=True
            ).real
        ),
        "2 4*n",
    ),
    "istft": (
        lambda t: torch.istft(
            torch.stft(t, 8, 2, window=torch.ones(8), return_complex=True),
            8,
            2,
            window=torch.ones(8),
        ),
        "2 8*n",
    ),
    "fftshift": (
        lambda t: torch.fft.fftshift(torch.fft.fftfreq(t.shape[0])),
        "n",
    ),
    "hann": (lambda t: t * torch.hann_window(t.shape[0]), "n"),
    "hamming": (lambda t: t * torch.hamming_window(t.shape[0]), "n"),
    "logspace": (lambda t: torch.logspace(0, 1, t.shape[0]) + t, "n"),
    "linspace-two": (lambda t: torch.linspace(-1, 1, t.shape[0] * 2), "n"),
    "linspace-center": (
        lambda t: torch.linspace(0.5, t.shape[0] - 0.5, t.shape[0]),
        "n",
    ),
    "tensor-sizes": (lambda t: torch.tensor(t.shape) + 1, "n m"),
    "tensor-float": (lambda t: t / torch.tensor(t.shape[0] ** 0.5), "n m"),
    "tensor-list": (
        lambda t: torch.tensor([t.shape[1], 2], dtype=torch.float32) * t.sum(),
        "n m",
    ),
    "scalar-tensor": (
        lambda t: torch.scalar_tensor(t.shape[0]) + t,
        "n m",
    ),
    "combinations": (lambda t: torch.combinations(t), "n"),
    "tril_indices": (lambda t: torch.tril_indices(t.shape[0], 3), "n"),
    "unfold-size": (lambda t: t.unfold(0, t.shape[0] - 1, 1), "n m"),
    "renorm": (lambda t: t.renorm(2, 0, 1.0), "n m"),
    "histogram": (lambda t: torch.histc(t, 4), "n m"),
    "quantile": (lambda t: t.quantile(0.5), "n m"),
    "quantile-dim": (lambda t: t.quantile(torch.tensor([0.1, 0.5]), 0), "n m"),
    "cdist": (lambda t, u: torch.cdist(t, u, 1.0), "n 4", "m 4"),
    "gradient": (lambda t: torch.gradient(t), "n m"),
    "nan": (lambda t: t.nanquantile(0.5, 1), "n m"),
    "unravel": (lambda i: torch.unravel_index(i, (4, 4)), "n:int"),
    "block": (lambda t: torch.block_diag(t, t), "n m"),
    "put": (lambda t, i: t.put(i, torch.ones(2)), "n m", "2:int"),
    "bincount-minlength": (lambda t: t.unflatten(0, (-1, 1)), "n m"),
    "hsplit": (lambda t: t.hsplit(2), "n 2*m"),
    "dsplit": (lambda t: t.dsplit([1, 3]), "n m 4"),
    "atleast": (lambda t: torch.atleast_3d(t), "n m"),
    "split-size": (lambda t: t.split(t.shape[0]), "2*n m"),
    "chunk-size": (lambda t: t.chunk(3), "3*n m"),
    "tensor_split-sections": (lambda t: t.tensor_split((1, 3)), "n m"),
    "unbind-chain": (lambda t: torch.stack(t.unbind(1), 1), "n 3 m"),
    "nested-view": (lambda t: t.view(*t.shape[:-1], 2, -1).mT, "n m 4"),
    "repeat-batch": (lambda t: t.repeat(t.shape[0], 1), "n m"),
    "index-put-accumulate": (
        lambda t, i: t.index_put((i,), t[:2], accumulate=True),
        "n m",
        "2:int",
    ),
    "index-negative": (lambda t: t[-t.shape[0]], "n m"),
    "index-mid": (lambda t: t[t.shape[0] // 2], "n m"),
    "gather-last": (
        lambda t: t.gather(0, torch.full((1, t.shape[1]), t.shape[0] - 1)),
        "n m",
    ),
    "sliding-mask": (
        lambda t: (
            (torch.arange(t.shape[0]) - torch.arange(t.shape[0])[:, None]).abs()
            < 3
        ),
        "n m",
    ),
    "relative-bias": (
        lambda t, w: w[
            (
                torch.arange(t.shape[0])[:, None] - torch.arange(t.shape[0])
            ).clamp(-2, 2)
            + 2
        ],
        "n m",
        "5 3",
    ),
    "sinusoid": (
        lambda t: (
            t
            + (
                torch.arange(t.shape[1])[:, None]
                * torch.exp(torch.arange(0, 4, 2) * (-math.log(1e4) / 4))
            ).repeat(1, 2)
        ),
        "n m 4",
    ),
}
