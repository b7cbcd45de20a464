"""Bars that count: how often each word occurs, alone or behind the one to four words before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.language_modelling.data import LanguageModellingDataModule, TokenStream, count_predictable_words
from ctxzoo.tasks.language_modelling.task import LanguageModellingScores

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NEVER_SEEN = -1  # number of an n-gram that the training text does not have
# Name to the length of the longest n-grams of a modified Kneser-Ney model.
BASELINES: Mapping[str, int] = MappingProxyType({"unigram": 1, "bigram": 2, "kneser_ney_5": 5})


@dataclass(frozen=True)
class _Order:
    """The n-grams of one length in the training text.

    Attributes:
        keys: (G,) ascending keys of the G n-grams: number of the context (the first n-1 words) times vocabulary size,
            plus id of the last word.
        counts: (G,) count of each n-gram: occurrences for the longest n-grams, number of different preceding words for
            shorter ones.
        totals: (contexts,) sum of the counts of all n-grams that continue each context.
        taken: (contexts,) sum of the discounts subtracted from the counts of each context.
        discounts: (4,) discount subtracted from a count of 0, of 1, of 2, and of 3 or more.
    """

    keys: Ids
    counts: Ids
    totals: Ids
    taken: Floats
    discounts: Floats

    def look_up_numbers(self, contexts: Ids, tokens: Ids, vocab_size: int) -> Ids:
        """Look up the number of the n-gram that each token ends with its context; `NEVER_SEEN` for an unknown one."""
        wanted = np.where(contexts == NEVER_SEEN, NEVER_SEEN, contexts * vocab_size + tokens)
        found = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, found, NEVER_SEEN)


class KneserNey:
    """A model of the next word from the `order` - 1 words before it, by counts (Kneser and Ney 1995).

    Interpolated and modified (Chen and Goodman 1999): below the longest n-grams counts are numbers of different words
    before; D, what is taken from a count, follows for each length of n-grams from how many have the counts 1 to 4, see
    `estimate_discounts`; and below single words all words are equally likely:

        p(w | h) = (c(h w) - D(c(h w)) + p(w | h without its first word) Σ over v of D(c(h v))) / Σ over v of c(h v)

    Contexts do not reach back beyond the line: before its first word stand end marks.

    Args:
        tokens: (N,) ids of the N words of the training text, with an end mark after each line.
        order: Length n of the longest n-grams, 1 or more; 1: a unigram model.
        words: Size of the vocabulary that can follow a context, the end mark included.
        end_id: Id of the token that marks the end of a line.

    Raises:
        ValueError: order below 1, or no token.
    """

    def __init__(self, tokens: Ids, order: int, words: int, end_id: int) -> None:
        if order < 1 or not len(tokens):
            raise ValueError(f"order={order} with {len(tokens)} tokens: expected 1 or more of both")
        self.order = order
        self.words = words
        self.end_id = end_id
        self._base = int(max(tokens.max(), end_id)) + 1  # above all ids, for keys
        text, at = _pad_lines(tokens, order, end_id)
        self._orders: list[_Order] = []
        # Of each position of the text, of the padding too, the number of the n-gram that ends there.
        ending = np.zeros((order + 1, len(text)), np.int64)
        for length in range(1, order + 1):
            contexts = np.concatenate([[0], ending[length - 1][:-1]])
            keys, ending[length] = np.unique(contexts * self._base + text, return_inverse=True)
            self._orders.append(self._count(length, keys, contexts, ending[length], at))
        for length in range(1, order):  # counts of words before, of the n-grams that are one word longer
            longer, shorter = self._orders[length], self._orders[length - 1]
            first = np.zeros(len(longer.keys), np.int64)
            first[ending[length + 1][at]] = at
            seen = longer.counts > 0
            counts = np.bincount(ending[length][first[seen]], minlength=len(shorter.keys))
            self._orders[length - 1] = self._build_order(shorter.keys, counts, len(shorter.totals))

    def _count(self, length: int, keys: Ids, contexts: Ids, ending: Ids, at: Ids) -> _Order:
        """Return the n-grams of one length with their counts at the positions `at` of the text (N,); `ending` is the
        number of the n-gram that ends at each position, `contexts` that of the context before it.
        """
        return self._build_order(keys, np.bincount(ending[at], minlength=len(keys)), int(contexts.max()) + 1)

    def _build_order(self, keys: Ids, counts: Ids, num_contexts: int) -> _Order:
        """Return the n-grams with these keys (G,) and counts (G,), with the discounts that follow from the counts."""
        of = keys // self._base
        discounts = estimate_discounts(counts)
        totals = np.bincount(of, counts, num_contexts).astype(np.int64)
        taken = np.bincount(of, discounts[counts.clip(max=3)], num_contexts).astype(np.float64)
        return _Order(keys, counts, totals, taken, discounts)

    @property
    def num_counts(self) -> int:
        """Number of counts that the model stores."""
        return sum(int((one.counts > 0).sum()) for one in self._orders)

    def compute_probabilities(self, tokens: Ids) -> Floats:
        """Return the probability (N,) of each token of a text, given the tokens before it in its line.

        Args:
            tokens: (N,) ids of the N words of a text, with an end mark after each line; ids unseen in training are
                allowed.
        """
        text, at = _pad_lines(tokens, self.order, self.end_id)
        known_tokens = np.where(text < self._base, text, 0)
        ending = np.zeros(len(text), np.int64)
        probabilities = np.full(len(text), 1.0 / self.words)
        for model_order in self._orders:
            contexts = np.concatenate([[0], ending[:-1]])
            numbers = model_order.look_up_numbers(contexts, known_tokens, self._base)
            ending = np.where(text < self._base, numbers, NEVER_SEEN)
            totals = np.where(contexts == NEVER_SEEN, 0, model_order.totals[contexts])
            counts = np.where(ending == NEVER_SEEN, 0, model_order.counts[ending])
            kept = counts - model_order.discounts[counts.clip(max=3)]
            probabilities = np.where(
                totals > 0, (kept + model_order.taken[contexts] * probabilities) / np.maximum(totals, 1), probabilities
            )
        return probabilities[at]


def estimate_discounts(counts: Ids) -> Floats:
    """Estimate the four Kneser-Ney discounts (4,), which are subtracted from counts of 0, 1, 2, and of 3 or more.

    With n_k the number of n-grams of count k and Y = n_1 / (n_1 + 2 n_2) it is 0, and k - (k + 1) Y n_(k+1) / n_k for k
    from 1 to 3. Where one of n_1 to n_4 or of these is 0 or below, in small texts, it is Y for all (Ney, Essen and
    Kneser 1994); without any n-gram of count 1, as in text that repeats itself, it is 0.5, so that a word that was
    never seen behind a context has some probability there.
    """
    once, twice, thrice, four = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    single = once / (once + 2 * twice) if once else 0.5
    alike = np.array([0.0, single, single, single])
    if not (once and twice and thrice and four):
        return alike
    ratios = (twice / once, thrice / twice, four / thrice)
    modified = [count - (count + 1) * single * ratio for count, ratio in enumerate(ratios, start=1)]
    return np.array([0.0, *modified]) if min(modified) > 0 else alike


def _pad_lines(tokens: Ids, order: int, end_id: int) -> tuple[Ids, Ids]:
    """Return the text with `order` - 1 end marks before each line, and the new positions (N,) of its tokens."""
    before = np.zeros(len(tokens), np.int64)
    before[1:] = tokens[:-1] == end_id
    before[0] = 1
    at = np.arange(len(tokens)) + (order - 1) * np.cumsum(before)
    text = np.full(len(tokens) + (order - 1) * int(before.sum()), end_id, np.int64)
    text[at] = tokens
    return text, at


def fit_baseline(name: str, data: LanguageModellingDataModule) -> KneserNey:
    """Count the n-grams of the training text and return the named model of `BASELINES`.

    Raises:
        ValueError: another name; no training text.
    """
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}; known: {', '.join(BASELINES)}")
    train = data.stream("train")
    return KneserNey(train.tokens, BASELINES[name], count_predictable_words(data.tokenizer), train.end_id)


def score_baseline(model: KneserNey, stream: TokenStream) -> dict[str, float]:
    """Return the scores of `LanguageModellingScores` over a split."""
    scores = LanguageModellingScores().keep_local()
    losses = torch.from_numpy(-np.log(model.compute_probabilities(stream.tokens)))
    scores.update(losses, torch.from_numpy(stream.tokens == stream.unknown_id))
    return scores.compute()


@dataclass(frozen=True)
class BaselineRun(CountedRun):
    """One of `BASELINES`; see `CountedRun`."""

    reads = ("min_word_count", "lower_case", "pre_tokenizer")
    columns = ("text_column",)
    goes_on = True

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the baseline itself for the results file."""
        return {"order": BASELINES.get(self.experiment.model.variant)}

    def fit(self, data: LanguageModellingDataModule) -> SimpleModel:
        """Count the n-grams of train."""
        model = fit_baseline(self.experiment.model.variant, data)
        return SimpleModel(model.num_counts, lambda split: score_baseline(model, data.stream(split)))
