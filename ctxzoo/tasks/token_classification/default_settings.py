"""The settings of `ctxzoo train token-classification` where nothing else is asked for, and what `--tune` tries.

The optimizer is that of the defaults of text classification; widths are twice those of Ling et al. (2015), whose
vectors were given, and capitals are kept, which tell of names. These are ours; no table has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE = "bilstm_tagger"

_ENCODER: Mapping[str, Any] = {
    **{"word_dim": 100, "hidden_size": 100, "num_heads": 5, "num_layers": 2, "inner_size": 200, "dropout": 0.3},
    "hidden_dropout": 0.1,
}
# Fields of each architecture's config beside those of its variants.
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "bilstm_tagger": {
        **{"word_dim": 100, "recurrent_size": 100, "projection_size": 100, "embedding_dropout": 0.3},
        "hidden_dropout": 0.3,
    },
    "kernel_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, "attention_dropout": 0.1},
}
DATA: Mapping[str, Any] = {
    **{"min_word_count": 2, "lower_case": False, "fold_digits": True, "word_vectors": None, "batch_size": 16},
}
TASK: Mapping[str, Any] = {
    **{"optimizer": "adamw", "learning_rate": 2e-3, "weight_decay": 0.01, "label_smoothing": 0.1},
}
TRAINER: Mapping[str, Any] = {
    **{"epochs": 15, "patience": 4, "precision": "32-true", "ema_decay": 0.999, "gradient_clip": 5.0},
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the default settings of a variant of an architecture, whose config has the fields `of_variant`."""
    return Preset(
        architecture=architecture,
        variant=variant,
        config={**CONFIGS[architecture], **of_variant},
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
        run={"decay": True, "warmup": 0.1},
    )


SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (8, 16, 32),
    "epochs": (8, 15, 30),
    "embedding_dropout": (0.1, 0.3, 0.5),
    "hidden_dropout": (0.1, 0.3, 0.5),
    "word_dim": (50, 100, 200),
    "recurrent_size": (50, 100, 200),
    "projection_size": (50, 100, 200),
    "hidden_size": (50, 100, 200),
    "num_layers": (1, 2, 3),
    "weight_decay": (0.0, 0.01, 0.1),
    "label_smoothing": (0.0, 0.1),
    "min_word_count": (1, 2),
    "lower_case": (False, True),
}
