"""Weights in half precision: how a folder has them, and how they are written. What computes is single precision."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open

from ctxzoo.hub.folder_files import WEIGHTS
from ctxzoo.models.modeling_base import ZooPreTrainedModel

_HALF = "F16"  # as safetensors calls it


def is_in_half(folder: Path) -> bool:
    """Return whether the weights of a checkpoint folder are in half precision; only the head of their file is read."""
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        return any(file.get_slice(name).get_dtype() == _HALF for name in file.keys())  # noqa: SIM118 (no mapping)


def save_weights(model: ZooPreTrainedModel, folder: Path, *, half: bool) -> None:
    """Call `model.save_pretrained(folder)`, with weights in half precision on request.

    The configuration says what the model computes in, not what the file holds: `from_pretrained` gives single precision
    again, of numbers that were rounded once.
    """
    if not half:
        model.save_pretrained(folder)
        return
    rounded = {
        name: value.to(torch.float16) if value.is_floating_point() else value
        for name, value in model.state_dict().items()
    }
    model.save_pretrained(folder, state_dict=rounded)
