"""The settings of `ctxzoo train session-recommendation` where nothing else is asked for, and what `--tune` tries.

Model and rates are those of HCRNN's authors. Sizes, dropout and the moving average were chosen on validation sessions
of CiteULike (docs/results/hcrnn.md, twice the width); how many items are read and when it ends are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE, VARIANT = "hcrnn", "hcrnn3_bi"

CONFIG: Mapping[str, Any] = {
    "embedding_size": 200,
    "hidden_size": 200,
    "embedding_dropout": 0.5,
    "pooled_dropout": 0.5,
}
DATA: Mapping[str, Any] = {"batch_size": 16, "max_length": 50}
TASK: Mapping[str, Any] = {"optimizer": "adam", "learning_rate": 1e-3, "weight_decay": 0.0}
TRAINER: Mapping[str, Any] = {
    "epochs": 60,
    "patience": 6,
    "precision": "32-true",
    "ema_decay": 0.998,
    "gradient_clip": 0.0,  # it would weigh batches of long sessions as those of short ones
}
# With the settings of a paper too: among few items the right one is soon among twenty, whatever is learned, and
# Recall@20 tells no epoch from another.
RUN: Mapping[str, str] = {"best_by": "mrr_at_20"}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (8, 16, 32),
    "hidden_size": (100, 200, 400),
    "embedding_size": (100, 200, 400),
    "embedding_dropout": (0.1, 0.25, 0.5),
    "pooled_dropout": (0.25, 0.5),
    "weight_decay": (0.0, 1e-5, 1e-3),
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the default settings of a variant, whose config has the fields `of_variant`."""
    return Preset(
        architecture=architecture,
        variant=variant,
        config={**CONFIG, **of_variant},
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
        run=RUN,
    )
