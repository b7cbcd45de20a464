"""What stands above the scores of a tagger's words: a linear-chain CRF, and the best sequence of tags that is allowed.

Lafferty, McCallum and Pereira (2001): a sequence y of tags has the score s(y) = b[y_1] + Σ_i x_i[y_i] +
Σ_i T[y_{i-1}, y_i] + e[y_n] and the probability exp(s(y)) / Σ exp(s(y')) among all sequences of its length.
"""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F
from transformers import initialization as init

from .ops_bilstm_tagger import Scheme, compute_log_partition, compute_max_marginals, find_forbidden_transitions
from .ops_words import IGNORED

FORBIDDEN = -1e4  # score of a step that a scheme forbids; finite, also in half precision


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
