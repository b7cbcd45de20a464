"""`register_architecture` makes an architecture known to the Auto classes, to `ctxzoo list` and to the test suite."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import transformers
from transformers import CONFIG_MAPPING, AutoConfig, AutoTokenizer, PreTrainedConfig

from .configuration_base import ZooConfig, get_class_reference

if TYPE_CHECKING:
    from .modeling_base import ZooPreTrainedModel

MODEL_TYPE_PREFIX = "ctxzoo_"


@dataclass(frozen=True)
class Architecture:
    """An architecture of the zoo, with everything that is registered of it.

    Attributes:
        name: Short name, the model type without its prefix ("bidaf").
        config_class: Class of its configuration.
        model_classes: Name of an Auto class to a model class, such as {"AutoModel": BidafModel}; a head for which
            transformers has no Auto class has its own name as the key.
        tokenizer_class: Class of the tokenizer that is saved beside its checkpoints; None: there is no tokenizer.
        pipeline_classes: Name of a pipeline task to the class of the pipeline, whose code is saved in checkpoints.
    """

    name: str
    config_class: type[ZooConfig]
    model_classes: "dict[str, type[ZooPreTrainedModel]]"
    tokenizer_class: type[Any] | None = None
    pipeline_classes: dict[str, type[Any]] = field(default_factory=dict)


class _Architectures(Mapping[str, Architecture]):
    """The architectures by name.

    The code of one is imported when it is looked up; listing the names imports nothing.
    """

    def __init__(self) -> None:
        self.loaders: dict[str, Callable[[], Architecture]] = {}
        self._loaded: dict[str, Architecture] = {}

    def __getitem__(self, name: str) -> Architecture:
        """Return the architecture of this name, which is imported on first use."""
        if name not in self._loaded:
            self._loaded[name] = self.loaders[name]()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether an architecture of this name is registered, without importing it."""
        return name in self.loaders

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, without importing the architectures."""
        return iter(self.loaders)

    def __len__(self) -> int:
        return len(self.loaders)


ARCHITECTURES = _Architectures()
"""All architectures by name; each is an `Architecture` with its classes, which are imported when they are asked for."""


def register_architecture(
    config_class: type[ZooConfig],
    *,
    load: "Callable[[], dict[str, type[ZooPreTrainedModel]]]",
    tokenizer: type[Any] | None = None,
    load_pipelines: Callable[[], dict[str, type[Any]]] = dict,
) -> None:
    """Register an architecture of the zoo with the Auto classes of transformers.

    The config class and the tokenizer are made known to the Auto classes at once. `load` imports the models; it runs
    when the first config of this architecture is made, which every way of loading a model does first, or when the
    architecture is looked up in `ARCHITECTURES`. So `import ctxzoo` does not pay for models that are not used.

    Every class is also marked for `trust_remote_code`, so that saving a checkpoint copies its source files. The model
    classes receive the auto_map of all heads, which a saved checkpoint then carries, whichever head was saved.

    Args:
        config_class: Class of the configuration, with its `model_type`.
        load: Function that returns base model and heads by the names of their Auto classes, such as {"AutoModel":
            BidafModel}; a model for which transformers has no Auto class by its own name.
        tokenizer: Class of the tokenizer that is saved beside checkpoints; default: none.
        load_pipelines: Function that returns pipeline classes by task; the `auto_model` of each names the head that it
            runs, whose checkpoints carry its code. Default: no pipeline.

    Raises:
        ValueError: the model type lacks the prefix "ctxzoo_"; when loading, there is no model, a name is neither an
            Auto class nor that of the model's class, or a pipeline's head is missing.
    """
    model_type = config_class.model_type
    if not model_type.startswith(MODEL_TYPE_PREFIX):
        raise ValueError(f"model_type {model_type!r} of {config_class.__name__} must start with {MODEL_TYPE_PREFIX!r}")
    name = model_type.removeprefix(MODEL_TYPE_PREFIX)

    AutoConfig.register(model_type, config_class, exist_ok=True)
    config_class.register_for_auto_class()
    if tokenizer is not None:
        AutoTokenizer.register(config_class, fast_tokenizer_class=tokenizer, exist_ok=True)
        tokenizer.register_for_auto_class("AutoTokenizer")
    ARCHITECTURES.loaders[name] = lambda: _load_architecture(name, config_class, load(), tokenizer, load_pipelines())
    config_class.before_first_use = staticmethod(lambda: ARCHITECTURES[name])


def register_old_model_type(model_type: str, current_fields: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Register a model type of an earlier version, so that the Auto classes read its configurations.

    Args:
        model_type: Model type in config.json files of earlier versions.
        current_fields: Function that returns the fields of such a file under their present names.
    """

    def convert_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an old configuration under their current names."""
        return current_fields({**fields, "model_type": model_type})

    class OldConfig(PreTrainedConfig):
        def __new__(cls, **fields: Any) -> Any:
            """Return a configuration of the current class, from fields of the old one."""
            return AutoConfig.for_model(**convert_fields(fields))

        @classmethod
        def from_dict(cls, config_dict: dict[str, Any], **options: Any) -> Any:
            """Return a configuration of the current class, from a saved old one."""
            current = convert_fields(config_dict)
            return CONFIG_MAPPING[current["model_type"]].from_dict(current, **options)

    OldConfig.model_type = model_type
    AutoConfig.register(model_type, OldConfig, exist_ok=True)


def _load_architecture(
    name: str,
    config_class: type[ZooConfig],
    model_classes: "dict[str, type[ZooPreTrainedModel]]",
    tokenizer: type[Any] | None,
    pipelines: dict[str, type[Any]],
) -> Architecture:
    """Check the classes of an architecture, register them with the Auto classes, and return its record."""
    if not model_classes:
        raise ValueError(f"{config_class.__name__}: register a model of it")
    for pipeline in pipelines.values():
        if pipeline.auto_model not in model_classes:
            raise ValueError(f"{pipeline.__name__} runs {pipeline.auto_model}; register that head of {name} as well")
    auto_map = {"AutoConfig": get_class_reference(config_class)}
    for auto_name, model_class in model_classes.items():
        auto_class = getattr(transformers, auto_name, None)
        if auto_class is not None:
            auto_class.register(config_class, model_class, exist_ok=True)
            model_class.register_for_auto_class(auto_name)
        elif auto_name == model_class.__name__:
            model_class._auto_class = auto_name  # saved with its code and its entry, as with an Auto class
        else:
            raise ValueError(
                f"{auto_name!r} is neither an Auto class of transformers nor the name of its model, "
                f"{model_class.__name__}"
            )
        auto_map[auto_name] = get_class_reference(model_class)
    for model_class in model_classes.values():
        model_class.zoo_auto_map = auto_map
    for task, pipeline in pipelines.items():
        head = model_classes[pipeline.auto_model]
        head.zoo_pipelines = {**head.zoo_pipelines, task: pipeline}
    return Architecture(name, config_class, dict(model_classes), tokenizer, dict(pipelines))
