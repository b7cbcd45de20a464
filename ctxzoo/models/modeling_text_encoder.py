"""Encoders of texts, or of rows of numbers, and their heads for texts, words and language."""

from typing import Any

import torch
from torch import nn

from .configuration_encoder import TextEncoderConfig
from .layers_encoder import small_init_linear
from .layers_text_input import StepInput
from .modeling_encoder import (
    EncoderHeadOutput,
    EncoderModel,
    EncoderModelOutput,
    EncoderNextStepPreTrainedModel,
    EncoderPreTrainedModel,
    EncoderState,
    EncoderStepsPreTrainedModel,
)
from .modeling_generation import StreamingLanguageModel
from .ops_words import IGNORED, text_classification_loss, token_classification_loss


class TextEncoderModel(EncoderModel):
    """The base of encoders that read words, or rows of numbers where the config has no words."""

    config: TextEncoderConfig

    def make_input(self, config: Any) -> Any:
        """Return the layer that reads words or, without a vocabulary, rows of numbers."""
        return super().make_input(config) if config.vocab_size else StepInput(config.input_size, config.dropout)

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        state: EncoderState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        steps_to_keep: torch.Tensor | None = None,
        return_dict: bool | None = None,
    ) -> EncoderModelOutput | tuple[Any, ...]:
        """Read a batch of sequences.

        Args:
            input_ids: (B, n) ids of words, where the model has a word table.
            attention_mask: (B, n) mask, 1 at real steps, 0 elsewhere; default: all 1.
            inputs_embeds: Steps (B, n, I) in place of input_ids; with a table (B, n, v) word vectors.
            state: Cached state of earlier steps, as returned with `use_cache`; the input then holds the next steps.
            use_cache: Whether to return the state; default: as the configuration says, otherwise False.
            output_attentions: Whether to return attention weights, similarities and importances.
            steps_to_keep: (K,) indices of the steps whose `last_hidden_state` is returned; the last block then computes
                no others, unless it is causal or something else is requested. Default: all.

        Raises:
            ValueError: see `TextInput.forward`, or `StepInput.forward` without a table; a state where the config is not
                causal, or of an attention that keeps none.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds)  # (B, n, v), or rows (B, n, I); and (B, n)
        return self.run_blocks(
            self.add_positions(x, mask, state),
            mask,
            None,
            state=state,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            steps_to_keep=steps_to_keep,
            return_dict=return_dict,
        )


class TextEncoderForSequenceClassification(EncoderPreTrainedModel):
    """A classifier of texts: a linear layer scores the classes from the mean of the steps.

    With a learned kernel the loss holds an `auxiliary_loss`, the weighed divergence, the mean over the texts.
    """

    config: TextEncoderConfig
    zoo_task = "text-classification"

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = self.encoder_class(config)
        self.classifier = small_init_linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> EncoderHeadOutput | tuple[Any, ...]:
        """Score the classes of each text; inputs as in `TextEncoderModel.forward`.

        Args:
            labels: (B,) classes of the texts; where `problem_type` says that a text may have several, (B, L) 0 and 1.

        Returns:
            `logits` (B, L), and the `auxiliary_loss`, where there is one, without labels too. The loss is that of
            `text_classification_loss`, in nats, plus the `auxiliary_loss`.

        Raises:
            ValueError: labels of another shape, or outside the classes; see also `TextEncoderModel.forward`.
        """
        outputs = self.encoder(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            use_cache=False,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.classifier(outputs.pooler_output)  # (B, L)
        loss = None
        if labels is not None:
            loss = text_classification_loss(logits, labels, self.config.problem_type)
        return self.make_head_output(outputs, logits, loss, self.compute_penalty(outputs, logits.size(0)), return_dict)


class TextEncoderStepsPreTrainedModel(EncoderStepsPreTrainedModel):
    """The base of the heads that score every step of a text, or every row."""

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        state: EncoderState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        return_dict: bool | None = None,
    ) -> EncoderHeadOutput | tuple[Any, ...]:
        """Score each step; inputs as in `TextEncoderModel.forward`, the others as in `score_steps`."""
        return self.score_steps(
            input_ids,
            attention_mask,
            inputs_embeds,
            labels,
            logits_to_keep,
            return_dict,
            state=state,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )


class TextEncoderForTokenClassification(TextEncoderStepsPreTrainedModel):
    """A tagger: a linear layer scores the tags of each word; labels (B, n), -100 at words that do not
    count.
    """

    zoo_task = "token-classification"

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__(config)
        self.classifier = small_init_linear(config.hidden_size, config.num_labels)
        self.post_init()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return logits (B, n, num_labels) of the states (B, n, D)."""
        logits: torch.Tensor = self.classifier(steps)
        return logits

    def compute_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cross-entropy of the tags in nats, and how many words count."""
        loss = token_classification_loss(logits, labels, mask)
        # At padding a label may be anything.
        return loss, ((labels != IGNORED) & mask).sum().clamp(min=1)


class TextEncoderForCausalLM(TextEncoderStepsPreTrainedModel, EncoderNextStepPreTrainedModel, StreamingLanguageModel):
    """A language model: a softmax over the words for the next one. It streams, see `StreamingLanguageModel`."""

    def __init__(self, config: TextEncoderConfig) -> None:
        super().__init__(config)
        self.lm_head: nn.Linear = small_init_linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def compute_logits(self, steps: torch.Tensor) -> torch.Tensor:
        """Return scores (B, n, vocab_size) of the next word."""
        logits: torch.Tensor = self.lm_head(steps)
        return logits
