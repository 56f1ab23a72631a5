# SPDX-License-Identifier: BSD-3-Clause
"""The programs that are compiled: functions of a few lines, and models of
transformers with random weights, made from their config classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

SEED = 0


@dataclass(frozen=True)
class Model:
    """A model in inference mode with the arguments of its call."""

    module: Any
    arguments: dict[str, Any]


def llama(layers: int, hidden: int = 64) -> Model:
    """LlamaForCausalLM without a cache: its only output is the logits."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    ids = torch.randint(0, config.vocab_size, (1, 16))
    arguments = {"input_ids": ids, "use_cache": False}
    return Model(LlamaForCausalLM(config).eval(), arguments)


def bert(layers: int = 4, hidden: int = 64) -> Model:
    """BertForMaskedLM with an attention mask."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(SEED)
    config = BertConfig(
        vocab_size=1000,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
    )
    ids = torch.randint(0, config.vocab_size, (2, 16))
    arguments = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return Model(BertForMaskedLM(config).eval(), arguments)


def vit(layers: int = 4, hidden: int = 64) -> Model:
    """ViTForImageClassification on two small images."""
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(SEED)
    config = ViTConfig(
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
    )
    arguments = {"pixel_values": torch.randn(2, 3, 32, 32)}
    return Model(ViTForImageClassification(config).eval(), arguments)


def unrolled_loop(x: torch.Tensor) -> torch.Tensor:
    """A loop that becomes a graph of 1,000 calls."""
    for i in range(1000):
        x = x + i
    return x


def integer_loop(x: torch.Tensor) -> torch.Tensor:
    """20,000 steps of arithmetic on Python integers, and one call."""
    total = 0
    for i in range(20000):
        total = (total * 3 + i) % 1000003
    return x + total


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """One line, two arguments."""
    return x + y


def increment(x: torch.Tensor) -> torch.Tensor:
    """One line, one argument."""
    return x + 1
