"""What `ctxzoo info` shows of an architecture or a checkpoint, as plain values."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig

from ctxzoo.hub.folder_checks import build_meta_model
from ctxzoo.hub.folder_files import list_code_files
from ctxzoo.hub.saved_model import SavedModel, read_saved_model
from ctxzoo.models import Architecture
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.tasks import get_card_of_head


@dataclass(frozen=True)
class Field:
    """One field of a configuration: its name, type as written, default, and value where there is a checkpoint."""

    name: str
    type: str
    default: Any
    value: Any


@dataclass(frozen=True)
class Part:
    """The parameters of one part of a model."""

    name: str
    trainable: int
    total: int


def list_variants(architecture: Architecture) -> dict[str, dict[str, Any]]:
    """Return the named settings of an architecture, those of its configuration class, or none."""
    return {name: dict(settings) for name, settings in architecture.config_class.variants.items()}


def build_variant_config(architecture: Architecture, name: str) -> ZooConfig:
    """Return the configuration of a variant, with example values for sizes that data would decide."""
    config_class = architecture.config_class
    return config_class.of_variant(name, **config_class.nominal_sizes)


def list_architecture_fields(config: type[ZooConfig] | ZooConfig) -> list[Field]:
    """Return the fields that the architecture declares, in the order of its file, without transformers' own."""
    cls = config if isinstance(config, type) else type(config)
    inherited = {field.name for field in fields(ZooConfig)}  # type: ignore[arg-type, unused-ignore]
    return [
        Field(
            name=field.name,
            type=field.type.__name__ if isinstance(field.type, type) else str(field.type).replace("typing.", ""),
            default=field.default,
            value=None if isinstance(config, type) else _summarise(getattr(config, field.name)),
        )
        for field in fields(cls)  # type: ignore[arg-type, unused-ignore]
        if field.name not in inherited
    ]


def count_parameters_by_part(model: ZooPreTrainedModel) -> list[Part]:
    """Return the parameters of each part of the base model and of the head, in the order of the model."""
    counts: dict[str, list[int]] = {}
    base = f"{model.base_model_prefix}."
    for name, parameter in model.named_parameters():
        count = counts.setdefault(name.removeprefix(base).split(".")[0], [0, 0])
        count[0] += parameter.numel() * parameter.requires_grad
        count[1] += parameter.numel()
    return [Part(name, trainable, total) for name, (trainable, total) in counts.items()]


def sum_parts(all_parts: list[Part]) -> Part:
    """Return the sum of all parts."""
    return Part("all", sum(part.trainable for part in all_parts), sum(part.total for part in all_parts))


def get_last_head_class(architecture: Architecture) -> type[ZooPreTrainedModel]:
    """Return the last head that was registered, or the base model where there is none."""
    return list(architecture.model_classes.values())[-1]


def format_info_lines(facts: CheckpointFacts) -> list[str]:
    """Return further lines of `ctxzoo info` on a checkpoint, which its task says of the configuration."""
    heads = (facts.model_class, *facts.architecture.model_classes.values())
    head = next((head for head in heads if head.zoo_task is not None), None)
    return [] if head is None else list(get_card_of_head(head).describe_config(facts.config))


def list_files_of_architecture(architecture: Architecture) -> list[str]:
    """Return the files of an architecture: its own and, in a checkout, its page, tests and recipes."""
    checkout, name = Path(sys.modules["ctxzoo"].__file__ or "").parent.parent, architecture.name
    paths = list(list_code_files(architecture).values())
    for pattern in (f"docs/models/{name}.md", f"recipes/*_{name}.py", f"tests/models/test_*_{name}.py"):
        paths += sorted(checkout.glob(pattern))
    return [Path(os.path.relpath(path, checkout)).as_posix() for path in paths]


@dataclass(frozen=True)
class CheckpointFacts(SavedModel):
    """The architecture, model class, configuration and parts of a checkpoint."""

    parts: list[Part]


def read_checkpoint_facts(checkpoint: str) -> CheckpointFacts:
    """Return the facts of a checkpoint folder or Hub id, without reading its weights; raises as `read_saved_model`."""
    saved = read_saved_model(checkpoint)
    described = count_parameters_by_part(build_meta_model(saved.model_class, saved.config))
    return CheckpointFacts(checkpoint, saved.architecture, saved.model_class, saved.config, described)


def _summarise(value: Any) -> Any:
    """Return the value of a field, of the configuration of an encoder its kind and width alone."""
    is_config = isinstance(value, PreTrainedConfig)
    return f"{value.model_type}, {value.hidden_size} wide" if is_config else value
