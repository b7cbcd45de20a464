"""`register`: one call per architecture makes it known to the Auto classes, to `ctxzoo list` and to the test suite."""

from dataclasses import dataclass, field
from typing import Any

import transformers
from transformers import AutoConfig, AutoTokenizer

from .configuration_base import ZooConfig
from .modeling_base import ZooPreTrainedModel

MODEL_TYPE_PREFIX = "ctxzoo_"


@dataclass(frozen=True)
class Architecture:
    """What the zoo knows of one architecture.

    Attributes:
        name: short name, the model type without its prefix ("bidaf").
        config_class: its configuration.
        model_classes: Auto class name to model class, e.g. {"AutoModel": BidafModel}.
        tokenizer_class: the tokenizer that is saved beside its checkpoints, or None.
        pipeline_classes: task to the pipeline that is saved in its checkpoints.
    """

    name: str
    config_class: type[ZooConfig]
    model_classes: dict[str, type[ZooPreTrainedModel]]
    tokenizer_class: type[Any] | None = None
    pipeline_classes: dict[str, type[Any]] = field(default_factory=dict)


ARCHITECTURES: dict[str, Architecture] = {}


def register(
    config_class: type[ZooConfig],
    *,
    tokenizer: type[Any] | None = None,
    pipelines: dict[str, type[Any]] | None = None,
    **model_classes: type[ZooPreTrainedModel],
) -> None:
    """Register one architecture: `register(BidafConfig, AutoModel=BidafModel, AutoModelForQuestionAnswering=...)`.

    Every class is registered with its Auto class, so that `AutoModel….from_pretrained` finds it once ctxzoo is
    imported, and marked for `trust_remote_code`, so that saving a checkpoint copies its source files. The model classes
    receive the auto_map of all heads, which a saved checkpoint then carries, whichever head was saved. `pipelines` maps
    a task to a pipeline class whose `auto_model` names the head it runs; checkpoints of that head carry its code.

    Raises:
        ValueError: the model type lacks the prefix "ctxzoo_", "AutoModel" is missing, or a pipeline's head is.
    """
    model_type = config_class.model_type
    if not model_type.startswith(MODEL_TYPE_PREFIX):
        raise ValueError(f"model_type {model_type!r} of {config_class.__name__} must start with {MODEL_TYPE_PREFIX!r}")
    if "AutoModel" not in model_classes:
        raise ValueError(f"{config_class.__name__}: register its base model as AutoModel=…")

    AutoConfig.register(model_type, config_class, exist_ok=True)
    config_class.register_for_auto_class()
    auto_map = {"AutoConfig": _reference(config_class)}
    for auto_name, model_class in model_classes.items():
        getattr(transformers, auto_name).register(config_class, model_class, exist_ok=True)
        model_class.register_for_auto_class(auto_name)
        auto_map[auto_name] = _reference(model_class)
    if tokenizer is not None:
        AutoTokenizer.register(config_class, fast_tokenizer_class=tokenizer, exist_ok=True)
        tokenizer.register_for_auto_class("AutoTokenizer")
    for model_class in model_classes.values():
        model_class.zoo_auto_map = auto_map
    for task, pipeline in (pipelines or {}).items():
        head = model_classes.get(pipeline.auto_model)
        if head is None:
            raise ValueError(
                f"{pipeline.__name__} runs {pipeline.auto_model}; register that head of {model_type} as well"
            )
        head.zoo_pipelines = {**head.zoo_pipelines, task: pipeline}
    name = model_type.removeprefix(MODEL_TYPE_PREFIX)
    ARCHITECTURES[name] = Architecture(name, config_class, dict(model_classes), tokenizer, dict(pipelines or {}))


def _reference(cls: type[Any]) -> str:
    """`module.Class` without the package: the form in which auto_map names a file of the checkpoint folder."""
    return f"{cls.__module__.rsplit('.', 1)[-1]}.{cls.__name__}"
