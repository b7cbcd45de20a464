"""What a tagger has beside its LSTM: features of words, scores linear in them, a linear-chain CRF, allowed sequences.

Lafferty, McCallum and Pereira (2001): a sequence y of tags has the score s(y) = b[y_1] + Σ_i x_i[y_i] +
Σ_i T[y_{i-1}, y_i] + e[y_n] and the probability exp(s(y)) / Σ exp(s(y')) among all sequences of its length.
"""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .layers_text_input import RandomEmbedding
from .ops_bilstm_tagger import Scheme, compute_log_partition, compute_max_marginals, find_forbidden_transitions
from .ops_execution import is_exporting
from .ops_inputs import to_int64
from .ops_words import IGNORED

FORBIDDEN = -1e4  # score of a step that a scheme forbids; finite, also in half precision


class FeatureSum(nn.Module):
    """A table of vectors of features; that of a word is the sum over its features.

    Args:
        num_features: Number of ids of features, 0 (padding, or a feature that is not known) among them.
        width: Width of the vectors.
        bound: Bound of the uniform distribution from which they are drawn; 0: they start from 0.
    """

    def __init__(self, num_features: int, width: int, bound: float) -> None:
        super().__init__()
        self.table = RandomEmbedding(num_features, width, trainable=True, bound=bound)

    def forward(self, feature_ids: torch.Tensor) -> torch.Tensor:
        """Return the sums (B, n, width) over the features of each word, feature_ids (B, n, F)."""
        if is_exporting():
            return self.table(feature_ids).sum(dim=2)  # type: ignore[no-any-return]
        batch, length, width = feature_ids.shape
        bags = feature_ids.reshape(batch * length, width)
        sums = F.embedding_bag(bags, self.table.weight, mode="sum", padding_idx=0)
        return sums.view(batch, length, -1)


class WindowScores(nn.Module):
    """The wide part of a tagger: scores of tags linear in the features and the vectors of a word and those beside it.

    With x_j and f_j of word j the scores of word i are Σ_k (U_k^T x_{i+k} + Σ_{f in f_{i+k}} W_k[f]), k from -window to
    window; words beyond the ends of a sentence count 0.

    Args:
        num_features: Number of ids of features; 0: words have none.
        width: Width of the given word vectors; 0: they are not read.
        num_labels: Number of tags.
        window: Number of words on each side.
    """

    vector_weight: nn.Parameter | None

    def __init__(self, num_features: int, width: int, num_labels: int, window: int) -> None:
        super().__init__()
        self.window = window
        places = 2 * window + 1
        self.features = FeatureSum(num_features, places * num_labels, 0.0) if num_features else None
        vector_weight = nn.Parameter(torch.empty(width, places * num_labels)) if width else None
        self.register_parameter("vector_weight", vector_weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.vector_weight is not None:
            init.zeros_(self.vector_weight)

    def forward(self, words: torch.Tensor | None, feature_ids: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores (B, n, L), 0 at padding.

        Args:
            words: (B, n, v) word vectors x; None where they are not read.
            feature_ids: (B, n, F) features of words; None where they have none.
            mask: Boolean (B, n), True at words.
        """
        is_word = mask.unsqueeze(-1)
        parts = []
        if self.vector_weight is not None and words is not None:
            parts.append(words @ self.vector_weight)
        if self.features is not None and feature_ids is not None:
            parts.append(self.features(feature_ids))
        given = torch.stack(parts).sum(dim=0)
        given = torch.where(is_word, given, given.new_zeros(()))
        batch, length = mask.shape
        given = given.view(batch, length, 2 * self.window + 1, -1)  # what a word gives to those around it
        padded = F.pad(given, (0, 0, 0, 0, self.window, self.window))
        shifted = [padded[:, place : place + length, place] for place in range(2 * self.window + 1)]
        return torch.stack(shifted).sum(dim=0) * is_word


def check_feature_ids(feature_ids: torch.Tensor | None, words: torch.Tensor, num_features: int) -> torch.Tensor | None:
    """Return feature_ids (B, n, F) as int64; None where words have no features.

    Args:
        feature_ids: Features of the words, as a tokenizer with features gives them.
        words: (B, n, ...) what stands for the words.
        num_features: Number of ids of features of the model.

    Raises:
        ValueError: there are none though the model reads them, or some though it does not; another shape or type; an id
            outside the table (read on the CPU only).
    """
    if (feature_ids is None) == (num_features > 0):
        given = "no feature_ids" if feature_ids is None else "feature_ids"
        raise ValueError(
            f"{given} for a model with num_features={num_features}; take what the tokenizer of its checkpoint gives"
        )
    if feature_ids is None:
        return None
    feature_ids = to_int64("feature_ids", feature_ids)
    if feature_ids.dim() != 3 or feature_ids.shape[:2] != words.shape[:2]:
        raise ValueError(
            f"feature_ids of shape {tuple(feature_ids.shape)}; expected {tuple(words.shape[:2])} and the features of a "
            "word"
        )
    if torch.compiler.is_compiling() or feature_ids.is_cuda or not feature_ids.numel():
        return feature_ids
    low, high = (int(value) for value in feature_ids.aminmax())
    if low < 0 or high >= num_features:
        raise ValueError(f"feature id {low if low < 0 else high} is outside the table of {num_features} rows")
    return feature_ids


class TagSequence(nn.Module):
    """The transitions between tags: trained ones of a CRF, and those that a scheme of spans forbids.

    The scheme is for decoding alone, so that sentences of the training data may break it.

    Args:
        tags: Names of the tags.
        crf: Whether transitions T, b and e are trained; otherwise all of them are 0.
        scheme: Scheme of spans that decoded sequences keep; None: every sequence is allowed.
    """

    between: nn.Parameter | None
    begin: nn.Parameter | None
    end: nn.Parameter | None

    def __init__(self, tags: Sequence[str], crf: bool, scheme: Scheme | None) -> None:
        super().__init__()
        self.size = len(tags)
        self.forbidden = None if scheme is None else find_forbidden_transitions(tags, scheme)
        sizes = {"between": (self.size, self.size), "begin": (self.size,), "end": (self.size,)}
        for name, shape in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape)) if crf else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            init.zeros_(parameter)

    def compute_best_scores(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return for each word and tag the score of the best allowed sequence that has the tag there.

        The highest of a word belongs to the best sequence of all (Viterbi's), so that the most probable tag of each
        word keeps the scheme.

        Args:
            scores: (B, n, L) scores x of the tags of each word.
            mask: Boolean (B, n), True at words, which come first.

        Returns:
            (B, n, L), `scores` at padding.
        """
        between, begin, end = self._get_transitions(scores)
        if self.forbidden is not None:
            where = [torch.tensor(forbidden, device=scores.device) for forbidden in self.forbidden]
            between = between.masked_fill(where[0], FORBIDDEN)
            begin, end = begin.masked_fill(where[1], FORBIDDEN), end.masked_fill(where[2], FORBIDDEN)
        return compute_max_marginals(scores, mask, between, begin, end)

    def compute_loss(self, scores: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return -log p(labels) of the CRF in nats, the mean over the words that count.

        Of words that do not count every tag is right: the probability is that of all sequences with the other tags.

        Args:
            scores: (B, n, L) scores x of the tags of each word.
            labels: (B, n) tags, 0 to L - 1, or -100.
            mask: Boolean (B, n), True at words, which come first.
        """
        steps = self._get_transitions(scores)
        counts = (labels != IGNORED) & mask
        known = F.one_hot(labels.clamp(min=0).long(), self.size).bool() | ~counts.unsqueeze(-1)
        right = compute_log_partition(scores.masked_fill(~known, FORBIDDEN), mask, *steps)
        total = compute_log_partition(scores, mask, *steps)
        return (total - right).sum() / counts.sum().clamp(min=1)

    def _get_transitions(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return T (L, L), b (L,) and e (L,) in the type of scores."""
        if self.between is None or self.begin is None or self.end is None:
            zeros = scores.new_zeros(self.size, self.size)
            return zeros, zeros[0], zeros[0]
        return self.between.to(scores.dtype), self.begin.to(scores.dtype), self.end.to(scores.dtype)
