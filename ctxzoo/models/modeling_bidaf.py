"""BiDAF with positions, self-attention and characters in front of the highway layer.

Patel, "Conditioning External and Internal Context Awareness through Attention Overload and Character-Level Embeddings"
(2022), on Seo et al., "Bidirectional Attention Flow for Machine Comprehension" (2017), in the form of the CS224N
starter model. docs/models/bidaf.md lists which function computes which equation, and the deviations.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from .configuration_bidaf import WORD_FEATURES, BidafConfig
from .layers_bidaf import (
    AttentionFlow,
    CharCnn,
    ContextSelfAttention,
    Highway,
    PositionEmbedding,
    SingleHeadSelfAttention,
    WordEmbedding,
    WordPositionEmbedding,
)
from .layers_pretrained_encoder import EncoderWords
from .layers_recurrent import MaskedBiRNN
from .modeling_base import ZooPreTrainedModel
from .ops_execution import dropout
from .ops_inputs import to_boolean_mask, to_int64
from .ops_words import mask_logits


@dataclass
class ContextQuestionModelOutput(ModelOutput):
    """The output of a model that reads a context together with a question.

    Attributes:
        last_hidden_state: (B, C, d) context words after the modelling layer (M in the paper).
        attended_context: (B, C, e) context words after the attention flow (G in the paper).
        question_summary: (B, f) mean of the encoded words of each question.
        hidden_states: Encoded context (B, C, f), encoded question (B, Q, f), attended context, on request.
        attentions: Weights, on request: of context to question S1 (B, C, Q), of question to context S2 (B, C, Q), or
            (B, C) with the maximum, and the self-attention maps that the variant has.
    """

    last_hidden_state: torch.Tensor | None = None
    attended_context: torch.Tensor | None = None
    question_summary: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


@dataclass
class ExtractiveQuestionAnsweringOutput(ModelOutput):
    """The output of an extractive reader.

    Position 0 of the context is the extra token that stands for "no answer".

    Attributes:
        loss: Scalar in nats, when labels are given.
        start_logits, end_logits: (B, C) scores of the first and last word of the answer; the lowest finite value at
            padding.
        hidden_states, attentions: Hidden states and attentions, as in `ContextQuestionModelOutput`.
    """

    loss: torch.Tensor | None = None
    start_logits: torch.Tensor | None = None
    end_logits: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None


class BidafPreTrainedModel(ZooPreTrainedModel):
    """The base of the BiDAF models."""

    config: BidafConfig
    base_model_prefix = "bidaf"
    main_input_name = "input_ids"


class BidafModel(BidafPreTrainedModel):
    """The BiDAF encoder: G and M from the words of a context and a question (steps 1 to 8 of the paper)."""

    def __init__(self, config: BidafConfig) -> None:
        super().__init__(config)
        h = config.hidden_size
        words: WordEmbedding | EncoderWords
        if config.encoder_config is None:
            words = WordEmbedding(config.vocab_size, config.word_embedding_size, config.train_word_embeddings)
        else:
            words = EncoderWords(config.encoder_config, config.vocab_size, trainable=config.train_encoder)
        self.embeddings = WordPositionEmbedding(
            words,
            h,
            PositionEmbedding(config.position_embedding, config.max_position_embeddings, h, config.position_scale),
            config.dropout,
        )
        self.self_attention = (
            SingleHeadSelfAttention(h, config.dropout, config.self_attention_residual)
            if config.self_attention
            else None
        )
        width = h
        self.char_cnn = None
        if config.char_vocab_size:
            self.char_cnn = CharCnn(
                config.char_vocab_size,
                config.char_embedding_size,
                config.char_channels,
                config.char_kernel_size,
                config.max_word_length,
                config.dropout,
            )
            width += config.char_channels
        if config.word_features:
            width += WORD_FEATURES
        self.highway = Highway(width, config.num_highway_layers)
        self.encoder = MaskedBiRNN(width, h)
        self.attention_flow = AttentionFlow(2 * h, config.dropout, config.query_to_context)
        flow_width = 8 * h  # G has four parts of 2h
        self.context_self_attention = None
        if config.context_self_attention:
            self.context_self_attention = ContextSelfAttention(flow_width, h, config.dropout)
            flow_width = 2 * h
        self.flow_width = flow_width
        self.modelling = nn.ModuleList([MaskedBiRNN(flow_width, h), MaskedBiRNN(2 * h, h)])
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of words, or the encoder in its place."""
        return self.embeddings.words

    def set_input_embeddings(self, value: WordEmbedding) -> None:
        """Put another table of words in place.

        Raises:
            ValueError: there is an encoder in its place.
        """
        if isinstance(self.embeddings.words, EncoderWords):
            raise ValueError("the model reads words through an encoder, and has no table of word vectors to replace")
        self.embeddings.words = value

    def forward(
        self,
        input_ids: torch.LongTensor,
        question_input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        question_attention_mask: torch.Tensor | None = None,
        char_ids: torch.LongTensor | None = None,
        question_char_ids: torch.LongTensor | None = None,
        word_features: torch.Tensor | None = None,
        question_word_features: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
        question_subword_ids: torch.LongTensor | None = None,
    ) -> ContextQuestionModelOutput | tuple[torch.Tensor, ...]:
        """Read a batch of contexts and questions.

        Args:
            input_ids: (B, C) ids of the context's words; the first is the extra token that stands for "no answer".
            question_input_ids: (B, Q) ids of the question's words, with the same extra token in front.
            attention_mask, question_attention_mask: Masks (B, C) and (B, Q), 1 at real words, which come first;
                default: all 1.
            char_ids, question_char_ids: (B, C, L) and (B, Q, L) ids of the words' characters, where the configuration
                has characters.
            word_features, question_word_features: (B, C, f) and (B, Q, f) features of the words, where the
                configuration has word features.
            subword_ids, question_subword_ids: (B, C, s) and (B, Q, s) sub-words of the words, where an encoder reads
                them: ids of its tokenizer plus 1, 0 where a word has no more of them.

        Returns:
            `ContextQuestionModelOutput`, or a tuple of its fields.

        Raises:
            ValueError: a needed input is missing, empty or of the wrong shape, ids lie outside their table, or a mask
                is not ones followed by zeros.
        """
        context_ids = to_int64("input_ids", input_ids)
        question_ids = to_int64("question_input_ids", question_input_ids)
        context_mask = _resolve_mask(context_ids, attention_mask, "input_ids")
        question_mask = _resolve_mask(question_ids, question_attention_mask, "question_input_ids")
        # size(0), not len(): the latter would fix the batch size in an export.
        if context_ids.size(0) != question_ids.size(0):
            raise ValueError(
                f"input_ids holds {context_ids.size(0)} contexts, question_input_ids {question_ids.size(0)}"
            )
        # Encoded words: of the context (B, C, 2h), of the question (B, Q, 2h).
        context, context_maps = self._encode_text(
            context_ids, context_mask, char_ids, word_features, subword_ids, output_attentions
        )
        question, _ = self._encode_text(
            question_ids, question_mask, question_char_ids, question_word_features, question_subword_ids, False
        )

        # G (B, C, 8h), S1 (B, C, Q), and S2, like S1, or (B, C) for "max".
        flow, to_question, to_context = self.attention_flow(context, question, context_mask, question_mask)
        attentions = [to_question, to_context, *context_maps]
        if self.context_self_attention is not None:
            flow, self_map = self.context_self_attention(flow, context_mask)  # (B, C, 2h) and (B, C, C)
            attentions.append(self_map)

        x = flow
        for layer in self.modelling:
            x = dropout(layer(x, context_mask), self.config.dropout, training=self.training)  # (B, C, 2h)

        total = question_mask.sum(dim=1, keepdim=True).to(question.dtype)  # (B, 1), 1 or more: the extra token
        summary = (question * question_mask.unsqueeze(-1)).sum(dim=1) / total  # (B, 2h)
        output = ContextQuestionModelOutput(
            last_hidden_state=x,
            attended_context=flow,
            question_summary=summary,
            hidden_states=(context, question, flow)
            if self.resolve_output_flag(output_hidden_states, "hidden_states")
            else None,
            attentions=tuple(attentions) if self.resolve_output_flag(output_attentions, "attentions") else None,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()

    def _encode_text(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        char_ids: torch.Tensor | None,
        features: torch.Tensor | None,
        subword_ids: torch.Tensor | None,
        output_attentions: bool | None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Embed and encode one text, context or question: steps 1 to 6 of the model's description, which both share.

        Returns:
            The encoded words (B, n, 2h) of a text (B, n), and its attention maps, none unless they are requested.
        """
        if char_ids is not None:
            char_ids = to_int64("char_ids", char_ids)
        self._check_ids(ids, char_ids, features)
        maps = []
        x = self.embeddings(ids, mask, subword_ids)  # (B, n, h)
        if self.self_attention is not None:
            if self.resolve_output_flag(output_attentions, "attentions"):
                maps.append(self.self_attention.attention_weights(x, mask))  # (B, n, n); the layer gives none
            x = self.self_attention(x, mask)
        parts = [x]
        if self.char_cnn is not None:
            parts.append(self.char_cnn(char_ids).to(x.dtype))  # (B, n, channels)
        if self.config.word_features and features is not None:
            # Not a product: what a caller has left at padding may be no number.
            parts.append(torch.where(mask.unsqueeze(-1), features.to(x.dtype), x.new_zeros(())))
        x = self.highway(torch.cat(parts, dim=-1) if len(parts) > 1 else x)
        return dropout(self.encoder(x, mask), self.config.dropout, training=self.training), maps

    def _check_ids(self, ids: torch.Tensor, char_ids: torch.Tensor | None, features: torch.Tensor | None) -> None:
        """Raise ValueError if word ids, character ids or word features are missing or do not fit.

        Ranges are only read on the CPU: on a device it would wait for the queue.
        """
        config = self.config
        if self.char_cnn is not None and char_ids is None:
            raise ValueError(
                "this model reads characters: pass char_ids and question_char_ids (the tokenizer gives them)"
            )
        if config.word_features and features is None:
            raise ValueError("this model reads word features: pass word_features and question_word_features")
        if char_ids is not None and (char_ids.dim() != 3 or char_ids.shape[:2] != ids.shape):
            raise ValueError(
                f"char ids of shape {tuple(char_ids.shape)} do not fit word ids of shape {tuple(ids.shape)}"
            )
        if config.word_features and features is not None and features.shape != (*ids.shape, WORD_FEATURES):
            raise ValueError(
                f"word features of shape {tuple(features.shape)} do not fit word ids of shape {tuple(ids.shape)}; "
                f"expected {WORD_FEATURES} numbers for each word, as the tokenizer gives them"
            )
        if torch.compiler.is_compiling() or ids.is_cuda:
            return
        for name, values, size in (("word", ids, config.vocab_size), ("character", char_ids, config.char_vocab_size)):
            if values is None or size == 0:
                continue
            low, high = (int(value) for value in values.aminmax())
            if low < 0 or high >= size:
                raise ValueError(f"{name} id {low if low < 0 else high} is outside the table of {size} rows")


class BidafForQuestionAnswering(BidafPreTrainedModel):
    """BiDAF with pointers to the start and the end of the answer (step 9), and the loss."""

    zoo_task = "question-answering"

    def __init__(self, config: BidafConfig) -> None:
        super().__init__(config)
        h = config.hidden_size
        self.bidaf = BidafModel(config)
        flow_width = self.bidaf.flow_width
        self.end_encoder = MaskedBiRNN(2 * h, h)
        self.start_from_flow = nn.Linear(flow_width, 1)
        self.start_from_modelling = nn.Linear(2 * h, 1)
        self.end_from_flow = nn.Linear(flow_width, 1)
        self.end_from_modelling = nn.Linear(2 * h, 1)
        self.post_init()

    def forward(
        self,
        input_ids: torch.LongTensor,
        question_input_ids: torch.LongTensor,
        attention_mask: torch.Tensor | None = None,
        question_attention_mask: torch.Tensor | None = None,
        char_ids: torch.LongTensor | None = None,
        question_char_ids: torch.LongTensor | None = None,
        word_features: torch.Tensor | None = None,
        question_word_features: torch.Tensor | None = None,
        start_positions: torch.LongTensor | None = None,
        end_positions: torch.LongTensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        subword_ids: torch.LongTensor | None = None,
        question_subword_ids: torch.LongTensor | None = None,
    ) -> ExtractiveQuestionAnsweringOutput | tuple[torch.Tensor, ...]:
        """Point at the start and the end of the answer in each context; inputs as in `BidafModel.forward`.

        Args:
            start_positions, end_positions: (B,) index of the first and last word of the answer in the context, the
                extra token included; 0 for "no answer".

        Returns:
            `ExtractiveQuestionAnsweringOutput`, or a tuple of its fields. The loss is NLL(start) + NLL(end) in nats,
            mean over the batch, "no answer" being position 0.

        Raises:
            ValueError: labels of another shape than (B,) or another type, at padding or beyond the context, an end
                before its start, or only one of the two; see also `BidafModel.forward`.
        """
        outputs = self.bidaf(
            input_ids,
            question_input_ids,
            attention_mask=attention_mask,
            question_attention_mask=question_attention_mask,
            char_ids=char_ids,
            question_char_ids=question_char_ids,
            word_features=word_features,
            question_word_features=question_word_features,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
            subword_ids=subword_ids,
            question_subword_ids=question_subword_ids,
        )
        mask = _resolve_mask(input_ids, attention_mask, "input_ids")
        flow, modelled = outputs.attended_context, outputs.last_hidden_state

        # w . [G ; M] as the sum of two products, without the vectors side by side; (B, C).
        start_logits = (self.start_from_flow(flow) + self.start_from_modelling(modelled)).squeeze(-1)
        start_logits = mask_logits(start_logits, mask)
        # The end has a recurrent layer more than the start.
        modelled_end = dropout(self.end_encoder(modelled, mask), self.config.dropout, training=self.training)
        end_logits = (self.end_from_flow(flow) + self.end_from_modelling(modelled_end)).squeeze(-1)
        end_logits = mask_logits(end_logits, mask)
        loss = None
        if (start_positions is None) != (end_positions is None):
            raise ValueError("start_positions and end_positions belong together; only one of them was given")
        if start_positions is not None and end_positions is not None:
            starts, ends = _check_span_labels(start_positions, end_positions, mask)
            loss = F.cross_entropy(start_logits, starts) + F.cross_entropy(end_logits, ends)
        output = ExtractiveQuestionAnsweringOutput(
            loss=loss,
            start_logits=start_logits,
            end_logits=end_logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
        return output if self.resolve_return_dict(return_dict) else output.to_tuple()


def _resolve_mask(ids: torch.Tensor, attention_mask: torch.Tensor | None, name: str) -> torch.Tensor:
    """Return the checked mask (B, n) of `ids` (B, n), True at words; all True without `attention_mask`.

    `name` is the argument that error messages name.
    """
    if ids.dim() != 2:
        raise ValueError(f"{name} must be (batch, words), got shape {tuple(ids.shape)}")
    if ids.size(1) == 0:
        raise ValueError(f"{name} holds no words, not even the extra token in front; the tokenizer adds it")
    if attention_mask is None:
        return torch.ones_like(ids, dtype=torch.bool)
    if attention_mask.shape != ids.shape:
        raise ValueError(f"mask of shape {tuple(attention_mask.shape)} does not fit {name} of shape {tuple(ids.shape)}")
    mask = to_boolean_mask(attention_mask, f"the mask of {name}")
    if not (torch.compiler.is_compiling() or mask.is_cuda):
        # With padding in front or inside, the recurrent layers would read other positions than the attention does.
        wrong = ~mask[:, 0] | (mask[:, 1:] & ~mask[:, :-1]).any(dim=1)
        if wrong.any():
            row = int(wrong.nonzero()[0])
            raise ValueError(
                f"the mask of {name} must be ones, at least one, then zeros (padding on the right); row {row} is "
                f"{mask[row].int().tolist()}"
            )
    return mask


def _check_span_labels(start: torch.Tensor, end: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the labels (B,) as int64, checked; their values are only read on the CPU."""
    start, end = to_int64("start_positions", start), to_int64("end_positions", end)
    for name, values in (("start_positions", start), ("end_positions", end)):
        if values.shape != mask.shape[:1]:
            raise ValueError(
                f"{name} must have shape ({mask.size(0)},), one for each context, got {tuple(values.shape)}"
            )
    if torch.compiler.is_compiling() or mask.is_cuda:
        return start, end
    words = mask.sum(dim=1)  # (B,)
    for name, values in (("start_positions", start), ("end_positions", end)):
        outside = (values < 0) | (values >= words)
        if outside.any():
            row = int(outside.nonzero()[0])
            raise ValueError(
                f"{name} must lie in 0..{words[row] - 1}, the words of context {row} with the extra token; got "
                f"{values[row]}"
            )
    impossible = (end < start) | ((start == 0) & (end > 0))
    if impossible.any():
        row = int(impossible.nonzero()[0])
        raise ValueError(
            f"the answer in context {row} begins at {start[row]} and ends at {end[row]}; expected an end that is not "
            "before the start, and 0 for both where there is no answer"
        )
    return start, end
