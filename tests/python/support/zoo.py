# SPDX-License-Identifier: BSD-3-Clause
"""The architectures of transformers that must be captured in one graph.

Each row makes a tiny model with random weights from its config class, and the
inputs of a forward pass with labels; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import (
    BartConfig,
    BertConfig,
    BloomConfig,
    CLIPConfig,
    ConvNextConfig,
    DebertaV2Config,
    DetrConfig,
    DistilBertConfig,
    ElectraConfig,
    FalconConfig,
    Gemma2Config,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    Mamba2Config,
    MistralConfig,
    MixtralConfig,
    OPTConfig,
    PerceiverConfig,
    Phi3Config,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
    ResNetConfig,
    RobertaConfig,
    SwinConfig,
    T5Config,
    ViTConfig,
    Wav2Vec2Config,
    WhisperConfig,
    XLNetConfig,
)
from transformers.utils.logging import warning_once

VOCABULARY = 99
HIDDEN = 32
LAYERS = 2
LENGTH = 7
IMAGE = 32

# What most configs of text models call these things.
TEXT = dict(
    vocab_size=VOCABULARY,
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=4,
    intermediate_size=37,
    max_position_embeddings=64,
)
DECODER = TEXT | dict(
    num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0
)
VISION = dict(
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=4,
    intermediate_size=37,
    image_size=IMAGE,
    patch_size=8,
)


def token_ids(*shape: int) -> torch.Tensor:
    """Ids that are no special token of any of the configs."""
    return torch.randint(5, VOCABULARY, shape)


Inputs = dict[str, torch.Tensor]


def text(batch: int = 2, length: int = LENGTH) -> Inputs:
    return {"input_ids": token_ids(batch, length)}


def masked_text(batch: int = 2, length: int = LENGTH) -> Inputs:
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[1:, -2:] = 0
    return text(batch, length) | {"attention_mask": mask}


def image(batch: int = 2, size: int = IMAGE) -> Inputs:
    return {"pixel_values": torch.randn(batch, 3, size, size)}


def text_and_image(batch: int = 2, length: int = LENGTH) -> Inputs:
    # CLIP pools the text at the id of the end of the sentence.
    ids = token_ids(batch, length)
    ids[:, -1] = CLIP_END
    return {"input_ids": ids} | image(batch)


def speech(batch: int = 2, length: int = LENGTH) -> Inputs:
    return {
        "input_features": torch.randn(batch, 80, 60),
        "decoder_input_ids": token_ids(batch, length),
    }


def text_to_text(batch: int = 2, length: int = LENGTH) -> Inputs:
    return masked_text(batch, length) | {
        "decoder_input_ids": token_ids(batch, length)
    }


def sound() -> dict[str, torch.Tensor]:
    return {"input_values": torch.randn(2, 1600)}


def anything() -> dict[str, torch.Tensor]:
    return {"inputs": token_ids(2, LENGTH)}


def token_labels(inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"labels": token_ids(2, LENGTH)}


def class_labels(inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"labels": torch.tensor([1, 0])}


def own_loss(inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"return_loss": True}


CLIP_END = VOCABULARY - 1


# The tests of models/test_models.py and models/test_inductor.py by the second
# word of their names.
CAPTURED = frozenset(
    {
        "inference",
        "training",
        "calls",
        "generation",
        "static",
        "generate",
        "inductor",
    }  # fmt: skip
)


@dataclass(frozen=True)
class Architecture:
    """One row: how to make the model, its inputs and its training labels."""

    name: str
    model: str  # a class of transformers
    config: Callable[[], Any]
    inputs: Callable[..., dict[str, torch.Tensor]]
    labels: Callable[[dict[str, torch.Tensor]], dict[str, Any]]
    # Which tests of models/test_models.py run by default: those that pass today.
    captured: frozenset[str] = CAPTURED
    # Graphs that torch.compile needs for a training step of the defaults.
    training_graphs: int = 1

    def build(
        self, *, training: bool = False, seed: int = 0
    ) -> PreTrainedModel:
        # What is warned of once is warned of in each model.
        warning_once.cache_clear()
        torch.manual_seed(seed)
        model = getattr(transformers, self.model)(self.config())
        return model.train(training)

    def arguments(
        self, *, training: bool = False, seed: int = 1
    ) -> dict[str, Any]:
        torch.manual_seed(seed)
        inputs = self.inputs()
        return inputs | self.labels(inputs) if training else inputs


ARCHITECTURES = [
    Architecture(
        "bert", "BertForMaskedLM", lambda: BertConfig(**TEXT), masked_text,
        token_labels,
    ),
    Architecture(
        "roberta", "RobertaForMaskedLM",
        lambda: RobertaConfig(**TEXT, pad_token_id=1), masked_text,
        token_labels,
    ),
    Architecture(
        "distilbert", "DistilBertForMaskedLM",
        lambda: DistilBertConfig(
            vocab_size=VOCABULARY, dim=HIDDEN, n_layers=LAYERS, n_heads=4,
            hidden_dim=37, max_position_embeddings=64,
        ),
        masked_text, token_labels,
    ),
    Architecture(
        "electra", "ElectraForMaskedLM",
        lambda: ElectraConfig(**TEXT, embedding_size=16), masked_text,
        token_labels,
    ),
    Architecture(
        "gpt2", "GPT2LMHeadModel",
        lambda: GPT2Config(
            vocab_size=VOCABULARY, n_embd=HIDDEN, n_layer=LAYERS, n_head=4,
            n_positions=64, bos_token_id=1, eos_token_id=2,
        ),
        text, token_labels,
        training_graphs=2,  # it warns that the config names no loss
    ),
    Architecture(
        "gpt_neox", "GPTNeoXForCausalLM",
        lambda: GPTNeoXConfig(**TEXT, bos_token_id=1, eos_token_id=2), text,
        token_labels,
    ),
    Architecture(
        "opt", "OPTForCausalLM",
        lambda: OPTConfig(
            vocab_size=VOCABULARY, hidden_size=HIDDEN, ffn_dim=37,
            word_embed_proj_dim=HIDDEN, num_hidden_layers=LAYERS,
            num_attention_heads=4, max_position_embeddings=64,
        ),
        text, token_labels,
    ),
    Architecture(
        "llama", "LlamaForCausalLM", lambda: LlamaConfig(**DECODER), text,
        token_labels,
    ),
    Architecture(
        "mistral", "MistralForCausalLM",
        lambda: MistralConfig(**DECODER, sliding_window=4), text, token_labels,
    ),
    Architecture(
        "qwen2", "Qwen2ForCausalLM", lambda: Qwen2Config(**DECODER), text,
        token_labels,
    ),
    Architecture(
        "qwen3", "Qwen3ForCausalLM",
        lambda: Qwen3Config(**DECODER, head_dim=8), text, token_labels,
    ),
    Architecture(
        "gemma2", "Gemma2ForCausalLM",
        lambda: Gemma2Config(**DECODER, head_dim=8, sliding_window=4), text,
        token_labels,
    ),
    Architecture(
        "phi3", "Phi3ForCausalLM", lambda: Phi3Config(**DECODER), text,
        token_labels,
    ),
    Architecture(
        "t5", "T5ForConditionalGeneration",
        lambda: T5Config(
            vocab_size=VOCABULARY, d_model=HIDDEN, d_kv=8, d_ff=37,
            num_layers=LAYERS, num_heads=4, decoder_start_token_id=0,
        ),
        text_to_text, token_labels,
    ),
    Architecture(
        "bart", "BartForConditionalGeneration",
        lambda: BartConfig(
            vocab_size=VOCABULARY, d_model=HIDDEN, encoder_layers=LAYERS,
            decoder_layers=LAYERS, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37,
            max_position_embeddings=64,
        ),
        text_to_text, token_labels,
    ),
    Architecture(
        "vit", "ViTForImageClassification", lambda: ViTConfig(**VISION), image,
        class_labels,
    ),
    Architecture(
        "convnext", "ConvNextForImageClassification",
        lambda: ConvNextConfig(
            hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1],
            image_size=IMAGE,
        ),
        image, class_labels,
    ),
    Architecture(
        "resnet", "ResNetForImageClassification",
        lambda: ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1],
        ),
        image, class_labels,
    ),
    Architecture(
        "clip", "CLIPModel",
        lambda: CLIPConfig(
            text_config=TEXT | dict(bos_token_id=1, eos_token_id=CLIP_END),
            vision_config=VISION, projection_dim=16,
        ),
        text_and_image, own_loss,
    ),
    Architecture(
        "whisper", "WhisperForConditionalGeneration",
        lambda: WhisperConfig(
            vocab_size=VOCABULARY, d_model=HIDDEN, encoder_layers=LAYERS,
            decoder_layers=LAYERS, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37,
            max_source_positions=30, max_target_positions=64,
            pad_token_id=0, bos_token_id=1, eos_token_id=2,
            decoder_start_token_id=3,
        ),
        speech, token_labels,
    ),
]  # fmt: skip

# Of the others (`make sweep` tries them all), those most unlike the twenty and
# each other.
STEPS = frozenset({"inference", "training", "calls"})
ARCHITECTURES += [
    Architecture(
        "mixtral", "MixtralForCausalLM",
        lambda: MixtralConfig(
            **DECODER | dict(intermediate_size=32),
            num_local_experts=4, num_experts_per_tok=2,
        ),
        text, token_labels, STEPS,
    ),
    Architecture(
        "falcon", "FalconForCausalLM",
        lambda: FalconConfig(
            vocab_size=VOCABULARY, hidden_size=HIDDEN,
            num_hidden_layers=LAYERS, num_attention_heads=4,
        ),
        text, token_labels, STEPS,
    ),
    Architecture(
        "deberta_v2", "DebertaV2ForMaskedLM",
        lambda: DebertaV2Config(
            **TEXT, relative_attention=True, position_buckets=8,
            pos_att_type=["p2c", "c2p"],
        ),
        masked_text, token_labels, STEPS,
    ),
    Architecture(
        "xlnet", "XLNetLMHeadModel",
        lambda: XLNetConfig(
            vocab_size=VOCABULARY, d_model=HIDDEN, n_layer=LAYERS, n_head=4,
            d_inner=37,
        ),
        text, token_labels, STEPS,
    ),
    Architecture(
        "mamba2", "Mamba2ForCausalLM",
        lambda: Mamba2Config(
            vocab_size=VOCABULARY, hidden_size=HIDDEN,
            num_hidden_layers=LAYERS, num_heads=8, head_dim=8, n_groups=1,
            state_size=8, chunk_size=4, bos_token_id=1, eos_token_id=2,
            pad_token_id=0,
        ),
        text, token_labels, STEPS,
    ),
    Architecture(
        "bloom", "BloomForCausalLM",
        lambda: BloomConfig(
            vocab_size=VOCABULARY, hidden_size=HIDDEN, n_layer=LAYERS,
            n_head=4,
        ),
        # Its activation has a backward of its own.
        text, token_labels, frozenset({"inference"}),
    ),
    Architecture(
        "swin", "SwinForImageClassification",
        lambda: SwinConfig(
            image_size=IMAGE, patch_size=4, embed_dim=16, depths=[2, 1],
            num_heads=[2, 4], window_size=4,
        ),
        image, class_labels, STEPS, training_graphs=2,
    ),
    Architecture(
        "detr", "DetrForObjectDetection",
        lambda: DetrConfig(
            d_model=HIDDEN, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=37, decoder_ffn_dim=37, num_queries=5,
            use_timm_backbone=False, use_pretrained_backbone=False,
            backbone=None,
            backbone_config=ResNetConfig(
                embedding_size=8, hidden_sizes=[8, 16, 24, 32],
                depths=[1, 1, 1, 1], out_features=["stage4"],
            ),
        ),
        # Its loss needs SciPy.
        image, class_labels, frozenset({"inference"}),
    ),
    Architecture(
        "wav2vec2", "Wav2Vec2ForCTC",
        lambda: Wav2Vec2Config(
            **TEXT, conv_dim=[HIDDEN] * 3, conv_stride=[5, 4, 4],
            conv_kernel=[10, 4, 4], num_feat_extract_layers=3,
            num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
            apply_spec_augment=False, layerdrop=0.0,
        ),
        # Training, it looks at its labels' data.
        sound, token_labels, STEPS - {"calls"}, training_graphs=7,
    ),
    Architecture(
        "perceiver", "PerceiverForMaskedLM",
        lambda: PerceiverConfig(
            vocab_size=VOCABULARY, d_model=HIDDEN, d_latents=HIDDEN,
            num_latents=8, num_self_attends_per_block=LAYERS,
            num_self_attention_heads=4, num_cross_attention_heads=4,
            max_position_embeddings=LENGTH,
        ),
        anything, token_labels, STEPS,
    ),
]  # fmt: skip

BY_NAME = {row.name: row for row in ARCHITECTURES}


def run_step(call, model, arguments, training):
    """One forward pass, and the gradients of its loss when training."""
    torch.manual_seed(0)
    with torch.set_grad_enabled(training):
        result = call(**arguments)
        if training:
            result.loss.backward()
    gradients = {n: p.grad for n, p in model.named_parameters()}
    return dict(
        result=result, gradients=gradients, buffers=dict(model.named_buffers())
    )
