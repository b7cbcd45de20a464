"""The linear encoder: attention in time linear in the length, with heads for texts, words and language.

docs/models/linear_encoder.md lists which function computes which equation, and the deviations.
"""

from typing import Any

from .configuration_linear_encoder import LinearEncoderConfig
from .layers_encoder import Attention
from .layers_linear_encoder import build_linear_attention
from .modeling_encoder import EncoderPreTrainedModel
from .modeling_text_encoder import (
    TextEncoderForCausalLM,
    TextEncoderForSequenceClassification,
    TextEncoderForTokenClassification,
    TextEncoderModel,
)


class LinearEncoderPreTrainedModel(EncoderPreTrainedModel):
    """The base of the linear encoders."""

    config: LinearEncoderConfig


class LinearEncoderModel(LinearEncoderPreTrainedModel, TextEncoderModel):
    """The linear encoder without a head, over words or over rows of numbers."""

    @staticmethod
    def make_attention(config: Any, layer_index: int) -> Attention:
        """Return attention in linear time for one layer."""
        return build_linear_attention(config, layer_index)


class LinearEncoderForSequenceClassification(LinearEncoderPreTrainedModel, TextEncoderForSequenceClassification):
    """The linear encoder as a classifier of texts."""

    encoder_class = LinearEncoderModel


class LinearEncoderForTokenClassification(LinearEncoderPreTrainedModel, TextEncoderForTokenClassification):
    """The linear encoder as a tagger of words."""

    encoder_class = LinearEncoderModel


class LinearEncoderForCausalLM(LinearEncoderPreTrainedModel, TextEncoderForCausalLM):
    """The linear encoder as a language model."""

    encoder_class = LinearEncoderModel
