"""The settings of `ctxzoo train text-classification` where nothing else is asked for, and what `--tune` tries.

One setting for all data. A convolutional network reads the words, and beside it stands a linear classifier of words,
pairs of words and n-grams of characters (the wide part of a model, Cheng et al. 2016), which is fitted apart; their
log-odds are added. docs/default_settings.md has its scores. Encoders read words alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE, VARIANT = "text_baseline", "cnn"

BUCKETS = 2**18  # of n-grams of words, and as many of characters
_DATA = {
    "cutter": "english",
    "lower_case": True,
    "min_word_count": 2,
    "max_length": 1024,
    "ngram_order": 2,
    "ngram_buckets": BUCKETS,
    "char_ngrams": (2, 5),
    "char_ngram_buckets": BUCKETS,
    "wide": True,
    "wide_rows": None,
    "wide_cost": None,
    "word_vectors": None,
    "batch_size": 64,
}
_TASK = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01, "label_smoothing": 0.1}
_TRAINER = {"epochs": 10, "patience": 0, "precision": "32-true", "ema_decay": 0.999, "gradient_clip": 5.0}
_RUN = {"decay": True, "warmup": 0.1}
_WORDS = {"word_dim": 100, "position_dim": 0, "embedding_bound": 0.1, "wide_dropout": 1.0, "deep_scale": 0.25}
_ENCODER: Mapping[str, Any] = {
    **{"word_dim": 100, "hidden_size": 100, "num_heads": 5, "num_layers": 1, "inner_size": 200, "dropout": 0.3},
    "hidden_dropout": 0.1,
}
# What a network without a wide part reads: words alone.
_WORDS_ALONE: Mapping[str, Any] = {
    **{"wide": False, "ngram_order": 1, "ngram_buckets": 0, "char_ngrams": None, "char_ngram_buckets": 0},
}

# Fields of each architecture's config beside those of its variants, which come first.
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "beta_lstm": {**_WORDS, "num_layers": 1, "bidirectional": True, "dropout": 0.3},
    "kernel_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "text_baseline": {**_WORDS, "kernel_sizes": [2, 3, 4], "dropout": 0.5, "pooled_dropout": 0.5},
    "contextualizer": {**_WORDS, "freeze_embeddings": False, "dropout": 0.3},
    "lama": {**_WORDS, "embedding_dropout": 0.3, "hidden_dropout": 0.3},
}
# And of a variant: what its positions are added to is as wide as the words, and a multiple of the heads.
OF_VARIANT: Mapping[str, Mapping[str, Any]] = {"transformer": {"transformer_size": 100, "num_heads": 5}}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (16, 32, 64),
    "epochs": (5, 10, 20),
    "weight_decay": (0.0, 0.01, 0.1),
    "label_smoothing": (0.0, 0.1),
    "dropout": (0.1, 0.3, 0.5),
    "embedding_dropout": (0.1, 0.3, 0.5),
    "hidden_dropout": (0.1, 0.3, 0.5),
    "pooled_dropout": (0.3, 0.5, 0.7),
    "word_dim": (50, 100, 200),
    "min_word_count": (1, 2, 3),
    **{"ngram_order": (2, 3), "char_ngrams": ((2, 4), (2, 5), (3, 6)), "wide_cost": (None, 0.1, 0.4, 1.6)},
    "deep_scale": (0.125, 0.25, 0.5, 1.0),
}
# What the wide part reads and how it is fitted; a preset without that part has no use for them.
WIDE = ("ngram_order", "char_ngrams", "wide_cost", "deep_scale")


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
        config={**CONFIGS[architecture], **OF_VARIANT.get(variant, {}), **of_variant},
        data=_DATA if "wide_dropout" in CONFIGS[architecture] else {**_DATA, **_WORDS_ALONE},
        task=_TASK,
        trainer=_TRAINER,
        run=_RUN,
        only_if_changed={"wide_rows": None, "wide_cost": None},
    )
