"""What a checkpoint folder or Hub id holds: its head, its model, its tokenizer. No code of the checkpoint is run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from huggingface_hub import hf_hub_download, metadata_load

from ctxzoo.data.notices import hide_weight_progress_bars
from ctxzoo.hub.folder_checks import (
    build_config,
    check_tensor_shapes,
    find_head_class,
    read_architecture,
    read_tensor_shapes,
)
from ctxzoo.hub.folder_files import (
    CARD,
    CONFIG,
    ENCODER_FILES,
    TOKENIZER_FILES,
    WEIGHTS,
    check_files_exist,
    read_json_object,
)
from ctxzoo.hub.repository import Repository, convert_download_errors, find_repository
from ctxzoo.models import Architecture
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel


@dataclass(frozen=True)
class SavedModel:
    """What the config.json of a checkpoint says, in the package's own classes.

    Attributes:
        checkpoint: Checkpoint folder or Hub id.
        architecture: Architecture of the model.
        model_class: Class of the model with its head.
        config: Configuration of the model.
    """

    checkpoint: str
    architecture: Architecture
    model_class: type[ZooPreTrainedModel]
    config: ZooConfig

    @cached_property
    def folder(self) -> Path:
        """The folder, or the cache of the Hub, with the files of model and tokenizer.

        They are checked the first time, so that nothing is allocated for weights that do not fit.

        Raises:
            CheckpointFolderError: a file is missing or cannot be read, or the weights are not those of the
                configuration.
            OSError: there is no such folder, and the Hub does not deliver it.
        """
        has_tokenizer = self.architecture.tokenizer_class is not None
        files = [WEIGHTS, *(TOKENIZER_FILES if has_tokenizer else ())]
        if getattr(self.config, "encoder_config", None) is not None:
            files += ENCODER_FILES
        folder = fetch_checkpoint_files(self.checkpoint, *files)
        check_files_exist(folder, files)
        check_tensor_shapes(read_tensor_shapes(folder / WEIGHTS), folder, self.model_class, self.config)
        if has_tokenizer:
            read_json_object(folder / TOKENIZER_FILES[1])
        return folder

    def load(self) -> tuple[ZooPreTrainedModel, Any]:
        """Return the model, loaded by the classes of this package, not by code in the folder.

        Returns:
            The model in evaluation mode, and its tokenizer, None for an architecture without one.

        Raises:
            CheckpointFolderError, OSError: see `folder`.
        """
        folder = str(self.folder)
        tokenizer_class = self.architecture.tokenizer_class
        tokenizer = None if tokenizer_class is None else tokenizer_class.from_pretrained(folder)
        with hide_weight_progress_bars():
            return self.model_class.from_pretrained(folder, config=self.config), tokenizer

    def read_dataset_name(self) -> str:
        """Return the name of the dataset of its training, as its card has it; "" where the card names none."""
        try:
            card = fetch_checkpoint_files(self.checkpoint, CARD) / CARD
            datasets = (metadata_load(card) or {}).get("datasets")
        except (OSError, ValueError):  # a checkpoint without a card, or with one that nobody can read
            return ""
        return str(datasets[0]) if datasets else ""


def read_saved_model(checkpoint: str) -> SavedModel:
    """Return the configuration and files of a checkpoint folder or Hub id, without reading its weights.

    Raises:
        CheckpointFolderError: a folder that is no checkpoint of the zoo, or another library's checkpoint.
        OSError: there is no such folder, and the Hub does not deliver it.
    """
    folder = fetch_checkpoint_files(checkpoint, CONFIG)
    architecture, content = read_architecture(folder)
    head = find_head_class(architecture, content, folder)
    return SavedModel(checkpoint, architecture, head, build_config(architecture, content, folder))


def load_saved_model(checkpoint: str) -> tuple[ZooPreTrainedModel, Any]:
    """Return the model of a checkpoint folder or Hub id; see `SavedModel.load`.

    Raises:
        CheckpointFolderError, OSError: see `read_saved_model` and `SavedModel.folder`.
    """
    return read_saved_model(checkpoint).load()


def locate_checkpoint(checkpoint: str) -> str:
    """Return the name by which transformers loads a checkpoint: its own, or the folder that it was downloaded to.

    A folder and `user/name` are loaded by their own names; transformers knows neither `@revision` nor CTXZOO_HUB.

    Raises:
        CheckpointFolderError, OSError: see `read_saved_model` and `SavedModel.folder`.
    """
    if find_repository(checkpoint) in (None, Repository(checkpoint, None)):
        return checkpoint
    return str(read_saved_model(checkpoint).folder)


def fetch_checkpoint_files(checkpoint: str, *names: str) -> Path:
    """Return a folder with the named files of a checkpoint: its own, or the cache to which they were downloaded.

    Args:
        checkpoint: Folder, or repository as `find_repository` reads it.
        names: Names of files.

    Raises:
        FileNotFoundError: neither an existing path nor the form of a Hub id.
        HubError: the Hub does not have it, or cannot be reached.
    """
    repository = find_repository(checkpoint)
    if repository is None:
        return Path(checkpoint)
    with convert_download_errors(repository.repo_id):
        folders = [
            Path(hf_hub_download(repository.repo_id, name, revision=repository.revision)).parent for name in names
        ]
    return folders[-1]
