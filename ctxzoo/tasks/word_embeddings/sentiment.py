"""Sentiment of a sentence from the mean of its words' vectors, or from several means, by logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from ctxzoo.data.formats import SPLITS
from ctxzoo.models.tokenization_word import build_pre_tokenizer, pre_tokenize
from ctxzoo.tasks.text_classification.reader import TextSplits
from ctxzoo.tasks.word_embeddings.word_rows import UNKNOWN, look_up_rows, normalize_rows
from ctxzoo.word_vectors.vectors import WordVectors

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KnownWords:
    """The words of texts that have a vector.

    Attributes:
        rows: (words,) row of each known word in the table of vectors, text by text.
        texts: (words,) number of the text in which each known word stands.
        number: Number of texts.
        coverage: Percentage of all words that have a vector.
    """

    rows: npt.NDArray[np.int64]
    texts: npt.NDArray[np.int64]
    number: int
    coverage: float

    def average_rows(self, table: npt.NDArray[np.float32], weights: Numbers | None = None) -> Numbers:
        """Return for each text the mean of its words' vectors (texts, d), equal or weighted by `weights`.

        A text without a known word is a vector of zeros.
        """
        factors = np.ones(len(self.rows)) if weights is None else weights[self.rows]
        sums = np.zeros((self.number, table.shape[1]))
        np.add.at(sums, self.texts, table[self.rows] * factors[:, None])
        totals = np.bincount(self.texts, factors, minlength=self.number)
        return sums / np.where(totals == 0, 1, totals)[:, None]


def look_up_known_words(vectors: WordVectors, texts: Sequence[str]) -> KnownWords:
    """Split texts at white space and look up the row of each word that has a vector."""
    pre_tokenizer = build_pre_tokenizer(lower_case=False)
    words = [pre_tokenize(pre_tokenizer, text) for text in texts]
    rows = look_up_rows(vectors, [word for text in words for word in text])
    of_text = np.repeat(np.arange(len(words)), [len(text) for text in words])
    known = rows != UNKNOWN
    return KnownWords(rows[known], of_text[known], len(words), 100 * float(known.mean()))


DATASET = "SetFit/sst2"
STRENGTHS = tuple(2.0**exponent for exponent in range(-8, 9))  # C, the inverse of the weight of the l2 penalty


@dataclass(frozen=True)
class SentimentScore:
    """The scores of the chosen classifier.

    Attributes:
        accuracy: Accuracy on the test split, in percent.
        validation_accuracy: Accuracy on the validation split in percent, by which C was chosen.
        strength: Inverse regularization strength C of the classifier, the smallest of equally good values.
        coverage: Percentage of the test split's words that have a vector.
    """

    accuracy: float
    validation_accuracy: float
    strength: float
    coverage: float


def evaluate_sentiment(vectors: WordVectors, texts: TextSplits) -> SentimentScore:
    """Fit logistic regressions on mean vectors of train, choose C by validation, and score on test.

    A sentence is cut at white space; its words without a vector are left out of the mean, and one without any known
    word is a vector of zeros.

    Args:
        vectors: Word vectors, which are used as features without scaling or training.
        texts: Labelled texts with the splits train, validation and test.

    Raises:
        ValueError: a split is missing.
    """
    check_required_splits(texts)
    inputs, labels, coverage = {}, {}, {}
    for split in SPLITS:
        words = look_up_known_words(vectors, texts.splits[split]["text"][:])
        inputs[split], coverage[split] = words.average_rows(vectors.vectors.numpy()), words.coverage
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


def check_required_splits(texts: TextSplits) -> None:
    """Raise ValueError where one of `SPLITS` is missing."""
    missing = [split for split in SPLITS if split not in texts.splits]
    if missing:
        raise ValueError(f"the splits are {sorted(texts.splits)}; {', '.join(missing)} is missing")


FOLDS = 5  # of the training part, by which C is chosen
RARE = 1e-3  # a of the weight a / (a + p) of a word that is the fraction p of the text (Arora et al. 2017)
# Name of a mean -> whether its words have length 1, and whether they are weighted by frequency.
MEANS = {"plain": (False, False), "unit": (True, False), "weighted": (False, True), "unit_weighted": (True, True)}


@dataclass(frozen=True)
class MeanScore:
    """The scores of the classifier of one mean, in percent.

    Attributes:
        accuracy: Accuracy on the test split, in percent.
        validation_accuracy: Accuracy on the validation split in percent, for information; no choice depends on it.
        fold_accuracy: Mean accuracy over cross-validation folds of the training split, by which C was chosen.
        strength: Inverse regularization strength C of the classifier, the smallest of equally good values.
        coverage: Percentage of the test split's words that have a vector.
    """

    accuracy: float
    validation_accuracy: float
    fold_accuracy: float
    strength: float
    coverage: float


def evaluate_mean_vector_sentiment(vectors: WordVectors, texts: TextSplits) -> dict[str, MeanScore]:
    """Fit logistic regressions on each kind of mean in `MEANS`, C by cross-validation on train.

    All numbers of a mean are divided by one, so that those of train have the standard deviation 1: C means the same,
    however long the vectors are. Frequencies are those of the known words of train.

    Raises:
        ValueError: a split is missing; no word of train has a vector.
    """
    check_required_splits(texts)
    words = {split: look_up_known_words(vectors, texts.splits[split]["text"][:]) for split in SPLITS}
    if not len(words["train"].rows):
        raise ValueError(f"{vectors.name} has a vector for no word of the training sentences; choose others")
    labels = {split: np.asarray(texts.splits[split]["label"][:]) for split in SPLITS}
    rare = compute_frequency_weights(words["train"], len(vectors))
    mean_scores = {}
    for name, (unit, weighted) in MEANS.items():
        table = normalize_rows(vectors) if unit else vectors.vectors.numpy()
        inputs = {split: words[split].average_rows(table, rare if weighted else None) for split in SPLITS}
        scale = inputs["train"].std() or 1.0
        search = GridSearchCV(LogisticRegression(max_iter=10_000), {"C": STRENGTHS}, cv=FOLDS)
        search.fit(inputs["train"] / scale, labels["train"])
        scores = {split: 100 * float(search.score(inputs[split] / scale, labels[split])) for split in SPLITS[1:]}
        mean_scores[name] = MeanScore(
            accuracy=scores["test"],
            validation_accuracy=scores["validation"],
            fold_accuracy=100 * float(search.best_score_),
            strength=float(search.best_params_["C"]),
            coverage=words["test"].coverage,
        )
    return mean_scores


def compute_frequency_weights(words: KnownWords, vocab_size: int) -> Numbers:
    """Return a weight for each vector (number,) that is smaller for more frequent words, to average words by."""
    weights: Numbers = RARE / (RARE + np.bincount(words.rows, minlength=vocab_size) / len(words.rows))
    return weights
