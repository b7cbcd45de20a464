"""The settings of `ctxzoo train question-answering` where nothing else is asked for, and what `--tune` tries.

Reader, optimizer and rate are those with the best validation F1 among the trials of docs/results/bidaf.md: characters
without positions, self-attention after the attention flow, word features, and AdamW at 3e-3 with warm-up and linear
decay. More epochs than the four of those trials are for data of a few thousand questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxzoo.runs.preset import Preset
from ctxzoo.runs.spaces import Between, Space

ARCHITECTURE, VARIANT = "bidaf", "char7"
LEVERS = ("context_self_attention", "word_features")

_TASK = {"optimizer": "adamw", "learning_rate": 3e-3, "weight_decay": 0.01}
_TRAINER = {"epochs": 8, "patience": 3, "precision": "32-true", "ema_decay": 0.999, "gradient_clip": 5.0}

SEARCH_SPACE: Space = {
    "batch_size": (16, 32, 64),
    "epochs": Between(4, 12),
    "hidden_size": (50, 100, 150),
    "dropout": Between(0.1, 0.3),
    "weight_decay": Between(0.0, 0.1),
    "word_embedding_size": (50, 100, 200),
    "min_word_count": Between(1, 3),
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the settings; `of_variant` has the fields of the variant."""
    return Preset(
        architecture=architecture,
        variant=variant,
        config={"hidden_size": 100, "dropout": 0.2, **dict.fromkeys(LEVERS, True), **of_variant},
        data={
            "word_vectors": None,
            "word_embedding_size": 100,
            "min_word_count": 2,
            "characters": "char" in variant,
            "word_features": True,
            "batch_size": 32,
        },
        task=_TASK,
        trainer=_TRAINER,
        run={"best_by": "f1", "decay": True, "warmup": 0.05},
    )
