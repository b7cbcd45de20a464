"""The settings of `ctxzoo train word-embeddings` where nothing else is asked for, and what `--tune` tries.

Attention CBOW as Ling et al. (2015) train it, but for what suits a text of a user's own, which is smaller than theirs:
a window of ten words, more passes and rarer words, after word2vec's customs (min_count 5, 5 passes, 5 noise words).
"""

from __future__ import annotations

from ctxzoo.runs.preset import Preset
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.tasks.word_embeddings.settings import CUSTOMS

ARCHITECTURE, VARIANT = "word_embedding", "attention_cbow"

# What changes the vocabulary is not searched: scores over other words do not compare.
SEARCH_SPACE: Space = {
    "epochs": Between(3, 20),
    "window": Between(3, 10),
    "word_dim": (50, 100, 200),
    "negative_samples": Between(5, 10),
    "subsampling": Between(0.0, 1e-3),
}


def default_preset(variant: str) -> Preset:
    """Return the settings for one of the architectures of `CUSTOMS`."""
    return Preset(
        architecture=ARCHITECTURE,
        variant=variant,
        config={"word_dim": 100, "window": 10},
        data={"cutter": "english", "lower_case": True, "fold_digits": True, "min_count": 5},
        task={"epochs": 5, "negative_samples": 5, "subsampling": 0.0, **CUSTOMS[variant]._asdict()},
        run={"test_words": 5000},
    )
