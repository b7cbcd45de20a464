"""The settings of `ctxzoo train next-event` where nothing else is asked for, and what `--tune` tries.

Those of the best trial on validation of Stack Overflow's badges (docs/models/time_encoder.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset
from ctxzoo.tasks.next_event.run import ARCHITECTURE, encoder_config

VARIANT = "lste"

SIZES: Mapping[str, Any] = {
    "hidden_size": 64,
    "num_layers": 2,
    "num_heads": 2,
    "dropout": 0.2,
    "time_combine": "add",
    "time_transform": "none",
    "time_size": 32,
    "num_components": 2,
    "num_frequencies": 8,
}
DATA: Mapping[str, Any] = {"batch_size": 32, "max_length": 100}
TASK: Mapping[str, Any] = {"optimizer": "adam", "learning_rate": 5e-3, "weight_decay": 0.0}
TRAINER: Mapping[str, Any] = {
    "epochs": 40,
    "patience": 8,
    "precision": "32-true",
    "ema_decay": 0.998,
    "gradient_clip": 5.0,
}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (16, 32, 64),
    "hidden_size": (32, 64, 128),
    "dropout": (0.1, 0.2, 0.4),
    "num_layers": (1, 2, 3),
    "num_heads": (1, 2, 4),
    "weight_decay": (0.0, 1e-5, 1e-3),
    **{"time_size": (16, 32, 64), "num_components": (1, 2, 4), "num_frequencies": (4, 8, 16)},
}


def default_preset(variant: str) -> Preset:
    """Return the default settings of an encoding of time."""
    config = {name: value for name, value in encoder_config(variant, SIZES).items() if name != "model_type"}
    return Preset(
        architecture=ARCHITECTURE,
        variant=variant,
        config=config,
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
    )
