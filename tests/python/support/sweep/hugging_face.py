# SPDX-License-Identifier: BSD-3-Clause
"""Rows for the sweep: the architectures of transformers, made tiny.

A config is made small by what its attributes are called, whatever the model;
OVERRIDES says what that leaves out. Nothing is downloaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from support.sweep.rows import Program, Row

VOCABULARY = 99
HIDDEN = 32
LENGTH = 8
IMAGE = 32
LARGEST = 10_000_000

# What attributes of configs are called that size a model.
TINY = (
    dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embed_dim",
         "embedding_size", "embed_dim_per_layer", "d_embed", "hidden_dim",
         "word_embed_proj_dim", "model_dim", "encoder_hidden_size",
         "decoder_hidden_size", "attention_hidden_size", "lru_width",
         "kv_dim", "n_embed", "codebook_dim", "cross_attention_hidden_size"),
        HIDDEN,
    )
    | dict.fromkeys(
        ("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim",
         "d_ff", "d_inner", "n_inner", "hidden_dim_ff", "ffn_hidden_size",
         "moe_intermediate_size", "shared_expert_intermediate_size",
         "mlp_hidden_size", "intermediate_dim", "dense_intermediate_size",
         "intermediate_size_mlp", "mlp_dim", "encoder_intermediate_size",
         "decoder_intermediate_size"),
        64,
    )
    | dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers",
         "encoder_layers", "decoder_layers", "num_encoder_layers",
         "num_decoder_layers", "num_hidden_layers_encoder", "depth",
         "encoder_num_hidden_layers", "decoder_num_hidden_layers"),
        2,
    )
    | dict.fromkeys(
        ("num_attention_heads", "n_head", "n_heads", "num_heads",
         "encoder_attention_heads", "decoder_attention_heads",
         "encoder_num_attention_heads", "decoder_num_attention_heads",
         "encoder_layers_attention_heads", "num_encoder_attention_heads",
         "num_decoder_attention_heads"),
        4,
    )
    | dict.fromkeys(("num_key_value_heads", "num_kv_heads", "n_kv_heads"), 2)
    | dict.fromkeys(("head_dim", "d_kv", "d_head", "attention_head_size"), 8)
    | dict.fromkeys(
        ("vocab_size", "encoder_vocab_size", "decoder_vocab_size",
         "text_vocab_size"), VOCABULARY)
    | dict.fromkeys(
        ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx",
         "max_sequence_length", "max_seq_length", "max_source_positions",
         "max_target_positions", "max_position", "context_length"), 64)
    | dict.fromkeys(
        ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
        4)
    | dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk"), 2)
    | dict.fromkeys(("bos_token_id", "decoder_start_token_id"), 1)
    | dict(image_size=IMAGE, patch_size=8, num_frames=2, eos_token_id=2,
           pad_token_id=0, num_labels=3, sliding_window=4, projection_dim=16,
           tubelet_size=1, state_size=8, sep_token_id=3, cls_token_id=4,
           mask_token_id=3, unk_token_id=4)
)  # fmt: skip

# Lists with one item a stage: how their items begin.
STAGES = dict(depths=1, layer_depths=1)
WIDTHS = ("hidden_sizes", "embed_dims", "neck_hidden_sizes", "embed_dim",
          "encoder_hidden_sizes")  # fmt: skip

# By model type: what the names don't say, or say wrongly.
SPEECH = dict(
    mask_time_length=2, mask_time_min_masks=0, num_conv_pos_embeddings=8,
    num_conv_pos_embedding_groups=2,
)  # fmt: skip
STAGED = dict(image_size=64)
RESNET = dict(
    use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
    backbone_config=dict(
        model_type="resnet", embedding_size=8, hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    ),
)  # fmt: skip
WINDOWED = dict(
    embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4,
    patch_size=4, hidden_size="leave", num_layers="leave",
)  # fmt: skip
ROTARY = dict(rotary_dim=4)
SECTIONS = dict(
    rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, mrope_section=[1, 1, 2]
    )
)
LATENT = dict(
    q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
    v_head_dim=8, head_dim="leave", num_key_value_heads=4, n_group=1,
    topk_group=1, n_routed_experts=4, first_k_dense_replace=1,
)  # fmt: skip
MAMBA2 = dict(mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1,
              mamba_d_state=8, mamba_chunk_size=4)  # fmt: skip
OVERRIDES: dict[str, dict[str, Any]] = {
    "bamba": MAMBA2,
    "codegen": ROTARY,
    "convnext": STAGED,
    "convnextv2": STAGED,
    "cvt": STAGED,
    "data2vec-audio": SPEECH,
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "detr": RESNET | dict(num_queries=5),
    "conditional_detr": RESNET | dict(num_queries=5),
    "dab-detr": RESNET | dict(num_queries=5),
    "deformable_detr": RESNET | dict(num_queries=5, num_feature_levels=3),
    "donut-swin": WINDOWED,
    "dpt": dict(
        neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8,
        backbone_out_indices=[0, 1, 2, 3], num_hidden_layers=4,
    ),
    "efficientnet": dict(image_size=64, hidden_dim=1280),
    "gpt_neo": dict(
        attention_types=[[["global", "local"], 1]], window_size=4,
    ),
    "gptj": ROTARY,
    "granitemoehybrid": MAMBA2,
    "hubert": SPEECH,
    "lilt": dict(hidden_size=48, max_2d_position_embeddings=64),
    "luke": dict(entity_vocab_size=50, entity_emb_size=16),
    "lxmert": dict(
        l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=16,
        num_hidden_layers="leave",
    ),
    "mamba2": dict(
        num_heads=8, head_dim=8, n_groups=1, chunk_size=4, time_step_rank=4,
    ),
    "perceiver": dict(
        num_latents=8, d_latents=32, num_self_attends_per_block=2,
        num_self_attention_heads=4, num_cross_attention_heads=4,
        max_position_embeddings=LENGTH,
    ),
    "qwen2_vl": dict(text_config=SECTIONS),
    "recurrent_gemma": dict(
        num_hidden_layers=3, attention_window_size=4,
    ),
    "reformer": dict(
        is_decoder=True, attn_layers=["local", "lsh"], axial_pos_shape=[4, 2],
        axial_pos_embds_dim=[16, 16], local_attn_chunk_length=4,
        lsh_attn_chunk_length=4, num_buckets=2, feed_forward_size=32,
        num_hidden_layers="leave",
    ),
    "swin": WINDOWED,
    "swinv2": WINDOWED,
    "unispeech": SPEECH,
    "unispeech-sat": SPEECH,
    "wav2vec2": SPEECH,
    "wav2vec2-conformer": SPEECH,
    "wavlm": SPEECH,
    "zamba": dict(
        num_hidden_layers=5, attention_hidden_size=64, attention_head_dim=16,
        mamba_dt_rank=4, num_key_value_heads=4,
        layers_block_type=[
            "linear_attention", "hybrid", "linear_attention", "hybrid",
            "linear_attention",
        ],
    ),
}  # fmt: skip

# Kinds of models, in the order in which one is chosen for a model type, and
# what their labels are.
KINDS = (
    ("CAUSAL_LM", "tokens"),
    ("MASKED_LM", "tokens"),
    ("SEQ_TO_SEQ_CAUSAL_LM", "tokens"),
    ("SPEECH_SEQ_2_SEQ", "tokens"),
    ("IMAGE_TEXT_TO_TEXT", "tokens"),
    ("CTC", "tokens"),
    ("IMAGE_CLASSIFICATION", "classes"),
    ("VIDEO_CLASSIFICATION", "classes"),
    ("AUDIO_CLASSIFICATION", "classes"),
    ("SEMANTIC_SEGMENTATION", "pixels"),
    ("OBJECT_DETECTION", "none"),
    ("DEPTH_ESTIMATION", "none"),
    ("UNIVERSAL_SEGMENTATION", "none"),
    ("", "none"),
)


def kinds() -> Iterator[tuple[str, str, str]]:
    """(model type, class, kind of labels) of everything that can be tried."""
    for model_type in CONFIG_MAPPING_NAMES:
        for kind, labels in KINDS:
            name = f"MODEL_{'FOR_' if kind else ''}{kind}{'_' if kind else ''}MAPPING_NAMES"
            model = getattr(modeling_auto, name).get(model_type)
            if model:
                model = model[0] if isinstance(model, (tuple, list)) else model
                yield model_type, model, labels
                break


def tiny(values: dict[str, Any]) -> dict[str, Any]:
    """What to change of a config's values."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            inner = tiny(value)
            if inner and ("model_type" in value or "_config" in name):
                changed[name] = inner
        elif isinstance(value, (list, tuple)) and value:
            if name in STAGES:
                changed[name] = [STAGES[name]] * len(value)
            elif name in WIDTHS:
                changed[name] = [8 * 2**i for i in range(len(value))]
            elif name == "conv_dim":
                changed[name] = [HIDDEN] * len(value)
            elif name == "image_size":
                changed[name] = [IMAGE] * len(value)
            elif name == "num_attention_heads":
                changed[name] = [2] * len(value)
        elif name in TINY and isinstance(value, (int, type(None))):
            if value is not None or name in ("head_dim", "num_key_value_heads"):
                changed[name] = TINY[name]
    return changed


def merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """`b` over `a`, dict by dict."""
    result = dict(a)
    for name, value in b.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            value = merged(result[name], value)
        result[name] = value
    return result


def config_of(model_type: str) -> Any:
    """A small config of the model type."""
    cls = getattr(transformers, CONFIG_MAPPING_NAMES[model_type])
    values = merged(tiny(cls().to_dict()), OVERRIDES.get(model_type, {}))
    for name in [name for name, value in values.items() if value == "leave"]:
        del values[name]
    return cls(**values)


def tokens(length: int = LENGTH) -> torch.Tensor:
    """Ids that are no special token."""
    return torch.randint(5, VOCABULARY, (2, length))


def find(config: Any, name: str, otherwise: Any) -> Any:
    """An attribute of a config or of the first inner config that has it."""
    if getattr(config, name, None) is not None:
        return getattr(config, name)
    for value in vars(config).values():
        if isinstance(value, transformers.PretrainedConfig):
            found = find(value, name, None)
            if found is not None:
                return found
    return otherwise


def image_of(config: Any) -> torch.Tensor:
    """Pixels as the config wants them."""
    size = find(config, "image_size", IMAGE)
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return torch.randn(2, find(config, "num_channels", 3), height, width)


def inputs_of(model: Any, labels: str) -> dict[str, Any]:
    """What the model's forward takes."""
    config = model.config
    names = inspect.signature(model.forward).parameters
    main = model.main_input_name
    inputs: dict[str, Any] = {}
    if "input_ids" in names and main not in (
        "pixel_values",
        "input_values",
        "input_features",
        "inputs",
    ):
        inputs["input_ids"] = tokens()
        if "attention_mask" in names:
            inputs["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.long)
    if main in ("pixel_values", "pixel_values_videos") or (
        "pixel_values" in names and labels == "none"
    ):
        inputs[main if main.startswith("pixel") else "pixel_values"] = image_of(
            config
        )
        frames = getattr(config, "num_frames", None)
        if frames and labels == "classes" or main == "pixel_values_videos":
            inputs[main] = torch.randn(2, frames or 2, 3, IMAGE, IMAGE)
        if model.config.model_type == "xclip":
            inputs["pixel_values"] = torch.randn(2, 2, 3, IMAGE, IMAGE)
    if main == "inputs":
        inputs[main] = tokens()
    if main == "input_values":
        inputs[main] = torch.randn(2, 2000)
    if main == "input_features":
        inputs[main] = torch.randn(2, find(config, "num_mel_bins", 80), 60)
    if "decoder_input_ids" in names:
        inputs["decoder_input_ids"] = tokens()
    return inputs


def labels_of(model: Any, kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Labels, if the model's forward takes any."""
    if "labels" not in inspect.signature(model.forward).parameters:
        return {}
    if kind == "tokens":
        return {"labels": tokens()}
    if kind == "classes":
        return {"labels": torch.tensor([1, 0])}
    if kind == "pixels":
        height, width = inputs["pixel_values"].shape[-2:]
        return {"labels": torch.randint(0, 2, (2, height, width))}
    return {}


def row(model_type: str, model: str, kind: str) -> Row:
    """One architecture."""

    def programs(training: bool) -> Iterator[Program]:
        cls = getattr(transformers, model)
        with torch.device("meta"):
            size = sum(
                p.numel() for p in cls(config_of(model_type)).parameters()
            )
        if size > LARGEST:
            raise ValueError(f"{size} parameters in the smallest config")

        def build() -> Any:
            torch.manual_seed(0)
            return cls(config_of(model_type)).train(training)

        def arguments() -> tuple[tuple[Any, ...], dict[str, Any]]:
            torch.manual_seed(1)
            made = build()
            inputs = inputs_of(made, kind)
            if training:
                inputs |= labels_of(made, kind, inputs)
            return (), inputs

        yield Program(model, build, arguments)

    return Row(model_type, programs)


def rows() -> list[Row]:
    """Every architecture, as far as it can be made."""
    return [row(*found) for found in kinds()]
