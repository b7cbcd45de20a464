"""`ZooConfig`: the base of every configuration. Strict types, and no unknown names."""

import difflib
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

# Keyword arguments that transformers itself puts into a config beside its declared fields (saved files, old names, Hub
# bookkeeping). Anything else that is not a declared field is a misspelling.
TRANSFORMERS_NAMES = frozenset(
    {
        "_attn_implementation",
        "_commit_hash",
        "_experts_implementation",
        "_name_or_path",
        "_output_attentions",
        "attn_implementation",
        "auto_map",
        "bos_token_id",
        "custom_pipelines",
        "decoder_start_token_id",
        "eos_token_id",
        "experts_implementation",
        "finetuning_task",
        "is_decoder",
        "model_type",
        "name_or_path",
        "output_attentions",
        "num_labels",
        "pad_token_id",
        "sep_token_id",
        "task_specific_params",
        "tie_word_embeddings",
        "tokenizer_class",
        "torch_dtype",
        "transformers_version",
        "use_return_dict",
    }
)


@strict
class ZooConfig(PreTrainedConfig):
    """Base configuration.

    Subclasses declare typed fields and `validate_*` methods for rules across fields; both are checked at construction,
    on load and on save.

    Raises:
        TypeError: a keyword argument is neither a declared field nor one of transformers' own; the message names the
            nearest known field.
        StrictDataclassError: a value has the wrong type, or a `validate_*` rule is broken.
    """

    # Set by the registry: imports and registers the models of this config. None in the code of a checkpoint.
    before_first_use: ClassVar[Callable[[], object] | None] = None

    def __post_init__(self, **kwargs: Any) -> None:
        load = type(self).before_first_use
        if load is not None:
            load()
        known = {field.name for field in fields(self)}  # type: ignore[arg-type, unused-ignore]
        for name in kwargs:
            if name in TRANSFORMERS_NAMES:
                continue
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean '{nearest[0]}'?" if nearest else f"; known fields: {sorted(known)}"
            raise TypeError(f"{type(self).__name__} has no field '{name}' (value {kwargs[name]!r}){hint}")
        super().__post_init__(**kwargs)

    def check_counts(self, *names: str) -> None:
        """Raises ValueError for a field below 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As in transformers, which only warns when the file belongs to another architecture.

        Raises:
            ValueError: `model_type` in the file is not the one of this class.
        """
        found = config_dict.get("model_type", cls.model_type)
        if found != cls.model_type:
            raise ValueError(
                f"this config is of model type {found!r}, but {cls.__name__} reads {cls.model_type!r}; load it with "
                "the Auto class or with its own class"
            )
        return super().from_dict(config_dict, **kwargs)
