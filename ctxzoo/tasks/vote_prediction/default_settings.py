"""The settings of `ctxzoo train vote-prediction` where nothing else is asked for, and what `--tune` tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

# Bills whose parameters follow from their texts, so that `ctxzoo predict` can read a new one.
ARCHITECTURE, VARIANT = "nipen", "pgm_vae"

# The values that the configuration has anyway: they are named here so that `--tune` can change them.
_SEARCHED: Mapping[str, Any] = {"delta_lambda": 1, "ideal_lambda": 0.1}
CONFIG: Mapping[str, Mapping[str, Any]] = {
    "nipen": {"amortized_bills": True, "trust_lambda": 1000, "topic_lambda": 1, "num_topics": 10, **_SEARCHED},
    "vote_baseline": {},
}
DATA: Mapping[str, Any] = {"batch_size": 128, "cut_outcomes": True}
TASK: Mapping[str, Any] = {"optimizer": "adam", "learning_rate": 2e-2, "text_learning_rate": 1e-3}
RUN: Mapping[str, Any] = {"decay": True}
TRAINER: Mapping[str, Any] = {
    "epochs": 30,
    "patience": 0,
    "precision": "32-true",
    "ema_decay": 0.0,
    "gradient_clip": 0.0,
}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (32, 64, 128),
    "num_topics": (1, 3, 10),
    "trust_lambda": (300, 1000, 3000),
    "delta_lambda": (0.3, 1, 10),
    "ideal_lambda": (0.1, 1, 10),
}


def default_preset(architecture: str, variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the default settings of a variant, whose config has the fields `of_variant`."""
    return Preset(
        architecture=architecture,
        variant=variant,
        config={**of_variant, **CONFIG[architecture]},
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
        run=dict(RUN),
        only_if_changed=_SEARCHED,
    )
