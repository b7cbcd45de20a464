"""Baselines for text classification: mean, CNN, BiGRU, Transformer encoder and three attentions behind one head.

docs/models/text_baseline.md lists which function computes which equation, and the deviations.
"""

from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from .configuration_text_baseline import TextBaselineConfig
from .layers_initial_context import InitialContext
from .layers_linear import build_text_classifier
from .layers_text_baseline import (
    AdditiveScores,
    AttentiveRecurrentEncoder,
    BilinearScores,
    ConvolutionEncoder,
    MeanEncoder,
    RecurrentEncoder,
    ScalarAttention,
    TransformerEncoder,
    attention_overlap,
)
from .layers_text_input import pad_empty_sequences
from .modeling_text import TextClassifierPreTrainedModel, TextPreTrainedModel
from .ops_execution import dropout


class TextBaselinePreTrainedModel(TextPreTrainedModel):
    """The base of the text baselines."""

    config: TextBaselineConfig
    base_model_prefix = "encoder"
    renamed_weights = MappingProxyType(  # those of `nn.MultiheadAttention`
        {f"self_attn.in_proj_{name}": f"self_attn.in_proj.{name}" for name in ("weight", "bias")}
    )


class TextBaselineModel(TextBaselinePreTrainedModel):
    """The encoder of a baseline: one vector from the words of a text, in the way that `encoder` names."""

    def __init__(self, config: TextBaselineConfig) -> None:
        super().__init__(config)
        self.embeddings = self.make_text_input(config.dropout)
        self.layers = _build_encoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
    ) -> BaseModelOutputWithPooling | tuple[torch.Tensor, ...]:
        """Read a batch of texts.

        Args:
            input_ids: (B, n) ids of words.
            attention_mask: (B, n) mask, 1 at words, 0 after them; default: all 1. A text without words has the vector
                0; where n is 0, one position of padding is read.
            inputs_embeds: Word vectors (B, n, v) in place of input_ids, or (B, n, m) with positions.
            subword_ids: (B, n, s) sub-words of the words, where an encoder reads them: ids of its tokenizer plus 1, 0
                where a word has no more of them.

        Returns:
            `last_hidden_state` (B, n, h): the tokens as they are summed up, 0 at padding; `pooler_output` (B, d): the
            vector of each text; on request `hidden_states`: the tokens as they enter and as they are summed up; and
            `attentions`: (B, n) for each step of attention or each head of self_attentive, in their order, and one for
            the others: the weight of each token in the mean or the attention, or the fraction of the
            features that take their maximum from it.

        Raises:
            ValueError: see `TextInput.forward`; for the encoders with a GRU also a word after padding, see
                `check_mask_without_gaps`.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds, subword_ids)  # (B, n, m) and (B, n)
        x, mask = pad_empty_sequences(x, mask)
        with_attentions = self.resolve_output_flag(output_attentions, "attentions")
        options: dict[str, Any] = {}
        if isinstance(self.layers, ConvolutionEncoder):
            options["with_weights"] = with_attentions
            # One id is one token where words come from a table, without positions; the shape differs where n is 0.
            is_from_table = self.config.encoder_config is None and not self.config.position_dim
            if is_from_table and input_ids is not None and input_ids.shape == mask.shape:
                options["ids"] = input_ids
        tokens, pooled, weights = self.layers(x, mask, **options)  # (B, n, h), (B, d) and a list of (B, n)
        output = BaseModelOutputWithPooling(
            last_hidden_state=tokens,
            pooler_output=dropout(pooled, self.config.pooled_dropout, training=self.training),
            hidden_states=(x, tokens) if self.resolve_output_flag(output_hidden_states, "hidden_states") else None,
            attentions=tuple(weights) if with_attentions else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class TextBaselineForSequenceClassification(TextBaselinePreTrainedModel, TextClassifierPreTrainedModel):
    """A baseline as a classifier: scores of classes from the vector of the text, linear or through one hidden layer.

    Inputs, `attentions` and `hidden_states` are those of `TextBaselineModel.forward`. With self_attentive and an
    `overlap_penalty` the loss holds an `auxiliary_loss` for heads that look at the same words.
    """

    def __init__(self, config: TextBaselineConfig) -> None:
        super().__init__(config)
        self.encoder = TextBaselineModel(config)
        self.classifier = build_text_classifier(
            config.pooled_size, config.classifier_size, config.num_labels, config.classifier_dropout
        )
        self.post_init()

    @property
    def needs_attentions(self) -> bool:
        """Whether the loss reads attention weights: with a penalty of overlap."""
        return self.config.penalises_overlap

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        """Return logits (B, num_labels) of the pooled text."""
        logits: torch.Tensor = self.classifier(outputs.pooler_output)
        return logits

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return self_attentive's `auxiliary_loss`, `overlap_penalty` times `attention_overlap`; otherwise nothing."""
        if not self.config.penalises_overlap:
            return {}
        overlap = attention_overlap(torch.stack(outputs.attentions, dim=1))  # of (B, m, n)
        return {"auxiliary_loss": self.config.overlap_penalty * overlap}

    def token_weights(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        subword_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the attention to each word, or its weight in the sum or maximum of the encoder.

        Returns:
            (B, K, n) for K steps of attention, (B, m, n) for m heads of self_attentive, otherwise (B, 1, n). Each row
            sums to 1, or is 0 for a text without words.
        """
        outputs = self.encoder(
            input_ids, attention_mask=attention_mask, subword_ids=subword_ids, output_attentions=True, return_dict=True
        )
        return torch.stack(outputs.attentions, dim=1)


def _build_encoder(config: TextBaselineConfig) -> nn.Module:
    """Return the layer that makes one vector (B, pooled_size) of tokens (B, n, width), as `config.encoder` names it."""
    width = config.hidden_size
    if config.encoder == "attention":
        start = InitialContext(width, "random", config.eval_context, samples=1)
        return ScalarAttention(width, config.rank, config.num_steps, start)
    if config.encoder == "cnn":
        return ConvolutionEncoder(width, config.kernel_sizes, config.num_filters)
    if config.encoder == "bigru":
        return RecurrentEncoder(width, config.recurrent_size)
    if config.encoder == "transformer":
        size, heads, layers = config.transformer_size, config.num_heads, config.num_layers
        return TransformerEncoder(width, size, heads, layers, config.dropout)
    if config.encoder == "self_attentive":
        scores = AdditiveScores(2 * config.recurrent_size, config.attention_size, config.attention_heads)
        return AttentiveRecurrentEncoder(width, config.recurrent_size, scores)
    if config.encoder == "bilinear_attention":
        return AttentiveRecurrentEncoder(width, config.recurrent_size, BilinearScores(2 * config.recurrent_size))
    return MeanEncoder()
