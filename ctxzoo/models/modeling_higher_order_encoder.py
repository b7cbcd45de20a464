"""The higher-order encoder: attention to pairs of keys, with heads for texts, words and language.

docs/models/higher_order_encoder.md lists which function computes which equation, and the deviations.
"""

from typing import Any

from .configuration_higher_order_encoder import HigherOrderEncoderConfig
from .layers_encoder import Attention
from .layers_higher_order_encoder import build_higher_order_attention
from .modeling_encoder import EncoderPreTrainedModel
from .modeling_text_encoder import (
    TextEncoderForCausalLM,
    TextEncoderForSequenceClassification,
    TextEncoderForTokenClassification,
    TextEncoderModel,
)


class HigherOrderEncoderPreTrainedModel(EncoderPreTrainedModel):
    """The base of the higher-order encoders."""

    config: HigherOrderEncoderConfig


class HigherOrderEncoderModel(HigherOrderEncoderPreTrainedModel, TextEncoderModel):
    """The higher-order encoder without a head, over words or over rows of numbers."""

    @staticmethod
    def make_attention(config: Any, layer_index: int) -> Attention:
        """Return attention to pairs of keys for one layer."""
        return build_higher_order_attention(config, layer_index)


class HigherOrderEncoderForSequenceClassification(
    HigherOrderEncoderPreTrainedModel, TextEncoderForSequenceClassification
):
    """The higher-order encoder as a classifier of texts."""

    encoder_class = HigherOrderEncoderModel


class HigherOrderEncoderForTokenClassification(HigherOrderEncoderPreTrainedModel, TextEncoderForTokenClassification):
    """The higher-order encoder as a tagger of words."""

    encoder_class = HigherOrderEncoderModel


class HigherOrderEncoderForCausalLM(HigherOrderEncoderPreTrainedModel, TextEncoderForCausalLM):
    """The higher-order encoder as a language model."""

    encoder_class = HigherOrderEncoderModel
