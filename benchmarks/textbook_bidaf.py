"""BiDAF written the usual way: the peer that ctxzoo's model is timed against.

Equations and parameters are those of `BidafForQuestionAnswering` (baseline, with learned positions and characters where
requested), so its weights load here and both must give the same log-probabilities. What differs is how they are
computed: packed `nn.LSTM`s, `(S1 S2^T) c`, a convolution over every occurrence of every word, torch's dropout, an outer
product of start and end probabilities.

The similarity comes in two forms. "products" is that of the CS224N course starter; "concatenation" is Seo et al.'s
equation 1 taken literally, which builds a (B, C, Q, 6h) tensor.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.packing import compute_packed_states
from ctxzoo.models.configuration_bidaf import BidafConfig

SimilarityForm = Literal["products", "concatenation"]

MASKED = -1e30
# Fields of BidafConfig that this model knows, beside the sizes; every other field must have its default.
KNOWN_FIELDS = (
    "vocab_size",
    "word_embedding_size",
    "train_word_embeddings",
    "hidden_size",
    "dropout",
    "position_embedding",
    "max_position_embeddings",
    "trained_positions",
    "char_vocab_size",
    "char_embedding_size",
    "char_channels",
    "char_kernel_size",
    "max_word_length",
    "num_highway_layers",
    "max_answer_length",
    "squad_version",
)


class TextbookBidaf(nn.Module):
    """A model from word ids (and character ids) to log-probabilities of start and end.

    Args:
        config: Configuration of the ctxzoo model whose weights are loaded.
        similarity: Form of the similarity S of context and query words; the forms are listed in the module's docstring.

    Raises:
        ValueError: the config has something that this model lacks.
    """

    def __init__(self, config: BidafConfig, similarity: SimilarityForm = "products") -> None:
        """Build the layers of BiDAF that `config` describes, with one of the forms of similarity."""
        super().__init__()
        refuse_unsupported_config(config)
        h = config.hidden_size
        self.config = config
        self.drop_rate = float(config.dropout)
        self.similarity_form = similarity
        self.words = nn.Embedding(config.vocab_size, config.word_embedding_size, padding_idx=0)
        self.words.weight.requires_grad_(config.train_word_embeddings)
        self.projection = nn.Linear(config.word_embedding_size, h, bias=False)
        self.positions = None
        if config.position_embedding == "learned":
            self.positions = nn.Embedding(config.max_position_embeddings, h)
        width = h
        self.characters = None
        if config.char_vocab_size:
            self.characters = nn.Embedding(config.char_vocab_size, config.char_embedding_size, padding_idx=0)
            kernel = (config.char_embedding_size, config.char_kernel_size)
            self.convolution = nn.Conv2d(1, config.char_channels, kernel)
            width += config.char_channels
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(config.num_highway_layers))
        self.transforms = nn.ModuleList(nn.Linear(width, width) for _ in range(config.num_highway_layers))
        self.encoder = PackedLstm(width, h, 1, self.drop_rate)
        self.similarity = nn.Linear(6 * h, 1)
        self.modelling = PackedLstm(8 * h, h, 2, self.drop_rate)
        self.end_encoder = PackedLstm(2 * h, h, 1, self.drop_rate)
        self.start_from_flow = nn.Linear(8 * h, 1)
        self.start_from_modelling = nn.Linear(2 * h, 1)
        self.end_from_flow = nn.Linear(8 * h, 1)
        self.end_from_modelling = nn.Linear(2 * h, 1)

    def forward(
        self,
        input_ids: torch.Tensor,
        question_input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        question_attention_mask: torch.Tensor,
        char_ids: torch.Tensor | None = None,
        question_char_ids: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log p(start) and log p(end), each (B, C); inputs are those of `BidafForQuestionAnswering.forward`."""
        context_mask, question_mask = attention_mask.bool(), question_attention_mask.bool()
        context = self.encoder(self._embed(input_ids, char_ids), context_mask)
        question = self.encoder(self._embed(question_input_ids, question_char_ids), question_mask)
        flow = self._attend(context, question, context_mask, question_mask)
        modelled = self.modelling(flow, context_mask)
        modelled_end = self.end_encoder(modelled, context_mask)
        start = self.start_from_flow(flow) + self.start_from_modelling(modelled)
        end = self.end_from_flow(flow) + self.end_from_modelling(modelled_end)
        return self._log_softmax(start, context_mask), self._log_softmax(end, context_mask)

    def loss(self, log_start: torch.Tensor, log_end: torch.Tensor, labels: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the sum of the negative log-likelihoods of start and end in nats, the mean over the batch."""
        start_loss = F.nll_loss(log_start, labels["start_positions"])
        return start_loss + F.nll_loss(log_end, labels["end_positions"])

    @staticmethod
    def _log_softmax(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities (B, C) in float32 over the real tokens, from scores (B, C, 1)."""
        masked = logits.squeeze(-1).float().masked_fill(~mask, MASKED)
        return masked.log_softmax(dim=1)

    def _embed(self, ids: torch.Tensor, char_ids: torch.Tensor | None) -> torch.Tensor:
        """Return the vectors (B, n, h) of words (B, n), with characters (B, n, h + channels), after highway layers."""
        x: torch.Tensor = self.projection(self._drop(self.words(ids)))
        if self.positions is not None:
            x = self._drop(x + self.positions(torch.arange(ids.size(1), device=ids.device)))
        if self.characters is not None:
            assert char_ids is not None
            x = torch.cat([x, self._read_characters(char_ids)], dim=-1)
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g = torch.sigmoid(gate(x))
            x = g * torch.relu(transform(x)) + (1 - g) * x
        return x

    def _read_characters(self, char_ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors (B, n, channels) of words from their characters (B, n, L)."""
        assert self.characters is not None
        batch, length, _ = char_ids.shape
        x = self._drop(self.characters(char_ids.flatten(0, 1)))  # (B n, L, E)
        x = torch.relu(self.convolution(x.transpose(1, 2).unsqueeze(1)))  # (B n, channels, 1, L - w + 1)
        vectors: torch.Tensor = x.squeeze(2).amax(dim=2)
        return vectors.view(batch, length, -1)

    def _attend(
        self, c: torch.Tensor, q: torch.Tensor, context_mask: torch.Tensor, question_mask: torch.Tensor
    ) -> torch.Tensor:
        """Return BiDAF's attention of the context to the question and back, G (B, C, 8h).

        States c are (B, C, 2h), of the question q (B, Q, 2h).
        """
        s = self._similarities(self._drop(c), self._drop(q))
        s1 = s.masked_fill(~question_mask.unsqueeze(1), MASKED).softmax(dim=2)
        s2 = s.masked_fill(~context_mask.unsqueeze(2), MASKED).softmax(dim=1)
        a = torch.bmm(s1.to(q.dtype), q)
        b = torch.bmm(torch.bmm(s1, s2.transpose(1, 2)).to(c.dtype), c)
        return torch.cat([c, a, c * a, c * b], dim=-1)

    def _similarities(self, c: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        """Return the similarity (B, C, Q) of each context word and question word, in float32."""
        if self.similarity_form == "concatenation":
            shape = (-1, c.size(1), q.size(1), -1)
            rows, columns = c.unsqueeze(2).expand(shape), q.unsqueeze(1).expand(shape)
            scores: torch.Tensor = self.similarity(torch.cat([rows, columns, rows * columns], dim=-1))
            return scores.squeeze(-1).float()
        w_c, w_q, w_cq = self.similarity.weight.to(c.dtype).squeeze(0).chunk(3)
        from_context = (c @ w_c).unsqueeze(2).expand(-1, -1, q.size(1))
        from_question = (q @ w_q).unsqueeze(1).expand(-1, c.size(1), -1)
        from_both = torch.matmul(c * w_cq, q.transpose(1, 2))
        return (from_context + from_question + from_both + self.similarity.bias).float()

    def _drop(self, x: torch.Tensor) -> torch.Tensor:
        """Apply dropout to x in training."""
        return F.dropout(x, self.drop_rate, self.training)


class PackedLstm(nn.Module):
    """A bidirectional LSTM over packed sequences, dropout between its layers and on its output."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, drop_rate: float) -> None:
        """Build a bidirectional LSTM with `hidden_size` units in each direction."""
        super().__init__()
        between = drop_rate if num_layers > 1 else 0.0
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, bidirectional=True, dropout=between)
        self.drop_rate = drop_rate

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return states (B, n, 2h) from inputs (B, n, D) and a boolean mask (B, n)."""
        return F.dropout(compute_packed_states(self.lstm, x, mask.sum(dim=1)), self.drop_rate, self.training)


def convert_to_textbook_weights(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights of a `BidafForQuestionAnswering` under the names that `TextbookBidaf` gives them."""
    weights: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        name = name.removeprefix("bidaf.")
        for ours, theirs in _RENAMED.items():
            if name.startswith(ours):
                name = theirs + name.removeprefix(ours)
        if name.startswith("modelling.1."):
            name = name.replace("modelling.1.rnn.", "modelling.lstm.").replace("_l0", "_l1")
        weights[name] = value
    if "convolution.weight" in weights:
        weights["convolution.weight"] = weights["convolution.weight"].unsqueeze(1)
    parts = [weights.pop(f"similarity.{part}_weight").flatten() for part in ("context", "question", "product")]
    weights["similarity.weight"] = torch.cat(parts).unsqueeze(0)
    return weights


_RENAMED = {
    "embeddings.words.": "words.",
    "embeddings.projection.": "projection.",
    "embeddings.position.table": "positions.weight",
    "char_cnn.embedding.": "characters.",
    "char_cnn.convolution.": "convolution.",
    "highway.": "",
    "attention_flow.": "",
    "encoder.rnn.": "encoder.lstm.",
    "modelling.0.rnn.": "modelling.lstm.",
    "end_encoder.rnn.": "end_encoder.lstm.",
}


def decode_spans_exhaustively(
    log_start: torch.Tensor, log_end: torch.Tensor, max_length: int, may_refuse: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return first and last positions (B,) of the most probable spans, found by scoring all pairs (C, C).

    With `may_refuse` they are (0, 0) where "no answer" is likelier.
    """
    start, end = log_start.exp(), log_end.exp()
    length = start.size(1)
    legal = torch.ones(length, length, dtype=torch.bool, device=start.device).triu().tril(max_length - 1)
    legal[0] = False
    joint = (start.unsqueeze(2) * end.unsqueeze(1)) * legal  # (B, C, C)
    best, flat = joint.flatten(1).max(dim=1)
    starts, ends = flat // length, flat % length
    if may_refuse:
        refuse = start[:, 0] * end[:, 0] > best
        starts, ends = starts.masked_fill(refuse, 0), ends.masked_fill(refuse, 0)
    return starts, ends


def refuse_unsupported_config(config: BidafConfig) -> None:
    """Raise ValueError for a config with an option or position kind that the textbook model lacks."""
    default: dict[str, Any] = BidafConfig().to_dict()
    for name, value in config.to_dict().items():
        if name in BidafConfig.__annotations__ and name not in KNOWN_FIELDS and value != default[name]:
            raise ValueError(f"the textbook BiDAF has no {name}={value!r}; it knows the paper's plain variants only")
    if config.position_embedding == "sinusoidal":
        raise ValueError("the textbook BiDAF has learned positions or none, not 'sinusoidal'")
