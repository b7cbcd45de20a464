"""The settings of `ctxzoo train polyphonic-music` where nothing else is asked for, and what `--tune` tries.

Cell and sizes are those of the authors' best model, on pieces of which several make a batch, with an earlier end. These
are ours; no table has chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxzoo.runs.preset import Preset

ARCHITECTURE, VARIANT = "beta_lstm", "bibeta5"

# Of every variant, beside the fields of its own.
# `weight_dropout` has the value of the configuration: it is named here so that `--tune` can change it.
_SEARCHED: Mapping[str, Any] = {"weight_dropout": 0.0}
CONFIG: Mapping[str, Any] = {"num_layers": 2, "kl_lambda": 0.0, **_SEARCHED}
DATA: Mapping[str, Any] = {"batch_size": 2}
TASK: Mapping[str, Any] = {
    "optimizer": "adam",
    "learning_rate": 2e-3,
    "weight_decay": 0.0,
    "divide_by": 1.2,
    "divide_after": 10,
    "kl_annealing": "constant",
    "kl_annealing_epochs": 50,
}
TRAINER: Mapping[str, Any] = {
    "epochs": 60,
    "patience": 15,
    "precision": "32-true",
    "ema_decay": 0.0,
    "gradient_clip": 1.0,
}

SEARCH_SPACE: Mapping[str, Sequence[Any]] = {
    "batch_size": (1, 2, 4),
    "hidden_size": (100, 148, 200),
    "num_layers": (1, 2),
    "locked_dropout": (0.1, 0.2, 0.4),
    "weight_dropout": (0.0, 0.2, 0.4),
    "divide_by": (1.0, 1.2, 1.5),
}


def default_preset(variant: str, of_variant: Mapping[str, Any]) -> Preset:
    """Return the default settings of a variant of the architecture, whose config has the fields `of_variant`."""
    return Preset(
        architecture=ARCHITECTURE,
        variant=variant,
        config={**CONFIG, **of_variant},
        data=dict(DATA),
        task=dict(TASK),
        trainer=dict(TRAINER),
        only_if_changed=_SEARCHED,
    )
