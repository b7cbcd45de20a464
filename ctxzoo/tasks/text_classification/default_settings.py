"""The settings of `ctxzoo train text-classification` where nothing else is asked for, and what `--tune` tries.

AdamW at 1e-3 with warm-up, linear decay, a moving average of the weights, dropout and label smoothing: what raised the
scores of most datasets in docs/models/lama.md and docs/models/contextualizer.md, whose tables say by how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE, VARIANT = "text_baseline", "bigru"

_DATA = {
    "cutter": "english",
    "lower_case": True,
    "min_word_count": 2,
    "max_length": 512,
    "word_vectors": None,
    "batch_size": 32,
}
_TASK = {"optimiser": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01, "label_smoothing": 0.1}
_TRAINER = {"epochs": 10, "patience": 3, "precision": "32-true", "ema_decay": 0.999, "gradient_clip": 5.0}
_RUN = {"decay": True, "warmup": 0.1}
_WORDS = {"word_dim": 100, "position_dim": 0, "embedding_bound": 0.1}

# Fields of each architecture's config beside those of its variants, which come first.
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    # The heads of the Transformer divide every width that is searched.
    "text_baseline": {**_WORDS, "dropout": 0.3, "pooled_dropout": 0.3, "num_heads": 5},
    "contextualizer": {**_WORDS, "freeze_embeddings": False, "dropout": 0.3},
    "lama": {**_WORDS, "embedding_dropout": 0.3, "hidden_dropout": 0.3},
}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "learning_rate": (3e-4, 1e-3, 2e-3, 4e-3),
    "batch_size": (16, 32, 64),
    "epochs": (5, 10, 20),
    "weight_decay": (0.0, 0.01, 0.1),
    "label_smoothing": (0.0, 0.1),
    "dropout": (0.1, 0.3, 0.5),
    "embedding_dropout": (0.1, 0.3, 0.5),
    "word_dim": (50, 100, 200),
    "min_word_count": (1, 2, 3),
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the settings; `of_variant` has the fields of the variant.

    Raises:
        ValueError: nobody has written settings for the architecture.
    """
    if architecture not in CONFIGS:
        raise ValueError(
            f"there are no default settings for {architecture}, only for {', '.join(CONFIGS)}; try --settings paper"
        )
    return Preset(
        architecture=architecture,
        variant=variant,
        config={**CONFIGS[architecture], **of_variant},
        data=_DATA,
        task=_TASK,
        trainer=_TRAINER,
        run=_RUN,
    )
