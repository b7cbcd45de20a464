"""The BiLSTM tagger: a tag for each word, from a bidirectional LSTM over word vectors.

Ling et al., "Finding Function in Form: Compositional Character Models for Open Vocabulary Word Representation" (2015),
section 5, with its word look-up table. docs/models/bilstm_tagger.md lists which function computes which equation, and
the deviations.
"""

from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput, TokenClassifierOutput

from .configuration_bilstm_tagger import BilstmTaggerConfig
from .layers_bilstm_tagger import FeatureSum, TagSequence, WindowScores, check_feature_ids
from .layers_recurrent import MaskedBiRNN
from .layers_text_input import pad_empty_sequences
from .modeling_text import TextPreTrainedModel
from .ops_execution import dropout
from .ops_inputs import check_mask_without_gaps, make_word_mask
from .ops_words import token_classification_loss


class BilstmTaggerPreTrainedModel(TextPreTrainedModel):
    """The base of the BiLSTM taggers."""

    config: BilstmTaggerConfig
    base_model_prefix = "tagger"


class BilstmTaggerModel(BilstmTaggerPreTrainedModel):
    """The encoder of the tagger: a vector l_i for each word of a sentence in its surroundings."""

    def __init__(self, config: BilstmTaggerConfig) -> None:
        super().__init__(config)
        self.embeddings = self.make_text_input(config.embedding_dropout)
        feature_dim = config.feature_dim if config.num_features else 0
        self.features = FeatureSum(config.num_features, feature_dim, config.embedding_bound) if feature_dim else None
        self.rnn = MaskedBiRNN(config.hidden_size + feature_dim, config.recurrent_size)
        self.projection = nn.Linear(2 * config.recurrent_size, config.projection_size)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        feature_ids: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
    ) -> BaseModelOutput | tuple[torch.Tensor, ...]:
        """Read a batch of sentences.

        Args:
            input_ids: (B, n) ids of words.
            attention_mask: (B, n) mask, 1 at words, 0 after them; default: all 1.
            inputs_embeds: Word vectors (B, n, v) in place of input_ids, or (B, n, v + p) with positions.
            feature_ids: (B, n, F) features of words, where the config has `num_features`.
            output_attentions: Accepted as in other models, but without effect: there are no attentions.
            subword_ids: (B, n, s) sub-words of the words, where an encoder reads them: ids of its tokenizer plus 1, 0
                where a word has no more of them.

        Returns:
            `last_hidden_state` (B, n, d_l): l_i = tanh(L [s_i→ ; s_i←] + b), 0 at padding; on request `hidden_states`:
            words as they enter (B, n, v + p), and behind them features as they enter, states of both directions
            (B, n, 2h), l (B, n, d_l).

        Raises:
            ValueError: see `TextInput.forward` and `check_feature_ids`; a mask with a word after padding.
        """
        x, mask = self.embeddings(input_ids, attention_mask, inputs_embeds, subword_ids)  # (B, n, v + p) and (B, n)
        features_of_words = check_feature_ids(feature_ids, x, self.config.num_features)
        if self.features is not None:
            features = self.features(features_of_words) * mask.unsqueeze(-1)
            x = torch.cat([x, dropout(features, self.config.embedding_dropout, training=self.training)], dim=-1)
        length = x.size(1)  # may be 0; one place is read then, and cut off at the end
        x, mask = pad_empty_sequences(x, mask)
        check_mask_without_gaps(mask)
        rate = self.config.hidden_dropout
        states = dropout(self.rnn(x, mask), rate, training=self.training)  # (B, n, 2h)
        joined = torch.tanh(self.projection(states)) * mask.unsqueeze(-1)  # (B, n, d_l); padding would be tanh(b)
        joined = dropout(joined, rate, training=self.training)
        x, states, joined = (each[:, :length] for each in (x, states, joined))
        output = BaseModelOutput(
            last_hidden_state=joined,
            hidden_states=(x, states, joined)
            if self.resolve_output_flag(output_hidden_states, "hidden_states")
            else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


class BilstmTaggerForTokenClassification(BilstmTaggerPreTrainedModel):
    """The tagger: scores of the tags of each word, W l_i + b, of which a softmax makes probabilities."""

    zoo_task = "token-classification"

    def __init__(self, config: BilstmTaggerConfig) -> None:
        super().__init__(config)
        self.tagger = BilstmTaggerModel(config)
        self.classifier = nn.Linear(config.projection_size, config.num_labels)
        width = config.word_dim if config.trained_words is not None else 0  # of given vectors, which stay as they are
        has_wide = config.wide_window is not None and (width > 0 or config.num_features > 0)
        self.wide = (
            WindowScores(config.num_features, width, config.num_labels, config.wide_window or 0) if has_wide else None
        )
        names = [name for _, name in sorted(config.id2label.items())]
        self.sequence = TagSequence(names, config.crf, config.decoding_scheme) if config.decodes_sequences else None
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        feature_ids: torch.LongTensor | None = None,
        labels: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
    ) -> TokenClassifierOutput | tuple[torch.Tensor, ...]:
        """Score the tags of each word; inputs as in `BilstmTaggerModel.forward`.

        Args:
            labels: (B, n) tags, -100 at words that do not count; padding never counts.

        Returns:
            `logits` (B, n, L), the scores, with those of the wide part where there is one; b at padding. The loss is
            the cross-entropy in nats, mean over the words that count. With `crf` or `scheme` in the config logits are
            those of `TagSequence.compute_best_scores` (in training with labels the scores before); with `crf` the loss
            is that of the CRF, mean over these words.

        Raises:
            ValueError: labels of another shape, or other numbers; see also `BilstmTaggerModel.forward`.
        """
        outputs = self.tagger(
            input_ids,
            attention_mask=attention_mask,
            inputs_embeds=inputs_embeds,
            feature_ids=feature_ids,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
            subword_ids=subword_ids,
        )
        logits = self.classifier(outputs.last_hidden_state)  # (B, n, L)
        if self.wide is not None:
            logits = logits + self._compute_wide_scores(input_ids, attention_mask, inputs_embeds, feature_ids)
        loss = None if labels is None else token_classification_loss(logits, labels, attention_mask)
        if self.sequence is not None:
            mask = make_word_mask(logits, attention_mask)
            if labels is not None and self.config.crf:
                loss = self.sequence.compute_loss(logits, labels, mask)
            if labels is None or not self.training:
                logits = self.sequence.compute_best_scores(logits, mask)
        output = TokenClassifierOutput(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _compute_wide_scores(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None,
        inputs_embeds: torch.Tensor | None,
        feature_ids: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return the scores (B, n, L) of the wide part, 0 for the sentences in which training leaves it out."""
        given: Any = feature_ids
        vectors = None
        if self.wide.vector_weight is not None:  # type: ignore[union-attr]
            words: Any = self.tagger.embeddings.words
            given = words.look_up_fixed(input_ids) if inputs_embeds is None else inputs_embeds
            vectors = given[..., : self.config.word_dim]
        mask = make_word_mask(given, attention_mask)
        if vectors is not None:
            vectors = torch.where(mask.unsqueeze(-1), vectors, vectors.new_zeros(()))
        if self.training and feature_ids is not None and self.config.feature_dropout:
            feature_ids = feature_ids * (
                torch.rand(feature_ids.shape, device=mask.device) >= self.config.feature_dropout
            )
        scores: torch.Tensor = self.wide(vectors, feature_ids, mask)  # type: ignore[misc]
        if not (self.training and self.config.wide_dropout):
            return scores
        kept = torch.rand(len(scores), 1, 1, device=scores.device) >= self.config.wide_dropout
        return scores * kept
