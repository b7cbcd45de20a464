"""Word analogies: a is to b as c is to which word?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ctxzoo.data.sources import dataset_fingerprint, load_splits
from ctxzoo.data.word_vectors import WordVectors
from ctxzoo.evaluation.columns import column_of
from ctxzoo.evaluation.word_rows import UNKNOWN, rows_of, unit_rows

DATASET = "ctxzoo-data/word_analogy"
SYNTACTIC = "gram"  # how the names of the Google set's syntactic categories begin
_COSINES_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class Analogies:
    """Questions of a category: words[i] is (a, b, c, d), and d the answer."""

    words: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True)
class AnalogyScore:
    """What the questions of a category, or of several, give.

    Attributes:
        correct: questions whose answer is the nearest word.
        known: questions of which all four words have a vector; the others are left out.
        questions: all.
    """

    correct: int
    known: int
    questions: int

    @property
    def accuracy(self) -> float | None:
        """Percentage of the known questions that are right; None where there are none."""
        return 100 * self.correct / self.known if self.known else None

    @property
    def coverage(self) -> float:
        """Percentage of questions that were asked."""
        return 100 * self.known / self.questions


def read_analogies(dataset: str = DATASET, data_dir: str | None = None) -> tuple[dict[str, Analogies], str]:
    """Questions by category, in the order of the rows, and a hash of their content.

    Args:
        dataset: Hub id or folder; its split `test` has the columns category, a, b, c and d.
        data_dir: as in `resolve_dataset`.

    Raises:
        DatasetUnavailableError: it is not there.
        ValueError: a split or column is missing, or there is no row.
    """
    rows = load_splits(dataset, data_dir)
    categories, *words = (column_of(rows, "test", name, dataset) for name in ("category", "a", "b", "c", "d"))
    questions: dict[str, list[tuple[str, str, str, str]]] = {}
    for category, a, b, c, d in zip(categories, *words, strict=True):
        questions.setdefault(category, []).append((a, b, c, d))
    return {name: Analogies(found) for name, found in questions.items()}, dataset_fingerprint(rows["test"])


def evaluate_analogies(
    vectors: WordVectors, categories: dict[str, Analogies], restrict_vocabulary: int | None = None
) -> dict[str, AnalogyScore]:
    """3CosAdd (Mikolov et al. 2013): the word nearest to b - a + c by cosine, other than a, b and c.

    All vectors are brought to length 1 first.

    Args:
        vectors: the most frequent words first, if the vocabulary is restricted.
        categories: questions.
        restrict_vocabulary: look only at the first words, as many as this; None: at all.

    Raises:
        ValueError: `restrict_vocabulary` below 1.
    """
    if restrict_vocabulary is not None and restrict_vocabulary < 1:
        raise ValueError(f"restrict_vocabulary is {restrict_vocabulary}; expected 1 word or more, or None for all")
    unit = unit_rows(vectors)[:restrict_vocabulary]
    found = {}
    for name, analogies in categories.items():
        rows = rows_of(vectors, [word for question in analogies.words for word in question]).reshape(-1, 4)
        known = rows[((rows != UNKNOWN) & (rows < len(unit))).all(axis=1)]
        found[name] = AnalogyScore(_correct(unit, known), len(known), len(rows))
    return found


def sum_of(scores: Iterable[AnalogyScore]) -> AnalogyScore:
    """Of the questions of several categories together."""
    all_of_them = list(scores)
    return AnalogyScore(
        sum(score.correct for score in all_of_them),
        sum(score.known for score in all_of_them),
        sum(score.questions for score in all_of_them),
    )


def semantic_and_syntactic(scores: dict[str, AnalogyScore]) -> dict[str, AnalogyScore]:
    """The categories of the Google set as it is reported: "semantic", "syntactic", each if there, and "all"."""
    parts = {
        "semantic": [score for name, score in scores.items() if not name.startswith(SYNTACTIC)],
        "syntactic": [score for name, score in scores.items() if name.startswith(SYNTACTIC)],
        "all": list(scores.values()),
    }
    return {name: sum_of(part) for name, part in parts.items() if part}


def _correct(unit: npt.NDArray[np.float32], questions: npt.NDArray[np.int64]) -> int:
    """How many of the questions (n, 4), rows of `unit`, are answered right."""
    correct = 0
    size = max(1, _COSINES_AT_ONCE // max(1, len(unit)))
    for begin in range(0, len(questions), size):
        a, b, c, d = questions[begin : begin + size].T
        cosines = (unit[b] - unit[a] + unit[c]) @ unit.T  # up to a factor of each question
        for asked in (a, b, c):
            cosines[np.arange(len(asked)), asked] = -np.inf
        correct += int((cosines.argmax(axis=1) == d).sum())
    return correct
