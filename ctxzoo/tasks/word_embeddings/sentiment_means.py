"""Sentiment from several means of a sentence's word vectors, each with the penalty that cross-validation chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from ctxzoo.data.formats import SPLITS
from ctxzoo.tasks.text_classification.reader import TextSplits
from ctxzoo.tasks.word_embeddings.sentence_means import KnownWords, Numbers, known_words
from ctxzoo.tasks.word_embeddings.sentiment import STRENGTHS, check_splits
from ctxzoo.tasks.word_embeddings.word_rows import unit_rows
from ctxzoo.word_vectors.vectors import WordVectors

FOLDS = 5  # of the training part, by which C is chosen
RARE = 1e-3  # a of the weight a / (a + p) of a word that is the fraction p of the text (Arora et al. 2017)
# Name of a mean -> whether its words have length 1, and whether they are weighted by frequency.
MEANS = {"plain": (False, False), "unit": (True, False), "weighted": (False, True), "unit_weighted": (True, True)}


@dataclass(frozen=True)
class MeanScore:
    """The scores of the classifier of one mean, in percent.

    Attributes:
        accuracy: on test.
        validation_accuracy: on validation, which decides nothing.
        fold_accuracy: mean over the folds of the training part, by which C was chosen.
        strength: C, of equals the smallest.
        coverage: percentage of the words of test that have a vector.
    """

    accuracy: float
    validation_accuracy: float
    fold_accuracy: float
    strength: float
    coverage: float


def evaluate_means(vectors: WordVectors, texts: TextSplits) -> dict[str, MeanScore]:
    """Fit for each of `MEANS` on train with the C of `STRENGTHS` that cross-validation on train chooses.

    All numbers of a mean are divided by one, so that those of train have the standard deviation 1: C means the same,
    however long the vectors are. Frequencies are those of the known words of train.

    Raises:
        ValueError: a split is missing; no word of train has a vector.
    """
    check_splits(texts)
    words = {split: known_words(vectors, texts.splits[split]["text"][:]) for split in SPLITS}
    if not len(words["train"].rows):
        raise ValueError(f"{vectors.name} has a vector for no word of the training sentences; choose others")
    labels = {split: np.asarray(texts.splits[split]["label"][:]) for split in SPLITS}
    rare = frequency_weights(words["train"], len(vectors))
    found = {}
    for name, (unit, weighted) in MEANS.items():
        table = unit_rows(vectors) if unit else vectors.vectors.numpy()
        inputs = {split: words[split].mean(table, rare if weighted else None) for split in SPLITS}
        scale = inputs["train"].std() or 1.0
        search = GridSearchCV(LogisticRegression(max_iter=10_000), {"C": STRENGTHS}, cv=FOLDS)
        search.fit(inputs["train"] / scale, labels["train"])
        scores = {split: 100 * float(search.score(inputs[split] / scale, labels[split])) for split in SPLITS[1:]}
        found[name] = MeanScore(
            accuracy=scores["test"],
            validation_accuracy=scores["validation"],
            fold_accuracy=100 * float(search.best_score_),
            strength=float(search.best_params_["C"]),
            coverage=words["test"].coverage,
        )
    return found


def frequency_weights(words: KnownWords, number: int) -> Numbers:
    """Return (number,) for each vector `RARE` / (`RARE` + its word's fraction of these words): 1 for other words."""
    weights: Numbers = RARE / (RARE + np.bincount(words.rows, minlength=number) / len(words.rows))
    return weights
