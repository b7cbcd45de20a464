"""The settings of `ctxzoo train language-modelling` where nothing else is asked for, and what `--tune` tries.

Sizes are those of the recipe for the Penn Treebank, with stronger dropout for smaller texts, and words that occur twice
so that the unknown word is learned. An encoder reads the keys of two windows before its own. These are ours; no
table has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxzoo.runs.preset import Preset
from ctxzoo.runs.spaces import Between, Space

ARCHITECTURE, VARIANT = "beta_lstm", "lstm"

_OF_ALL: Mapping[str, Any] = {"num_layers": 2, "word_dim": 200}
_ENCODER: Mapping[str, Any] = {
    **_OF_ALL,
    **{"hidden_size": 200, "num_heads": 4, "position": "rotary", "causal": True, "dropout": 0.3, "hidden_dropout": 0.3},
}
_KEYS: Mapping[str, Any] = {"memory_length": 70, "attention_dropout": 0.1}  # of attention that keeps keys
_ADAMW: Mapping[str, Any] = {
    **{"optimizer": "adamw", "learning_rate": 1e-3, "momentum": None, "weight_decay": 0.01, "halve_after": 1},
}
# Fields of each architecture's config beside those of its variants.
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "beta_lstm": {
        **_OF_ALL,
        **{
            "embedding_seed": None,
            "embedding_bound": 1.0,
            "kl_lambda": 0.0,
            "dropout": 0.3,
            "locked_dropout": 0.3,
            "weight_dropout": 0.0,
        },
    },
    "kernel_encoder": {**_ENCODER, **_KEYS},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, **_KEYS},
}
DATA: Mapping[str, Any] = {
    **{"min_word_count": 2, "lower_case": True, "cutter": "english"},
    **{"batch_size": 10, "bptt": 35},
}
# The rate of stochastic gradient descent is that of a recurrent model.
TASKS: Mapping[str, Mapping[str, Any]] = {
    "beta_lstm": {
        **{"optimizer": "sgd", "learning_rate": 20.0, "momentum": 0.0, "weight_decay": 0.0, "halve_after": 1},
    },
    **dict.fromkeys(("kernel_encoder", "linear_encoder", "higher_order_encoder"), _ADAMW),
}
TRAINER: Mapping[str, Any] = {
    **{"epochs": 40, "patience": 5, "precision": "32-true", "ema_decay": 0.0, "gradient_clip": 0.25},
}

SEARCH_SPACE: Space = {
    "batch_size": (5, 10, 20),
    "hidden_size": (120, 200, 320),  # a head of the four has an even number of them, which rotary positions need
    "word_dim": (100, 200, 300),
    "num_layers": (1, 2, 3),
    "dropout": Between(0.1, 0.5),
    "locked_dropout": Between(0.1, 0.5),
    "weight_dropout": Between(0.0, 0.4),
    "hidden_dropout": Between(0.1, 0.5),
    "attention_dropout": Between(0.0, 0.3),
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the default settings of a variant of an architecture, whose config has the fields `of_variant`."""
    return Preset(
        architecture=architecture,
        variant=variant,
        config={**CONFIGS[architecture], **of_variant},
        data=dict(DATA),
        task=dict(TASKS[architecture]),
        trainer=dict(TRAINER),
    )
