"""The settings of `ctxzoo train token-classification` where nothing else is asked for, and what `--tune` tries.

The optimiser is that of the defaults of text classification; widths are twice those of Ling et al. (2015), whose
vectors were given, and capitals are kept, which tell of names. These are ours; no table has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE = "bilstm_tagger"

DEFAULT = Preset(
    architecture=ARCHITECTURE,
    variant=ARCHITECTURE,
    config={
        "word_dim": 100,
        "recurrent_size": 100,
        "projection_size": 100,
        "embedding_dropout": 0.3,
        "hidden_dropout": 0.3,
    },
    data={"min_word_count": 2, "lower_case": False, "fold_digits": True, "word_vectors": None, "batch_size": 16},
    task={"optimiser": "adamw", "learning_rate": 2e-3, "weight_decay": 0.01, "label_smoothing": 0.1},
    trainer={"epochs": 15, "patience": 4, "precision": "32-true", "ema_decay": 0.999, "gradient_clip": 5.0},
    run={"decay": True, "warmup": 0.1},
)

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
    "batch_size": (8, 16, 32),
    "epochs": (8, 15, 30),
    "embedding_dropout": (0.1, 0.3, 0.5),
    "hidden_dropout": (0.1, 0.3, 0.5),
    "word_dim": (50, 100, 200),
    "recurrent_size": (50, 100, 200),
    "min_word_count": (1, 2),
    "lower_case": (False, True),
}
