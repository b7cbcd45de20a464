"""What models that read the words of texts have in common: the table of words, and the heads that classify texts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_text import TextConfig
from .layers_random_embedding import RandomEmbedding
from .layers_text_input import TextInput
from .modeling_base import ZooPreTrainedModel
from .ops_losses import classification_loss


class TextPreTrainedModel(ZooPreTrainedModel):
    """The base of models whose base model reads words through a `TextInput` named `embeddings`."""

    config: TextConfig
    main_input_name = "input_ids"

    def text_input(self, dropout: float, word_dropout: float = 0.0) -> TextInput:
        """Return a new `TextInput` with the table and the positions of the config, and the given rates of dropout."""
        config = self.config
        words = RandomEmbedding(
            config.vocab_size,
            config.word_dim,
            trainable=not config.freeze_embeddings,
            bound=config.embedding_bound,
            seed=config.embedding_seed,
        )
        return TextInput(words, config.position_dim, dropout, word_dropout)

    def get_input_embeddings(self) -> nn.Module:
        words: nn.Module = self.base_model.embeddings.words
        return words

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.base_model.embeddings.replace_words(value)


@dataclass
class DocumentClassifierOutput(ModelOutput):
    """The output of a classifier of documents whose attention has several heads.

    Attributes:
        loss: scalar in nats, when labels are given; `auxiliary_loss` is part of it.
        logits: (B, L).
        auxiliary_loss: scalar that training adds to the loss of the classes, where the model has one.
        hidden_states: tokens as they enter and as they are summed up, (B, n, d) each, on request.
        attentions: on request, the weights that the model documents.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    auxiliary_loss: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class TextClassifierPreTrainedModel(TextPreTrainedModel):
    """The base of the heads that give a text one label of several; a subclass says what `scores` are.

    Attributes:
        output_class: class of what `forward` returns: it has `loss`, `logits`, `hidden_states` and `attentions`, and
            the fields of `further_outputs`.
    """

    zoo_task = "text-classification"
    output_class: ClassVar[type[ModelOutput]] = DocumentClassifierOutput

    @property
    def needs_attentions(self) -> bool:
        """Whether the head reads the attentions of the base model even where the caller did not request them."""
        return False

    def scores(self, outputs: Any) -> torch.Tensor:
        """Return the scores (B, L) of the classes from the output of the base model."""
        raise NotImplementedError(f"{type(self).__name__} must define scores(outputs)")

    def further_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
        """Return the fields that only this head outputs, by name; an `auxiliary_loss` there is added to the loss."""
        return {}

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> Any:
        """Score the classes of each text; inputs as those of the base model.

        Args:
            labels: (B,) classes.

        Returns:
            An `output_class`, or a tuple of its fields. The loss is the cross-entropy in nats, mean over the batch,
            plus the `auxiliary_loss` where there is one; `hidden_states` and `attentions` on request, those of the base
            model.

        Raises:
            ValueError: labels of another shape, or outside the classes; see also the base model's `forward`.
        """
        with_attentions = self.wants(output_attentions, "attentions")
        outputs = self.base_model(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            output_attentions=with_attentions or self.needs_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.scores(outputs)
        further = self.further_outputs(outputs)
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels)
            auxiliary_loss = further.get("auxiliary_loss")
            if auxiliary_loss is not None:
                loss = loss + auxiliary_loss
        output = self.output_class(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions if with_attentions else None,
            **further,
        )
        return output if self.wants_dict(return_dict) else output.to_tuple()


@torch.no_grad()
def start_weights(layer: nn.Linear, weights: torch.Tensor) -> None:
    """Set a linear layer so that its scores are `weights` times the first F of its inputs.

    Args:
        layer: linear layer from m numbers to L scores.
        weights: (L, F), F at most m.

    Raises:
        ValueError: another shape.
    """
    labels, width = layer.weight.shape
    if weights.dim() != 2 or weights.size(0) != labels or weights.size(1) > width:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)}: expected ({labels}, F) with F at most {width}, one row for "
            "each class"
        )
    layer.weight.zero_()
    layer.weight[:, : weights.size(1)] = weights
    if layer.bias is not None:
        layer.bias.zero_()
