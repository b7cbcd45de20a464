"""Sentiment of a sentence from the mean of its words' vectors, by logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.text_classification.reader import TextSplits
from ctxzoo.tasks.word_embeddings.sentence_means import known_words
from ctxzoo.word_vectors.vectors import WordVectors

DATASET = "SetFit/sst2"
STRENGTHS = tuple(2.0**exponent for exponent in range(-8, 9))  # C, the inverse of the weight of the l2 penalty


@dataclass(frozen=True)
class SentimentScore:
    """The scores of the chosen classifier.

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
    check_splits(texts)
    inputs, labels, coverage = {}, {}, {}
    for split in SPLITS:
        words = known_words(vectors, texts.splits[split]["text"][:])
        inputs[split], coverage[split] = words.mean(vectors.vectors.numpy()), words.coverage
        labels[split] = np.asarray(texts.splits[split]["label"][:])
    best: tuple[float, float, LogisticRegression] | None = None
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=10_000).fit(inputs["train"], labels["train"])
        accuracy = 100 * float(model.score(inputs["validation"], labels["validation"]))
        if best is None or accuracy > best[0]:
            best = accuracy, strength, model
    assert best is not None
    accuracy, strength, model = best
    return SentimentScore(
        100 * float(model.score(inputs["test"], labels["test"])), accuracy, strength, coverage["test"]
    )


def check_splits(texts: TextSplits) -> None:
    """Raise ValueError where one of `SPLITS` is missing."""
    missing = [split for split in SPLITS if split not in texts.splits]
    if missing:
        raise ValueError(f"the splits are {sorted(texts.splits)}; {', '.join(missing)} is missing")
