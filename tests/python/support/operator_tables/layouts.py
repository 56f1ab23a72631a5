# SPDX-License-Identifier: BSD-3-Clause
"""Rows of shapes/test_dynamic_operators.py: views, joins, factories, images,
losses, layers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from support.operator_tables import Row

VIEWS: dict[str, Row] = {
    "view": (lambda t: (t.view(-1), t.view(t.shape[0], -1)), "n m 4"),
    "view-split": (lambda t: t.view(t.shape[0], 2, 3), "n 6"),
    "view-heads": (
        lambda t: t.view(t.shape[0], -1, 2, 2).transpose(1, 2),
        "n m 4",
    ),
    "view-merge": (lambda t: t.view(-1, 4), "n m 4"),
    "view-numbers": (lambda t: t.view(t.shape[0] * t.shape[1], 4), "n m 4"),
    "view-back": (lambda t: t.view(-1).view(t.shape), "n m"),
    "view-sizes": (lambda t: t.view(t.size(0), t.size(1), 1), "n m"),
    "reshape": (lambda t: (t.reshape(-1), t.reshape(-1, 2)), "n m 4"),
    "reshape-copy": (lambda t: t.T.reshape(-1), "n m"),
    "reshape-heads": (
        lambda t: t.transpose(1, 2).reshape(t.shape[0], t.shape[2], -1),
        "n 2 m 3",
    ),
    "reshape_as": (lambda t, u: t.reshape_as(u), "n m", "m n"),
    "flatten": (
        lambda t: (t.flatten(), t.flatten(1), t.flatten(0, 1)),
        "n m 3",
    ),
    "unflatten": (lambda t: t.unflatten(1, (2, -1)), "n 2*m"),
    "ravel": (lambda t: t.ravel(), "n m"),
    "squeeze": (lambda t: (t.squeeze(), t.squeeze(1)), "n 1 m"),
    "unsqueeze": (lambda t: (t[None], t.unsqueeze(-1), t[:, None]), "n m"),
    "transpose": (lambda t: (t.T, t.mT, t.transpose(0, 1)), "n m"),
    "permute": (lambda t: (t.permute(2, 0, 1), t.movedim(0, -1)), "n m 3"),
    "swapaxes": (lambda t: t.swapaxes(0, 2).contiguous(), "n m 3"),
    "expand": (lambda t: (t.expand(3, -1, -1), t[:1].expand(4, -1)), "n m"),
    "expand-size": (lambda t: t[:, :1].expand(-1, t.shape[0]), "n m"),
    "expand_as": (lambda t, u: t.expand_as(u), "m", "n m"),
    "broadcast_to": (lambda t: t.broadcast_to(2, *t.shape), "n m"),
    "broadcast_tensors": (
        lambda t, u: torch.broadcast_tensors(t[:, None], u),
        "n",
        "m",
    ),
    "repeat": (lambda t: (t.repeat(2, 1), t.repeat(2, 3, 1)), "n m"),
    "repeat-size": (lambda t: t[:1].repeat(t.shape[0], 1), "n m"),
    "repeat_interleave": (lambda t: t.repeat_interleave(2, 0), "n m"),
    "tile": (lambda t: t.tile(2), "n m"),
    "slice": (lambda t: (t[1:], t[:-1], t[1:3], t[:, -2:], t[:, :2]), "n m"),
    "slice-step": (lambda t: (t[::2], t[1::2], t[:, ::3]), "n m"),
    "slice-half": (
        lambda t: (t[: t.shape[0] // 2], t[t.shape[0] // 2 :]),
        "n m",
    ),
    "slice-last": (lambda t: t[..., : t.shape[-1] - 1], "n m"),
    "slice-other": (lambda t, u: t[: u.shape[0]], "n+30", "m"),
    "rotate_half": (
        lambda t: torch.cat(
            (-t[..., t.shape[-1] // 2 :], t[..., : t.shape[-1] // 2]), -1
        ),
        "n m 4",
    ),
    "select": (lambda t: (t[0], t[-1], t[:, 1], t.select(1, -2)), "n m"),
    "narrow": (lambda t: (t.narrow(0, 1, 2), t.narrow(1, 0, 3)), "n m"),
    "split": (lambda t: t.split(2, -1), "n m 6"),
    "split-sizes": (lambda t: t.split([1, 2, 3], -1), "n m 6"),
    "split-varying": (
        lambda t: t.split([1, t.shape[0] - 1]),
        "n m",
    ),
    "split-half": (lambda t: t.split(t.shape[1] // 2, 1), "n 2*m"),
    "chunk": (lambda t: (t.chunk(3, -1), t.chunk(2, -1)), "n m 6"),
    "chunk-varying": (lambda t: t.chunk(2, 0), "2*n m"),
    "tensor_split": (lambda t: t.tensor_split(2, -1), "n m 4"),
    "unbind": (lambda t: (t.unbind(-1), t.unbind(1)), "n 2 3"),
    "diagonal": (lambda t: (t.diagonal(), t.diagonal(1)), "n n"),
    "diag": (lambda t: (t.diag(), t[0].diag()), "n n"),
    "diag_embed": (lambda t: t.diag_embed(), "n m"),
    "unfold": (lambda t: t.unfold(1, 2, 1), "n m"),
    "as_strided": (lambda t: t.as_strided((2, 2), (1, 2)), "n m"),
    "roll": (
        lambda t: (t.roll(1, 0), t.roll(2), t.roll((1, 1), (0, 1))),
        "n m",
    ),
    "flip": (lambda t: (t.flip(0), t.flip(0, 1), t.fliplr()), "n m"),
    "rot90": (lambda t: t.rot90(), "n m"),
    "tril": (lambda t: (t.tril(), t.triu(1)), "n m"),
    "tril-batched": (lambda t: t.tril(-1), "2 n m"),
    "causal": (
        lambda t: torch.ones(t.shape[0], t.shape[0]).tril().bool(),
        "n m",
    ),
    "causal-inf": (
        lambda t: torch.full((t.shape[0], t.shape[0]), -1e9).triu(1),
        "n m",
    ),
    "view_dtype": (lambda t: t.view(torch.int32), "n m"),
    "contiguous": (lambda t: t.transpose(0, 1).contiguous().view(-1), "n m"),
    "channels_last": (
        lambda t: t.contiguous(memory_format=torch.channels_last) + 1,
        "2 3 n m",
    ),
    "meshgrid": (
        lambda t, u: torch.meshgrid(t, u, indexing="ij"),
        "n",
        "m",
    ),
    "cartesian": (lambda t, u: torch.cartesian_prod(t, u), "n", "m"),
    "vander": (lambda t: torch.vander(t, 3), "n"),
}

JOINS: dict[str, Row] = {
    "cat": (lambda t: (torch.cat([t, t]), torch.cat([t, t], 1)), "n m"),
    "cat-different": (lambda t, u: torch.cat([t, u]), "n 4", "m 4"),
    "cat-row": (lambda t: torch.cat([t, t.new_ones(1, 4)]), "n 4"),
    "cat-column": (lambda t, u: torch.cat([t, u], -1), "n m", "n 3"),
    "cat-image": (lambda t: torch.cat([t, t], 1), "n 3 m m"),
    "cat-last": (lambda t: torch.cat([t, t], 1), "n 3 m 4:last"),
    "cat-cache": (lambda t, u: torch.cat([t, u], 2), "1 2 n 4", "1 2 1 4"),
    "stack": (lambda t: (torch.stack([t, t]), torch.stack([t, t], 1)), "n m"),
    "hstack": (lambda t: (torch.hstack([t, t]), torch.vstack([t, t])), "n m"),
    "dstack": (lambda t: torch.dstack([t, t]), "n m"),
    "column_stack": (lambda t: torch.column_stack([t, t]), "n m"),
    "block_diag": (lambda t, u: torch.block_diag(t, u), "n 2", "2 m"),
    "pad": (lambda t: (F.pad(t, (1, 2)), F.pad(t, (1, 0, 0, 2))), "n m"),
    "pad-value": (lambda t: F.pad(t, (0, 3), value=1.0), "n m"),
    "pad-negative": (lambda t: F.pad(t, (-1, 0)), "n m"),
    "pad-to": (lambda t: F.pad(t, (0, 32 - t.shape[1])), "n m"),
    "pad-reflect-1d": (lambda t: F.pad(t, (1, 2), mode="reflect"), "n 3 m"),
    "pad-replicate-1d": (lambda t: F.pad(t, (1, 2), mode="replicate"), "n 3 m"),
    "pad-circular-1d": (lambda t: F.pad(t, (1, 2), mode="circular"), "n 3 m"),
    "pad-reflect-2d": (
        lambda t: F.pad(t, (1, 1, 1, 1), mode="reflect"),
        "2 3 n m",
    ),
    "pad-replicate-2d": (
        lambda t: F.pad(t, (1, 1, 1, 1), mode="replicate"),
        "2 3 n m",
    ),
}

FACTORIES: dict[str, Row] = {
    "zeros": (lambda t: torch.zeros(t.shape), "n m"),
    "ones-like": (lambda t: (torch.ones_like(t), torch.full_like(t, 2)), "n m"),
    "empty": (lambda t: torch.empty(t.shape[0], 3).fill_(1.0), "n m"),
    "new": (lambda t: (t.new_zeros(t.shape[0]), t.new_full((2,), 1)), "n m"),
    "arange": (lambda t: torch.arange(t.shape[0]), "n m"),
    "arange-range": (lambda t: torch.arange(1, t.shape[0] + 1), "n m"),
    "arange-step": (lambda t: torch.arange(0, t.shape[0], 2), "n m"),
    "arange-down": (lambda t: torch.arange(t.shape[0] - 1, -1, -1), "n m"),
    "arange-float": (
        lambda t: torch.arange(t.shape[0], dtype=torch.float32) / 2,
        "n m",
    ),
    "linspace": (lambda t: torch.linspace(0, 1, t.shape[0]), "n m"),
    "linspace-size": (lambda t: torch.linspace(0, t.shape[0], 5), "n m"),
    "eye": (lambda t: (torch.eye(t.shape[0]), torch.eye(*t.shape)), "n m"),
    "full": (lambda t: torch.full((t.shape[0],), 1.5), "n m"),
    "full-size": (lambda t: torch.full((2,), t.shape[0]), "n m"),
    "tensor-size": (lambda t: torch.tensor(t.shape[0]) + 1, "n m"),
    "rand": (lambda t: torch.rand(t.shape[0], 2), "n m"),
    "randn_like": (lambda t: torch.randn_like(t), "n m"),
    "randint": (lambda t: torch.randint(0, 3, (t.shape[0],)), "n m"),
    "randperm": (lambda t: torch.randperm(t.shape[0]), "n m"),
    "positions": (
        lambda t: torch.arange(t.shape[1])[None].expand(t.shape[0], -1),
        "n m",
    ),
    "mask": (
        lambda t: torch.arange(t.shape[1]) < torch.arange(t.shape[0])[:, None],
        "n m",
    ),
    "multinomial": (lambda t: torch.multinomial(t, 2), "n m"),
}

IMAGES: dict[str, Row] = {
    "conv1d": (lambda t, w: F.conv1d(t, w), "n 3 m", "4 3 3"),
    "conv1d-padded": (
        lambda t, w: F.conv1d(t, w, padding=1, stride=2),
        "n 3 m",
        "4 3 3",
    ),
    "conv2d": (lambda t, w: F.conv2d(t, w), "n 3 m m", "4 3 3 3"),
    "conv2d-sizes": (
        lambda t, w: F.conv2d(t, w, padding=1, stride=2),
        "2 3 n m",
        "4 3 3 3",
    ),
    "conv2d-last": (
        lambda t, w: F.conv2d(t, w, padding=1),
        "2 3 n m:last",
        "4 3 3 3",
    ),
    "conv2d-same": (
        lambda t, w: F.conv2d(t, w, padding="same"),
        "2 3 n m",
        "4 3 3 3",
    ),
    "conv2d-dilated": (
        lambda t, w: F.conv2d(t, w, padding=2, dilation=2),
        "2 3 n m",
        "4 3 3 3",
    ),
    "conv2d-groups": (
        lambda t, w: F.conv2d(t, w, padding=1, groups=3),
        "2 3 n m",
        "3 1 3 3",
    ),
    "conv3d": (
        lambda t, w: F.conv3d(t, w, padding=1),
        "2 3 4 n m",
        "4 3 3 3 3",
    ),
    "conv_transpose1d": (
        lambda t, w: F.conv_transpose1d(t, w, stride=2),
        "n 3 m",
        "3 4 3",
    ),
    "conv_transpose2d": (
        lambda t, w: F.conv_transpose2d(t, w, stride=2),
        "2 3 n m",
        "3 4 3 3",
    ),
    "max_pool1d": (lambda t: F.max_pool1d(t, 2), "n 3 m"),
    "max_pool2d": (lambda t: F.max_pool2d(t, 2), "2 3 n m"),
    "max_pool2d-padded": (
        lambda t: F.max_pool2d(t, 3, stride=2, padding=1),
        "2 3 n m",
    ),
    "max_pool2d-ceil": (
        lambda t: F.max_pool2d(t, 2, ceil_mode=True),
        "2 3 n m",
    ),
    "max_pool2d-last": (lambda t: F.max_pool2d(t, 2), "2 3 n m:last"),
    "max_pool2d-indices": (
        lambda t: F.max_pool2d(t, 2, return_indices=True),
        "2 3 n m",
    ),
    "max_pool3d": (lambda t: F.max_pool3d(t, 2), "2 3 4 n m"),
    "avg_pool1d": (lambda t: F.avg_pool1d(t, 2), "n 3 m"),
    "avg_pool2d": (lambda t: F.avg_pool2d(t, 2, padding=1), "2 3 n m"),
    "avg_pool2d-ceil": (
        lambda t: F.avg_pool2d(t, 3, stride=2, ceil_mode=True),
        "2 3 n m",
    ),
    "avg_pool3d": (lambda t: F.avg_pool3d(t, 2), "2 3 4 n m"),
    "lp_pool2d": (lambda t: F.lp_pool2d(t, 2, 2), "2 3 n m"),
    "adaptive_avg_pool1d": (lambda t: F.adaptive_avg_pool1d(t, 2), "n 3 m"),
    "adaptive_avg_pool2d": (lambda t: F.adaptive_avg_pool2d(t, 2), "2 3 n m"),
    "adaptive_avg_pool2d-1": (
        lambda t: F.adaptive_avg_pool2d(t, 1),
        "2 3 n m",
    ),
    "adaptive_avg_pool3d": (lambda t: F.adaptive_avg_pool3d(t, 2), "2 3 4 n m"),
    "adaptive_max_pool1d": (lambda t: F.adaptive_max_pool1d(t, 2), "n 3 m"),
    "adaptive_max_pool2d": (lambda t: F.adaptive_max_pool2d(t, 2), "2 3 n m"),
    "adaptive_max_pool3d": (lambda t: F.adaptive_max_pool3d(t, 2), "2 3 4 n m"),
    "upsample-nearest-size": (
        lambda t: F.interpolate(t, size=(9, 9)),
        "2 3 n m",
    ),
    "upsample-nearest-1d": (lambda t: F.interpolate(t, size=9), "n 3 m"),
    "upsample-nearest-3d": (
        lambda t: F.interpolate(t, size=(3, 4, 5)),
        "2 3 4 n m",
    ),
    "upsample-nearest-scale": (
        lambda t: F.interpolate(t, scale_factor=2),
        "2 3 n m",
    ),
    "upsample-nearest-exact": (
        lambda t: F.interpolate(t, size=(9, 9), mode="nearest-exact"),
        "2 3 n m",
    ),
    "upsample-linear": (
        lambda t: F.interpolate(t, size=9, mode="linear"),
        "n 3 m",
    ),
    "upsample-bilinear": (
        lambda t: F.interpolate(t, size=(9, 9), mode="bilinear"),
        "2 3 n m",
    ),
    "upsample-bilinear-scale": (
        lambda t: F.interpolate(t, scale_factor=2.0, mode="bilinear"),
        "2 3 n m",
    ),
    "upsample-bilinear-like": (
        lambda t, u: F.interpolate(t, size=u.shape[-2:], mode="bilinear"),
        "2 3 4 4",
        "2 3 n m",
    ),
    "upsample-bilinear-aa": (
        lambda t: F.interpolate(
            t, size=(3, 3), mode="bilinear", antialias=True
        ),
        "2 3 n m",
    ),
    "upsample-bicubic": (
        lambda t: F.interpolate(t, size=(9, 9), mode="bicubic"),
        "2 3 n m",
    ),
    "upsample-bicubic-aa": (
        lambda t: F.interpolate(t, size=(3, 3), mode="bicubic", antialias=True),
        "2 3 n m",
    ),
    "upsample-trilinear": (
        lambda t: F.interpolate(t, size=(3, 4, 5), mode="trilinear"),
        "2 3 4 n m",
    ),
    "pixel_shuffle": (lambda t: F.pixel_shuffle(t, 2), "2 4 n m"),
    "pixel_unshuffle": (lambda t: F.pixel_unshuffle(t, 2), "2 3 2*n 2*m"),
    "channel_shuffle": (lambda t: F.channel_shuffle(t, 2), "2 4 n m"),
    "unfold": (lambda t: F.unfold(t, 2), "2 3 n m"),
    "fold": (
        lambda t: F.fold(t, (4, 4), 2, stride=2),
        "n 8 4",
    ),
    "grid_sample": (
        lambda t, g: F.grid_sample(t, g, align_corners=False),
        "2 3 4 4",
        "2 n m 2",
    ),
    "affine_grid": (
        lambda t: F.affine_grid(t[:, :, :3], [t.shape[0], 3, 4, 4], False),
        "n 2 3",
    ),
}

LOSSES: dict[str, Row] = {
    "mse_loss": (lambda t, u: F.mse_loss(t, u), "n m", "n m"),
    "mse_loss-none": (
        lambda t, u: F.mse_loss(t, u, reduction="none"),
        "n m",
        "n m",
    ),
    "l1_loss": (lambda t, u: F.l1_loss(t, u), "n m", "n m"),
    "smooth_l1_loss": (lambda t, u: F.smooth_l1_loss(t, u), "n m", "n m"),
    "huber_loss": (lambda t, u: F.huber_loss(t, u), "n m", "n m"),
    "bce": (lambda t, u: F.binary_cross_entropy(t, u), "n m", "n m"),
    "bce-logits": (
        lambda t, u: F.binary_cross_entropy_with_logits(t, u),
        "n m",
        "n m",
    ),
    "cross_entropy": (lambda t, i: F.cross_entropy(t, i), "n m", "n:int"),
    "cross_entropy-none": (
        lambda t, i: F.cross_entropy(t, i, reduction="none"),
        "n 4",
        "n:int",
    ),
    "cross_entropy-smooth": (
        lambda t, i: F.cross_entropy(t, i, label_smoothing=0.1),
        "n m",
        "n:int",
    ),
    "cross_entropy-probabilities": (
        lambda t, u: F.cross_entropy(t, u),
        "n m",
        "n m",
    ),
    "cross_entropy-tokens": (
        lambda t, i: F.cross_entropy(t.view(-1, 4), i.view(-1)),
        "n m 4",
        "n m:int",
    ),
    "cross_entropy-shifted": (
        lambda t, i: F.cross_entropy(
            t[:, :-1].reshape(-1, 4), i[:, 1:].reshape(-1)
        ),
        "n m 4",
        "n m:int",
    ),
    "cross_entropy-image": (
        lambda t, i: F.cross_entropy(t, i),
        "2 3 n m",
        "2 n m:int",
    ),
    "nll_loss": (
        lambda t, i: F.nll_loss(t.log_softmax(1), i),
        "n m",
        "n:int",
    ),
    "kl_div": (
        lambda t, u: F.kl_div(t, u, reduction="batchmean"),
        "n m",
        "n m",
    ),
    "margin_ranking_loss": (
        lambda t, u: F.margin_ranking_loss(t, u, torch.ones(1)),
        "n",
        "n",
    ),
    "triplet_margin_loss": (
        lambda t, u: F.triplet_margin_loss(t, u, u * 2),
        "n m",
        "n m",
    ),
    "cosine_embedding_loss": (
        lambda t, u: F.cosine_embedding_loss(t, u, torch.ones(t.shape[0])),
        "n m",
        "n m",
    ),
    "poisson_nll_loss": (lambda t, u: F.poisson_nll_loss(t, u), "n m", "n m"),
    "soft_margin_loss": (lambda t, u: F.soft_margin_loss(t, u), "n m", "n m"),
    "multi_margin_loss": (
        lambda t, i: F.multi_margin_loss(t, i),
        "n m",
        "n:int",
    ),
}

LAYERS: dict[str, Row] = {
    "attention": (
        lambda t: F.scaled_dot_product_attention(t, t, t),
        "n 2 m 4",
    ),
    "attention-causal": (
        lambda t: F.scaled_dot_product_attention(t, t, t, is_causal=True),
        "n 2 m 4",
    ),
    "attention-mask": (
        lambda t, b: F.scaled_dot_product_attention(t, t, t, b),
        "n 2 m 4",
        "m m:bool",
    ),
    "attention-cross": (
        lambda t, u: F.scaled_dot_product_attention(t, u, u),
        "2 2 n 4",
        "2 2 m 4",
    ),
    "attention-grouped": (
        lambda t, u: F.scaled_dot_product_attention(t, u, u, enable_gqa=True),
        "n 4 m 4",
        "n 2 m 4",
    ),
    "attention-by-hand": (
        lambda t: (
            (t @ t.mT / 2 + torch.ones(t.shape[-2:-1]).log()).softmax(-1) @ t
        ),
        "n 2 m 4",
    ),
    "multi-head": (
        lambda t, w: F.multi_head_attention_forward(
            t, t, t, 4, 2, w, None, None, None, False, 0.0, w[:4], None
        )[0],
        "n m 4",
        "12 4",
    ),
    "lstm_cell": (
        lambda t, u, w: torch.lstm_cell(t, (u, u), w, w),
        "n 4",
        "n 4",
        "16 4",
    ),
    "gru_cell": (
        lambda t, u, w: torch.gru_cell(t, u, w, w),
        "n 4",
        "n 4",
        "12 4",
    ),
    "fft": (lambda t: torch.fft.fft(t).abs(), "n m"),
    "rfft": (lambda t: torch.fft.rfft(t).abs(), "n 2*m"),
    "irfft": (lambda t: torch.fft.irfft(torch.fft.rfft(t)), "n 2*m"),
    "fft2": (lambda t: torch.fft.fft2(t).abs(), "n m"),
    "stft": (
        lambda t: torch.stft(
            t, 4, window=torch.ones(4), return_complex=True
        ).abs(),
        "n 2*m",
    ),
    "rotary": (
        lambda t: t * torch.outer(torch.arange(t.shape[1]), t[0, 0]).cos(),
        "n m 4",
    ),
    "alibi": (
        lambda t: (
            t
            + (
                torch.arange(t.shape[0])[:, None]
                - torch.arange(t.shape[0])[None]
            )
        ),
        "n n",
    ),
    "windows": (
        lambda t: (
            t.view(t.shape[0], t.shape[1] // 2, 2, 4)
            .permute(0, 2, 1, 3)
            .reshape(-1, 4)
        ),
        "n 2*m 4",
    ),
    "patches": (
        lambda t, w: F.conv2d(t, w, stride=2).flatten(2).transpose(1, 2),
        "n 3 2*m 2*m",
        "4 3 2 2",
    ),
    "mean-pool": (
        lambda t, b: (
            (t * b[..., None]).sum(1) / b.sum(1, keepdim=True).clamp(min=1)
        ),
        "n m 4",
        "n m:bool",
    ),
    "last-token": (
        lambda t, i: t[torch.arange(t.shape[0]), i],
        "n m 4",
        "n:int",
    ),
}
