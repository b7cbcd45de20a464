"""What models that read the words of texts have in common: the table of words, and the heads that classify texts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.utils import ModelOutput

from .configuration_text import TextClassifierConfig, TextConfig
from .layers_pretrained_encoder import EncoderWords
from .layers_text_input import PretrainedEmbedding, RandomEmbedding, TextInput
from .layers_wide import LinearTextScores, count_word_columns
from .modeling_base import ZooPreTrainedModel
from .ops_inputs import check_word_ids, make_word_mask
from .ops_words import text_classification_loss


class TextPreTrainedModel(ZooPreTrainedModel):
    """The base of models whose base model reads words through a `TextInput` named `embeddings`."""

    config: TextConfig
    main_input_name = "input_ids"

    def make_text_input(self, dropout: float, word_dropout: float = 0.0) -> TextInput:
        """Return a new `TextInput` with the table and the positions of the config, and the given rates of dropout.

        With an `encoder_config` there is the encoder in the table's place.
        """
        config: Any = self.config
        if getattr(config, "encoder_config", None) is not None:
            encoder = EncoderWords(config.encoder_config, config.num_words, trainable=config.train_encoder)
            return TextInput(encoder, config.position_dim, dropout, word_dropout, num_ids=config.vocab_size)
        words: RandomEmbedding | PretrainedEmbedding
        if config.trained_words is not None:
            words = PretrainedEmbedding(config.num_words, config.word_dim, config.trained_words)
            words.weight.requires_grad_(not config.freeze_embeddings)
            return TextInput(words, config.position_dim, dropout, word_dropout, num_ids=config.vocab_size)
        words = RandomEmbedding(
            config.num_words,
            config.word_dim,
            trainable=not config.freeze_embeddings,
            bound=config.embedding_bound,
            seed=config.embedding_seed,
        )
        return TextInput(words, config.position_dim, dropout, word_dropout, num_ids=config.vocab_size)

    def get_input_embeddings(self) -> nn.Module:
        words: nn.Module = self.base_model.embeddings.words
        return words

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.base_model.embeddings.replace_words(value)


@dataclass
class DocumentClassifierOutput(ModelOutput):
    """The output of a classifier of documents whose attention has several heads.

    Attributes:
        loss: Scalar loss in nats, when labels are given; includes `auxiliary_loss`.
        logits: (B, L) scores of L classes.
        auxiliary_loss: Further loss of the model, a scalar, where it has one.
        hidden_states: Input tokens and the tokens that are summed, (B, n, d) each, on request.
        attentions: Attention weights in the form that the model documents, on request.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    auxiliary_loss: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class TextClassifierPreTrainedModel(TextPreTrainedModel):
    """The base of the heads that label texts; a subclass says what `compute_logits` returns.

    A text has one label of several, or any number of them where the `problem_type` of the config says so.

    Attributes:
        output_class: Class of the output of `forward`, with `loss`, `logits`, `hidden_states`, `attentions` and the
            fields of `extra_outputs`.
    """

    config: TextClassifierConfig
    zoo_task = "text-classification"
    output_class: ClassVar[type[ModelOutput]] = DocumentClassifierOutput

    def __init__(self, config: TextClassifierConfig) -> None:
        super().__init__(config)
        self.wide = self._make_wide_part() if config.wide_buckets else None

    @property
    def needs_attentions(self) -> bool:
        """Whether the head reads the attentions of the base model even where the caller did not request them."""
        return False

    def compute_logits(self, outputs: Any) -> torch.Tensor:
        """Return the scores (B, L) of the classes from the output of the base model."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(outputs)")

    def extra_outputs(self, outputs: Any) -> dict[str, torch.Tensor | None]:
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
        subword_ids: torch.LongTensor | None = None,
    ) -> Any:
        """Score the classes of each text; inputs as those of the base model.

        Args:
            labels: (B,) classes of the texts; where `problem_type` says that a text may have several, (B, L) 0 and 1.

        Returns:
            An `output_class`, or a tuple of its fields. The loss is that of `text_classification_loss`, in nats,
            plus the `auxiliary_loss` where there is one; `hidden_states` and `attentions` on request, those of the base
            model.

        Raises:
            ValueError: labels of another shape, or outside the classes; inputs_embeds where there is a wide part; see
                also the base model's `forward`.
        """
        with_attentions = self.resolve_output_flag(output_attentions, "attentions")
        with_states = self.resolve_output_flag(output_hidden_states, "hidden_states")
        wide = self._compute_wide_scores(input_ids, attention_mask)
        words: Any = input_ids
        words_mask = attention_mask
        subwords: dict[str, Any] = {} if subword_ids is None else {"subword_ids": subword_ids}
        if self.wide is not None and not (with_attentions or with_states or torch.compiler.is_compiling()):
            # Not where outputs have a place for each id, nor in a graph, whose sizes must not follow from values.
            words, words_mask = self._drop_ngrams(words, attention_mask)
            subwords = {name: value[:, : words.size(1)] for name, value in subwords.items()}
        outputs = self.base_model(
            words,
            attention_mask=words_mask,
            inputs_embeds=inputs_embeds,
            output_attentions=with_attentions or self.needs_attentions,
            output_hidden_states=with_states,
            return_dict=True,
            **subwords,
        )
        logits = self.compute_logits(outputs)
        if wide is not None:
            logits = self._add_scores(logits, wide)
        further = self.extra_outputs(outputs)
        loss = None
        if labels is not None:
            loss = text_classification_loss(logits, labels, self.config.problem_type)
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
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def init_wide_part(self, ids: torch.Tensor, **numbers: torch.Tensor | None) -> None:
        """Start the wide part as a linear classifier that reads some of the ids, and freeze it.

        Args:
            ids: (K,) ids that the classifier reads; `wide_ids` of the config becomes K.
            numbers: Further arguments of `LinearTextScores.init_from_linear_classifier`.

        Raises:
            ValueError: another shape; a model without a wide part.
        """
        if self.wide is None:
            raise ValueError("a wide start needs wide_buckets above 0 in the config")
        self.config.wide_ids = len(ids)
        wide = self._make_wide_part().to(self.wide.bias.device, self.wide.bias.dtype)
        wide.init_from_linear_classifier(ids, **numbers)  # type: ignore[arg-type]
        self.wide = wide.requires_grad_(False)

    def _make_wide_part(self) -> LinearTextScores:
        config = self.config
        return LinearTextScores(
            config.vocab_size,
            config.num_labels,
            config.wide_group_starts,
            config.wide_ids,
            width=0 if config.trained_words is None else config.word_dim,
        )

    def _compute_wide_scores(
        self, input_ids: torch.Tensor | None, attention_mask: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Return the scores (B, L) of the wide part; None without one, or where training always leaves it out."""
        if self.wide is None:
            return None
        if input_ids is None:
            raise ValueError(
                f"inputs_embeds with wide_buckets={self.config.wide_buckets}: the wide part reads ids; give input_ids"
            )
        if self.training and self.config.wide_dropout == 1:
            return None
        ids = check_word_ids(input_ids, self.config.vocab_size)
        words = None if self.config.trained_words is None else self.get_input_embeddings()
        scores: torch.Tensor = self.wide(ids, make_word_mask(ids, attention_mask), words)
        return scores

    def _add_scores(self, scores: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
        """Return the sum (B, L) of the network's scores, times `deep_scale`, and the scores of the wide part.

        In training those of the network alone, unscaled, for the texts whose wide part is left out.
        """
        sums = self.config.deep_scale * scores + wide
        if not (self.training and self.config.wide_dropout):
            return sums
        # (B, 1): each text whole
        keeps_wide = torch.rand(len(scores), 1, device=scores.device) >= self.config.wide_dropout
        return torch.where(keeps_wide, sums, scores)

    def _drop_ngrams(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return ids and mask without the positions behind the last word, which the base model does not read."""
        is_word = (input_ids < self.config.num_words) & (input_ids > 0)  # (B, n)
        end = count_word_columns(is_word)
        return input_ids[:, :end], None if attention_mask is None else attention_mask[:, :end]


@torch.no_grad()
def copy_linear_weights(layer: nn.Linear, weights: torch.Tensor) -> None:
    """Set a linear layer so that its scores are `weights` times the first F of its inputs.

    Args:
        layer: Linear layer from m features to L scores.
        weights: (L, F) weights of a linear classifier on F features, at most m.

    Raises:
        ValueError: another shape.
    """
    labels, width = layer.weight.shape
    if weights.dim() != 2 or weights.size(0) != labels or weights.size(1) > width:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)}: expected ({labels}, F) with F at most {width}, one row for "
            "each class"
        )
    layer.weight.zero_()  # columns behind the first F stay 0
    layer.weight[:, : weights.size(1)] = weights
    if layer.bias is not None:
        layer.bias.zero_()
