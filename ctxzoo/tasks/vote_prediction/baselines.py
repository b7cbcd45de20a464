"""Bars that count: rates of bills and parties, and for new bills a logistic regression of TF-IDF for each party."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from ctxzoo.runs.counted import CountedRun, SimpleModel
from ctxzoo.tasks.vote_prediction.data import VoteDataModule
from ctxzoo.tasks.vote_prediction.task import VoteScores

Probabilities = npt.NDArray[np.float64]  # (bills, legislators) of a yea
HALF = 0.5  # added to yeas and nays
ITERATIONS = 1000
PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)  # inverse, of scikit-learn's logistic regression


def list_training_votes(data: VoteDataModule) -> tuple[Probabilities, Probabilities]:
    """Return two matrices of 0 and 1 (bills, legislators): the yeas in training, and all votes in training."""
    cells = data.observed.astype(np.float64)
    return np.nan_to_num(cells), (~np.isnan(cells)).astype(np.float64)


def group_legislators_by_party(data: VoteDataModule) -> dict[str, npt.NDArray[np.int64]]:
    """Return for each party the columns of its legislators."""
    groups = np.array(data.groups)
    return {group: np.flatnonzero(groups == group) for group in sorted(set(data.groups))}


def compute_bill_rates(data: VoteDataModule) -> Probabilities:
    """Return each bill's fraction of yeas in its training votes (bills, legislators); without votes that of all."""
    yea, has_vote = list_training_votes(data)
    rate = (yea.sum(axis=1) + HALF) / (has_vote.sum(axis=1) + 2 * HALF)
    rate[has_vote.sum(axis=1) == 0] = yea.sum() / has_vote.sum()
    rates: Probabilities = np.broadcast_to(rate[:, None], yea.shape)
    return rates


def compute_party_rates(data: VoteDataModule) -> Probabilities:
    """Return for each party the fraction of yeas in its training votes (bills, legislators), whatever the bill."""
    yea, has_vote = list_training_votes(data)
    rates = np.zeros_like(yea)
    for rows in group_legislators_by_party(data).values():
        rates[:, rows] = (yea[:, rows].sum() + HALF) / (has_vote[:, rows].sum() + 2 * HALF)
    return rates


def compute_bill_party_rates(data: VoteDataModule) -> Probabilities:
    """Return the fraction of yeas of each party on each bill (bills, legislators), half a yea and half a nay added."""
    yea, has_vote = list_training_votes(data)
    rates = np.zeros_like(yea)
    for rows in group_legislators_by_party(data).values():
        rate = (yea[:, rows].sum(axis=1) + HALF) / (has_vote[:, rows].sum(axis=1) + 2 * HALF)
        rates[:, rows] = rate[:, None]
    return rates


def fit_tfidf_by_party(data: VoteDataModule) -> Probabilities:
    """Fit a logistic regression on TF-IDF for each party and return the probabilities of a yea.

    Its penalty is the one of `PENALTIES` with the highest log-likelihood on validation, where there is such a split.
    """
    candidates = (_fit_tfidf_with_penalty(data, inverse) for inverse in PENALTIES)
    if "validation" not in data.splits:
        return _fit_tfidf_with_penalty(data, 1.0)
    return max(
        candidates,
        key=lambda probabilities: score_baseline(probabilities, data.vote_matrix("validation"))["log_likelihood"],
    )


def _fit_tfidf_with_penalty(data: VoteDataModule, inverse_penalty: float) -> Probabilities:
    """Fit for each party a logistic regression from a bill's words (TF-IDF) to its yeas, and return the probability of
    a yea (bills, legislators); `inverse_penalty` is scikit-learn's C.
    """
    yea, has_vote = list_training_votes(data)
    known = np.flatnonzero(data.bill_ids >= 0)
    transformer = TfidfTransformer(sublinear_tf=True).fit(data.bags[known])
    vectors = transformer.transform(data.bags)
    probabilities = np.zeros_like(yea)
    for rows in group_legislators_by_party(data).values():
        ayes, all_votes = yea[:, rows].sum(axis=1), has_vote[:, rows].sum(axis=1)
        bills = np.flatnonzero(all_votes > 0)
        # Each bill stands twice, with the number of its yeas and of its nays as weights.
        weights = np.concatenate([ayes[bills], (all_votes - ayes)[bills]])
        outcomes = np.repeat([1, 0], len(bills))
        model = LogisticRegression(C=inverse_penalty, max_iter=ITERATIONS)
        model.fit(vectors[np.concatenate([bills, bills])], outcomes, sample_weight=weights)
        probabilities[:, rows] = model.predict_proba(vectors)[:, 1:]
    return probabilities


BASELINES: Mapping[str, Callable[[VoteDataModule], Probabilities]] = MappingProxyType(
    {
        "bill_rate": compute_bill_rates,
        "party_rate": compute_party_rates,
        "bill_party_rate": compute_bill_party_rates,
        "tfidf_party": fit_tfidf_by_party,
    }
)


def count_baseline_parameters(baseline: str, data: VoteDataModule) -> int:
    """Return the number of parameters that a baseline stores."""
    bills, parties = int((data.bill_ids >= 0).sum()), len(group_legislators_by_party(data))
    words = len(data.words or ())
    return {"bill_rate": bills, "party_rate": parties, "bill_party_rate": bills * parties}.get(
        baseline, parties * (words + 1)
    )


def score_baseline(probabilities: Probabilities, cells: npt.NDArray[np.float32]) -> dict[str, float]:
    """Return the scores of probabilities of a yea against the votes of a split, both (bills, legislators)."""
    scores = VoteScores().keep_local()
    scores.update(torch.logit(torch.from_numpy(np.array(probabilities))), torch.from_numpy(cells))
    return scores.compute()


@dataclass(frozen=True)
class BaselineRun(CountedRun):
    """One of `BASELINES`; see `CountedRun`."""

    reads = ("configuration", "max_words", "cut_outcomes")
    columns = ("legislator_column", "bill_column", "vote_column", "text_column", "party_column", "texts")
    goes_on = True

    def fit(self, data: VoteDataModule) -> SimpleModel:
        """Fit the baseline of this variant to the votes of train."""
        floor = self.experiment.model.variant
        probabilities = BASELINES[floor](data)
        return SimpleModel(
            count_baseline_parameters(floor, data), lambda split: score_baseline(probabilities, data.vote_matrix(split))
        )
