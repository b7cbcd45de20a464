"""Sentiment of a sentence from the mean of its words' vectors, by logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import datasets
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from ctxzoo.data.text_reader import TextSplits
from ctxzoo.data.word_vectors import WordVectors
from ctxzoo.evaluation.word_rows import UNKNOWN, rows_of
from ctxzoo.models.tokenization_word import cut_words, word_cutter

DATASET = "SetFit/sst2"
STRENGTHS = tuple(2.0**exponent for exponent in range(-8, 9))  # C, the inverse of the weight of the l2 penalty
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class SentimentScore:
    """What the chosen classifier gives.

    Attributes:
        accuracy: on test, in percent.
        validation_accuracy: by which C was chosen.
        strength: C, of equals the smallest.
        coverage: percentage of the words of test that have a vector.
    """

    accuracy: float
    validation_accuracy: float
    strength: float
    coverage: float


def evaluate_sentiment(vectors: WordVectors, texts: TextSplits) -> SentimentScore:
    """Fit on train for every C of `STRENGTHS`, choose by validation, score on test.

    A sentence is cut at white space; its words without a vector are left out of the mean, and one without any known
    word is a vector of zeros.

    Args:
        vectors: as they are, neither scaled nor trained.
        texts: with splits train, validation and test.

    Raises:
        ValueError: a split is missing.
    """
    missing = [split for split in SPLITS if split not in texts.splits]
    if missing:
        raise ValueError(f"the splits are {sorted(texts.splits)}; {', '.join(missing)} is missing")
    inputs, labels, shares = {}, {}, {}
    for split in SPLITS:
        inputs[split], shares[split] = _means(vectors, texts.splits[split])
        labels[split] = np.asarray(texts.splits[split]["label"][:])
    best: tuple[float, float, LogisticRegression] | None = None
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=10_000).fit(inputs["train"], labels["train"])
        accuracy = 100 * float(model.score(inputs["validation"], labels["validation"]))
        if best is None or accuracy > best[0]:
            best = accuracy, strength, model
    assert best is not None
    accuracy, strength, model = best
    return SentimentScore(100 * float(model.score(inputs["test"], labels["test"])), accuracy, strength, shares["test"])


def _means(vectors: WordVectors, texts: datasets.Dataset) -> tuple[npt.NDArray[np.float64], float]:
    """(texts, d) mean vectors, and the percentage of words that have one."""
    # Words keep their case: `lookup` tries them as they are first.
    cutter = word_cutter(lower_case=False)
    words = [cut_words(cutter, text) for text in texts["text"][:]]
    rows = rows_of(vectors, [word for text in words for word in text])
    of_text = np.repeat(np.arange(len(words)), [len(text) for text in words])
    known = rows != UNKNOWN
    sums = np.zeros((len(words), vectors.dim))
    np.add.at(sums, of_text[known], vectors.vectors.numpy()[rows[known]])
    counts = np.bincount(of_text[known], minlength=len(words))
    return sums / np.maximum(counts, 1)[:, None], 100 * float(known.mean())
