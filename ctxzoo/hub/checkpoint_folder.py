"""The folder in which a trained model is published: written whole or not at all, its weights also in half precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from ctxzoo.data.files import atomic_folder, path_exists
from ctxzoo.data.notices import hide_weight_progress_bars
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.hub.folder_files import CARD, CONFIG, WEIGHTS, CheckpointFolderError
from ctxzoo.hub.packing import add_code_files, remove_code_files
from ctxzoo.models.modeling_base import ZooPreTrainedModel

__all__ = ["CheckpointFolderError", "check_checkpoint_folder", "write_checkpoint_folder"]
GENERATION_CONFIG = "generation_config.json"
_HALF = "F16"  # as safetensors calls it


def write_checkpoint_folder(
    folder: str | Path,
    *,
    model: ZooPreTrainedModel,
    tokenizer: Any,
    card: str,
    eval_results: Mapping[str, str] | None = None,
    half: bool = False,
    code: bool = True,
) -> Path:
    """Write a checkpoint folder: configuration, weights, tokenizer, source files, card, evaluation results.

    Everything goes into a temporary folder beside it, which is checked and then renamed; a checkpoint that was there
    before is removed only after that. The card travels as README.md.

    Args:
        folder: Folder to write; it may be missing, empty or hold an older checkpoint.
        model: Model with a head, with the weights to publish.
        tokenizer: Tokenizer of the model; None for a model without one.
        card: Text of the model card, from `build_card`.
        eval_results: Files of evaluation results by path, from `build_eval_results_files`.
        half: Whether the weights are stored in half precision; the model computes in single precision all the same.
        code: Whether the code that loads the folder without ctxzoo is packed into it (see `packing`).

    Returns:
        The folder.

    Raises:
        CheckpointFolderError: the result would not pass `check_checkpoint_folder`; `folder` stays as it was.
        FileExistsError: `folder` holds something that is not a checkpoint.
    """
    folder = Path(folder).absolute()
    if path_exists(folder) and not (folder.is_dir() and ((folder / CONFIG).is_file() or not any(folder.iterdir()))):
        raise FileExistsError(
            f"{folder} exists and is not a checkpoint folder; it is not replaced, choose another name"
        )
    with atomic_folder(folder) as temporary:
        _write_checkpoint_files(temporary, model, tokenizer, card, eval_results or {}, half)
        # A model that was loaded with remote code may have copied the files of another release.
        (add_code_files if code else remove_code_files)(temporary)
        check_checkpoint_folder(temporary)
    return folder


def has_half_precision_weights(folder: Path) -> bool:
    """Return whether the weights of a checkpoint folder are in half precision; only the head of their file is read."""
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        return any(file.get_slice(name).get_dtype() == _HALF for name in file.keys())  # noqa: SIM118 (no mapping)


def save_weights(model: ZooPreTrainedModel, folder: Path, *, half: bool) -> None:
    """Call `model.save_pretrained(folder)`, with weights in half precision on request.

    The configuration says what the model computes in, not what the file holds: `from_pretrained` gives single precision
    again, of numbers that were rounded once.
    """
    rounded = None
    if half:
        rounded = {
            name: value.to(torch.float16) if value.is_floating_point() else value
            for name, value in model.state_dict().items()
        }
    with hide_weight_progress_bars():
        model.save_pretrained(folder, state_dict=rounded)


def _write_checkpoint_files(
    folder: Path,
    model: ZooPreTrainedModel,
    tokenizer: Any,
    card: str,
    eval_results: Mapping[str, str],
    half: bool,
) -> None:
    """Write weights, configuration, tokenizer, card and scores of a model into an existing folder.

    `card` is the text of the model card, `eval_results` the texts of the score files by name; `half` rounds the weights
    to half precision.
    """
    save_weights(model, folder, half=half)
    (folder / GENERATION_CONFIG).unlink(missing_ok=True)  # transformers makes it again from the configuration
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    (folder / CARD).write_text(card, encoding="utf-8")
    for name, text in eval_results.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
