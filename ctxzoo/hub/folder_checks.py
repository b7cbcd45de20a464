"""What a checkpoint folder must be before anyone else gets to see it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open

from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.hub.card_parts import parse_file_hashes, parse_release
from ctxzoo.hub.folder_files import (
    CARD,
    CONFIG,
    TOKENIZER_FILES,
    WEIGHTS,
    CheckpointFolderError,
    check_file_names,
    compute_sha256,
    describe_code_differences,
    drop_unused_tokenizer,
    has_packed_code,
    join_first_names,
    list_checkpoint_files,
    read_json_object,
)
from ctxzoo.models import ARCHITECTURES, Architecture
from ctxzoo.models.configuration_base import ZooConfig, get_class_reference
from ctxzoo.models.modeling_base import ZooPreTrainedModel, build_pipeline_entries
from ctxzoo.models.old_names import convert_config_fields
from ctxzoo.models.registration import MODEL_TYPE_PREFIX
from ctxzoo.models.tokenization_base import ENCODER_TOKENIZER
from ctxzoo.version import version


def check_checkpoint_folder(folder: str | Path) -> list[str]:
    """Check that a folder can be published: whole, ours, with no other files, and no other release's code.

    Returns:
        Paths in the folder of all its files, sorted: what may be published.

    Raises:
        CheckpointFolderError: no such folder; links and other entries that are no files; no or unreadable config.json;
            another library's checkpoint; files that are no part of a checkpoint, or files missing (each is named); see
            also `check_checkpoint_files`.
    """
    folder = Path(folder)
    _check_folder_exists(folder)
    names = list_checkpoint_files(folder)
    architecture, _ = read_architecture(folder)
    check_file_names(names, architecture, str(folder))
    check_checkpoint_files(folder, read_tensor_shapes(folder / WEIGHTS))
    return names


def check_checkpoint_files(
    folder: Path, shapes: Mapping[str, tuple[int, ...]], hashes: Mapping[str, str] | None = None
) -> None:
    """Check the content of a checkpoint's files, without running any code in them.

    Args:
        folder: Folder with all files of a checkpoint, but perhaps without the weights.
        shapes: Shapes of the weights by name.
        hashes: SHA-256 by name of files that the folder does not hold whole; default: it holds all.

    Raises:
        CheckpointFolderError: the first of these that holds: unreadable config.json; tensors that are not those of the
            configuration; of a folder that holds code or names some, Python files that are not those of the installed
            release (each is named), or an incomplete auto_map; a tokenizer that cannot be read, or whose ids lie
            outside the model's tables; a file that is not the one whose hash the card lists.
    """
    architecture, content = read_architecture(folder)
    config = read_config(folder)
    head = find_head_class(architecture, content, folder)
    check_tensor_shapes(shapes, folder, head, config)
    if has_packed_code(folder):
        _check_packed_code(folder, architecture)
        _check_code_references(folder, build_code_references(architecture, head))
    if architecture.tokenizer_class is not None:
        _check_tokenizer(folder, architecture.tokenizer_class, config)
    _check_file_hashes(folder, hashes or {})


def read_architecture(folder: Path) -> tuple[Architecture, dict[str, Any]]:
    """Return the architecture that a folder's config.json names, see `drop_unused_tokenizer`, and that file's content.

    A file of an earlier version is read in the names of today.

    Raises:
        CheckpointFolderError: no folder, no readable config.json, or not an architecture of this release.
    """
    _check_folder_exists(folder)
    file = folder / CONFIG
    if not file.is_file():
        raise CheckpointFolderError(f"{folder} has no {CONFIG}; it is not a checkpoint folder")
    content = read_json_object(file)
    try:
        content = convert_config_fields(content)
    except ValueError as error:
        raise CheckpointFolderError(f"{file}: {error}") from error
    architecture = get_architecture(content.get("model_type"), str(folder))
    return drop_unused_tokenizer(architecture, content), content


def get_architecture(model_type: object, source: str) -> Architecture:
    """Return the architecture of a model type such as "ctxzoo_bidaf".

    Raises:
        CheckpointFolderError: none of the installed release; `source` is what the message calls the checkpoint.
    """
    if not isinstance(model_type, str) or not model_type.startswith(MODEL_TYPE_PREFIX):
        raise CheckpointFolderError(
            f"{source} is a checkpoint of model type {model_type!r}, not one of ctxzoo (model types that begin with "
            f"{MODEL_TYPE_PREFIX!r}); load it with the library it comes from, such as transformers' Auto classes"
        )
    name = model_type.removeprefix(MODEL_TYPE_PREFIX)
    if name not in ARCHITECTURES:
        raise CheckpointFolderError(
            f"{source} is of the architecture {name!r}, which this release does not have (it has "
            f"{', '.join(ARCHITECTURES)}); install the ctxzoo release that the checkpoint was saved with"
        )
    return ARCHITECTURES[name]


def read_config(folder: Path) -> ZooConfig:
    """Return the configuration of a folder, checked field by field.

    Raises:
        CheckpointFolderError: see `read_architecture`; a field is unknown, of the wrong type or out of range.
    """
    return build_config(*read_architecture(folder), folder)


def build_config(architecture: Architecture, content: dict[str, Any], folder: Path) -> ZooConfig:
    """Return the configuration that a folder's config.json holds, whose content `read_architecture` returned.

    Raises:
        CheckpointFolderError: a field is unknown, of the wrong type or out of range.
    """
    try:
        return cast(ZooConfig, architecture.config_class.from_dict(content, name_or_path=str(folder)))
    except Exception as error:  # of entries of the wrong kind, transformers' own code raises anything
        raise CheckpointFolderError(f"{folder / CONFIG}: {format_error_on_one_line(error)}") from error


def find_head_class(architecture: Architecture, content: dict[str, Any], folder: Path) -> type[ZooPreTrainedModel]:
    """Return the model class that a config.json says it was saved from."""
    named_classes = content.get("architectures") or []
    for model_class in architecture.model_classes.values():
        if named_classes == [model_class.__name__]:
            return model_class
    known_classes = ", ".join(cls.__name__ for cls in architecture.model_classes.values())
    raise CheckpointFolderError(
        f"{folder / CONFIG}: architectures is {named_classes}; expected one of {known_classes}. A model of a "
        "class of your own is loaded in Python, with its from_pretrained"
    )


def build_meta_model(model_class: type[ZooPreTrainedModel], config: ZooConfig) -> ZooPreTrainedModel:
    """Return a model without memory, on torch's meta device, for the names and shapes of its parameters.

    Raises:
        CheckpointFolderError: the configuration needs more numbers than a tensor can have.
    """
    try:
        with torch.device("meta"):
            return model_class(config)
    except (RuntimeError, OverflowError) as error:
        raise CheckpointFolderError(f"no model has this configuration: {format_error_on_one_line(error)}") from error


def read_tensor_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return name to shape of the tensors in a safetensors file; the numbers are not read.

    Raises:
        CheckpointFolderError: the file is truncated, or is not a safetensors file.
    """
    try:
        with safe_open(file, framework="pt") as weights:
            return {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise CheckpointFolderError(
            f"{file} is damaged or incomplete ({format_error_on_one_line(error)}); copy or save it again"
        ) from error


def check_tensor_shapes(
    shapes: Mapping[str, tuple[int, ...]], folder: Path, model_class: type[ZooPreTrainedModel], config: ZooConfig
) -> None:
    """Check that the shapes of weights are those of a model, which is built on the meta device.

    Raises:
        CheckpointFolderError: tensors are missing, unknown or of another shape (some are named).
    """
    for old, new in model_class.renamed_weights.items():
        shapes = {f"{name.removesuffix(old)}{new}" if name.endswith(old) else name: x for name, x in shapes.items()}
    model = build_meta_model(model_class, config)
    left_out = model._keys_to_ignore_on_save or ()  # what follows from the configuration
    expected = {name: tuple(x.shape) for name, x in model.state_dict().items() if name not in left_out}
    added = model._keys_to_ignore_on_load_missing or ()  # since earlier versions
    missing = (name for name in expected if name not in shapes)
    wrong = [f"{name} is missing" for name in missing if not any(re.search(one, name) for one in added)]
    wrong += [f"{name} is unknown" for name in shapes if name not in expected]
    wrong += [
        f"{name} has shape {shapes[name]}, expected {shape}"
        for name, shape in expected.items()
        if name in shapes and shapes[name] != shape
    ]
    if wrong:
        raise CheckpointFolderError(
            f"{folder / WEIGHTS} does not fit {CONFIG} ({model_class.__name__}): {join_first_names(wrong, '; ')}"
        )


def build_code_references(architecture: Architecture, head: type[ZooPreTrainedModel]) -> dict[str, dict[str, Any]]:
    """Return what the JSON files of a packed folder say about where its code is, by file name.

    Args:
        architecture: Architecture of the checkpoint, as `drop_unused_tokenizer` returns it.
        head: Class of the checkpoint's model.
    """
    entries: dict[str, dict[str, Any]] = {CONFIG: {"auto_map": head.zoo_auto_map}}
    if head.zoo_pipelines:
        entries[CONFIG]["custom_pipelines"] = build_pipeline_entries(head.zoo_pipelines)
    if architecture.tokenizer_class is not None:
        entries[TOKENIZER_FILES[1]] = {
            "auto_map": {"AutoTokenizer": [get_class_reference(architecture.tokenizer_class), None]}
        }
    return entries


def _check_folder_exists(folder: Path) -> None:
    """Raise CheckpointFolderError unless the path is a folder."""
    if not folder.is_dir():
        raise CheckpointFolderError(f"{folder} is not a folder; expected a checkpoint folder with a {CONFIG}")


def _check_packed_code(folder: Path, architecture: Architecture) -> None:
    """Raise CheckpointFolderError if the code in the folder is not that of the installed release."""
    differences = describe_code_differences(folder, architecture)
    if differences:
        saved = parse_release((folder / CARD).read_text(encoding="utf-8"))
        raise CheckpointFolderError(
            f"{folder}: the code is not that of the installed release, {version()}: {'; '.join(differences)}. "
            "`ctxzoo pack` writes the checkpoint with the code of this release; or use the one it was saved with"
            f"{f', {saved}' if saved else ''}"
        )


def _check_file_hashes(folder: Path, hashes: Mapping[str, str]) -> None:
    """Raise CheckpointFolderError for files other than those that the card lists; `hashes` are known without them."""
    listed = parse_file_hashes((folder / CARD).read_text(encoding="utf-8"))
    found = {name: hashes.get(name) or compute_sha256(folder / name) for name in listed if (folder / name).is_file()}
    differences = [
        f"{name} has sha256 {found[name][: len(digits)]}, and the card lists {digits}"
        for name, digits in listed.items()
        if name in found and not found[name].startswith(digits)
    ]
    if differences:
        raise CheckpointFolderError(
            f"{folder}: {join_first_names(differences, '; ')}. It was changed after the card was written: get the "
            "checkpoint again; if the change is yours, `ctxzoo pack` writes it with a new list"
        )


def _check_code_references(folder: Path, expected: dict[str, dict[str, Any]]) -> None:
    """Raise an error unless the folder names the code of every head, pipeline and tokenizer."""
    content = read_json_object(folder / CONFIG)
    if content.get("auto_map") != expected[CONFIG]["auto_map"]:
        raise CheckpointFolderError(
            f"{folder / CONFIG}: auto_map is {content.get('auto_map')}; expected {expected[CONFIG]['auto_map']}"
        )
    for task in expected[CONFIG].get("custom_pipelines", {}):
        if task not in (content.get("custom_pipelines") or {}):
            raise CheckpointFolderError(f"{folder / CONFIG}: custom_pipelines lacks {task!r}; save the model again")
    if TOKENIZER_FILES[1] in expected:
        file = folder / TOKENIZER_FILES[1]
        references = read_json_object(file).get("auto_map")
        entry = references.get("AutoTokenizer") if isinstance(references, dict) else None
        expected_entry = expected[TOKENIZER_FILES[1]]["auto_map"]["AutoTokenizer"][0]
        if not entry or expected_entry not in entry:
            raise CheckpointFolderError(f"{file}: auto_map names {entry} as AutoTokenizer; expected {expected_entry}")


def _check_tokenizer(folder: Path, tokenizer_class: type[Any], config: ZooConfig) -> None:
    """Raise CheckpointFolderError if the tokenizer cannot be loaded or gives ids that the model has no rows for."""
    try:
        tokenizer = tokenizer_class.from_pretrained(str(folder))
    except Exception as error:  # the Rust library behind it raises bare Exception
        raise CheckpointFolderError(
            f"{folder}: the tokenizer cannot be loaded: {format_error_on_one_line(error)}"
        ) from error
    has_encoder = getattr(config, "encoder_config", None) is not None
    if has_encoder != (getattr(tokenizer, "encoder_tokenizer", None) is not None):
        only, other = (
            (CONFIG, "tokenizer of an encoder") if has_encoder else (ENCODER_TOKENIZER, "encoder in config.json")
        )
        raise CheckpointFolderError(
            f"{folder}: there is {only}, but no {other}; model and tokenizer do not belong together"
        )
    characters = getattr(tokenizer, "char_vocab", None) or {}
    for kind, ids, field in (
        ("word", tokenizer.get_vocab().values(), "vocab_size"),
        ("character", characters.values(), "char_vocab_size"),
    ):
        rows = getattr(config, field, None)
        # A model without characters has no use for those that the tokenizer gives.
        if rows and max(ids, default=0) >= rows:
            raise CheckpointFolderError(
                f"{folder}: the tokenizer gives {kind} ids up to {max(ids)}, but {field} is {rows}; model and "
                "tokenizer do not belong together"
            )
        if field == "char_vocab_size" and rows and not characters:
            raise CheckpointFolderError(f"{folder}: the model reads characters, but the tokenizer gives none")
