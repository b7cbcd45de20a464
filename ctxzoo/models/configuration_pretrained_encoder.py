"""What the configurations have in common of models whose words may be read by an encoder of transformers."""

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import AutoConfig, PreTrainedConfig

from .configuration_base import LARGEST_TABLE, ZooConfig

MOST_LAYERS = 1000  # of an encoder


@strict
class PretrainedEncoderConfig(ZooConfig):
    """The base of the configurations of models that may read words through an encoder of transformers.

    Args:
        encoder_config: Configuration of the encoder whose states take the place of a table of word vectors, as that of
            parts of composite models of transformers, with the ids of the special tokens before and behind a text,
            `cls_token_id` and `sep_token_id`; its weights are saved with the model [ours]. None: a table.
        train_encoder: Whether training changes the encoder; otherwise it is frozen and has no dropout [ours].

    Attributes:
        encoder_width_field: Name of the field with the width of the word vectors.
    """

    sub_configs: ClassVar[dict[str, Any]] = {"encoder_config": AutoConfig}
    encoder_width_field: ClassVar[str] = "word_dim"

    encoder_config: dict[str, Any] | PreTrainedConfig | None = None
    train_encoder: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        """Make a configuration of the encoder from its fields."""
        if isinstance(self.encoder_config, dict):
            own = {name: value for name, value in self.encoder_config.items() if name != "auto_map"}
            if "model_type" not in own:
                raise ValueError("encoder_config has no model_type; expected the fields of an encoder's config.json")
            # Before anything is built: the configuration may be a stranger's.
            for name, value in own.items():
                most = MOST_LAYERS if name.endswith("layers") else LARGEST_TABLE
                if isinstance(value, int) and abs(value) > most:
                    raise ValueError(f"encoder_config has {name}={value}; expected at most {most:,}")
            self.encoder_config = AutoConfig.for_model(**own)
        super().__post_init__(**kwargs)

    def validate_encoder(self) -> None:
        """Check that the encoder is one, that its special tokens are known, and that it fits the other fields.

        Raises:
            ValueError: a model that is no encoder; a special token missing; another width than that of the words;
                given vectors or n-grams beside it.
        """
        encoder: Any = self.encoder_config
        if encoder is None:
            return
        check_is_encoder(encoder, "encoder_config")
        for name in ("cls_token_id", "sep_token_id", "pad_token_id"):
            if not isinstance(getattr(encoder, name, None), int):
                raise ValueError(f"encoder_config has no {name}; expected the id of a special token of the encoder")
        width = getattr(self, self.encoder_width_field)
        if width != encoder.hidden_size:
            raise ValueError(
                f"{self.encoder_width_field}={width} beside an encoder whose states have {encoder.hidden_size} "
                f"numbers; set it to {encoder.hidden_size}"
            )
        if getattr(self, "trained_words", None) is not None:
            raise ValueError("trained_words beside encoder_config: words are read by a table or an encoder; choose one")
        if getattr(self, "ngram_buckets", 0):
            raise ValueError(
                f"ngram_buckets={self.ngram_buckets} beside encoder_config: an encoder reads no n-grams; set it to 0"
            )


def check_is_encoder(config: PreTrainedConfig, name: str) -> None:
    """Raise ValueError for a model of transformers that is no encoder of text; `name` is what messages call it.

    An encoder reads each word with the words before and behind it: transformers has a masked language model of it.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    kind = config.model_type
    if config.is_encoder_decoder:
        reason = "has an encoder and a decoder"
    elif kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or getattr(config, "is_decoder", False):
        reason = "reads no word with the words behind it"
    else:
        return
    raise ValueError(
        f"{name} is of the model type {kind!r}, which {reason}; expected an encoder, such as one of the types bert, "
        "roberta, distilbert or modernbert"
    )
