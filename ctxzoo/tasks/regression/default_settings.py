"""The settings of `ctxzoo train regression` where nothing else is asked for, and what `--tune` tries.

They are those of IKA's code, with an end where validation no longer gets better; no table has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxzoo.runs.preset import Preset
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.tasks.regression.run import ARCHITECTURE, encoder_config

VARIANT = "ikan_direct"
NORM = 2.0

SIZES: Mapping[str, Any] = {
    "hidden_size": 64,
    "inner_size": 64,
    "num_layers": 1,
    "num_heads": 8,
    "num_features": 64,
    "dropout": 0.0,
}
DATA: Mapping[str, Any] = {"rows_per_step": 2048}
TASK: Mapping[str, Any] = {"optimizer": "adam", "learning_rate": 1e-2, "weight_decay": 0.0}
TRAINER: Mapping[str, Any] = {
    "epochs": 1000,
    "patience": 150,
    "precision": "32-true",
    "ema_decay": 0.0,
    "gradient_clip": 1.0,
}

SEARCH_SPACE: Space = {
    "weight_decay": Between(0.0, 1e-2),
    "hidden_size": (32, 64, 128),
    "num_layers": (1, 2),
    "hidden_dropout": Between(0.0, 0.2),
    "inner_size": (32, 64, 128),
    "num_heads": (4, 8),
    "num_features": (32, 64, 128),
    "p_norm": Between(1.5, 3.0),
}


def default_preset(variant: str) -> Preset:
    """Return the default settings of a way to attend."""
    config = {name: value for name, value in encoder_config(variant, SIZES, NORM).items() if name != "model_type"}
    return Preset(
        architecture=ARCHITECTURE,
        variant=variant,
        config=config,
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
    )
