"""Word analogies: a is to b as c is to which word?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ctxzoo.data.sources import dataset_fingerprint, get_column_values, load_splits
from ctxzoo.tasks.word_embeddings.word_rows import UNKNOWN, look_up_rows, normalize_rows
from ctxzoo.word_vectors.vectors import WordVectors

DATASET = "ctxzoo-data/word_analogy"
GOOGLE, MSR = "google", "msr"  # sets of Mikolov et al. 2013 whose kinds of questions are known
_COSINES_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class Analogies:
    """Questions of a category.

    Attributes:
        words: Analogy questions (a, b, c, d): a is to b as c is to d, and d is the answer.
        dataset: Name of the analogy test set, such as "google".
        kind: Kind of relation, "semantic" or "syntactic"; None: unknown.
    """

    words: Sequence[tuple[str, str, str, str]]
    dataset: str
    kind: str | None


@dataclass(frozen=True)
class AnalogyScore:
    """The score on the questions of a category, or of several.

    Attributes:
        correct: Number of questions whose answer is the nearest word.
        known: Number of questions of which all four words have a vector; only these are scored.
        questions: Number of all questions.
    """

    correct: int
    known: int
    questions: int

    @property
    def accuracy(self) -> float | None:
        """The percentage of the known questions that are right; None where there are none."""
        return 100 * self.correct / self.known if self.known else None

    @property
    def coverage(self) -> float:
        """The percentage of questions whose words all have a vector."""
        return 100 * self.known / self.questions


def read_analogies(dataset: str = DATASET, data_dir: str | None = None) -> tuple[dict[str, Analogies], str]:
    """Return questions by category, in the order of the rows, and a hash of their content.

    Categories of the set "google" have their own names, those of another set "<set>/<category>".

    Args:
        dataset: Hub id or folder, whose split `test` has the columns dataset, category, a, b, c and d.
        data_dir: Folder with one sub-folder per dataset, as in `resolve_dataset`.

    Raises:
        DatasetUnavailableError: it is not there.
        ValueError: a split or column is missing, or there is no row.
    """
    rows = load_splits(dataset, data_dir)
    names = ("dataset", "category", "a", "b", "c", "d")
    sets, categories, *words = (get_column_values(rows, "test", name, dataset) for name in names)
    questions: dict[tuple[str, str], list[tuple[str, str, str, str]]] = {}
    for test_set, category, a, b, c, d in zip(sets, categories, *words, strict=True):
        questions.setdefault((test_set, category), []).append((a, b, c, d))
    analogies = {
        _format_dataset_prefix(test_set) + category: Analogies(words, test_set, _get_question_kind(test_set, category))
        for (test_set, category), words in questions.items()
    }
    return analogies, dataset_fingerprint(rows["test"])


def evaluate_analogies(
    vectors: WordVectors, categories: dict[str, Analogies], restrict_vocabulary: int | None = None
) -> dict[str, AnalogyScore]:
    """Score analogies a : b = c : ? by 3CosAdd (Mikolov et al. 2013): the word nearest to b - a + c by cosine.

    All vectors are brought to length 1 first.

    Args:
        vectors: Word vectors, the most frequent words first if the vocabulary is restricted.
        categories: Analogy questions of each category, by category name.
        restrict_vocabulary: Number of first words among which answers are searched; None: all words.

    Raises:
        ValueError: `restrict_vocabulary` below 1.
    """
    if restrict_vocabulary is not None and restrict_vocabulary < 1:
        raise ValueError(f"restrict_vocabulary is {restrict_vocabulary}; expected 1 word or more, or None for all")
    unit = normalize_rows(vectors)[:restrict_vocabulary]
    scores = {}
    for name, analogies in categories.items():
        rows = look_up_rows(vectors, [word for question in analogies.words for word in question]).reshape(-1, 4)
        known = rows[((rows != UNKNOWN) & (rows < len(unit))).all(axis=1)]
        scores[name] = AnalogyScore(_count_correct_answers(unit, known), len(known), len(rows))
    return scores


def sum_analogy_scores(scores: Iterable[AnalogyScore]) -> AnalogyScore:
    """Return the score of the questions of several categories together."""
    all_of_them = list(scores)
    return AnalogyScore(
        sum(score.correct for score in all_of_them),
        sum(score.known for score in all_of_them),
        sum(score.questions for score in all_of_them),
    )


def sum_scores_by_kind(
    scores: Mapping[str, AnalogyScore], categories: Mapping[str, Analogies]
) -> dict[str, AnalogyScore]:
    """Return the summed scores of the semantic and the syntactic categories, and of "all".

    "semantic" and "syntactic" are those of the Google set; of another set they are "<set>/semantic" and
    "<set>/syntactic", or "<set>" where its kinds are not known.
    """
    parts: dict[str, list[AnalogyScore]] = {}
    for name, score in scores.items():
        of = categories[name]
        parts.setdefault(_format_dataset_prefix(of.dataset) + of.kind if of.kind else of.dataset, []).append(score)
    return {name: sum_analogy_scores(part) for name, part in {**parts, "all": list(scores.values())}.items()}


def _format_dataset_prefix(dataset: str) -> str:
    """Return the beginning of a dataset's metric names; empty for Google's analogies."""
    return "" if dataset == GOOGLE else f"{dataset}/"


def _get_question_kind(dataset: str, category: str) -> str | None:
    """Return whether a category's questions are semantic or syntactic; None if that is not known."""
    if dataset == MSR or (dataset == GOOGLE and category.startswith("gram")):
        return "syntactic"
    return "semantic" if dataset == GOOGLE else None


def _count_correct_answers(unit_vectors: npt.NDArray[np.float32], questions: npt.NDArray[np.int64]) -> int:
    """Count the questions that are answered right; questions (n, 4) are rows of `unit_vectors`."""
    correct = 0
    size = max(1, _COSINES_AT_ONCE // max(1, len(unit_vectors)))
    for begin in range(0, len(questions), size):
        a, b, c, d = questions[begin : begin + size].T
        cosines = (
            unit_vectors[b] - unit_vectors[a] + unit_vectors[c]
        ) @ unit_vectors.T  # times a factor that each question has for itself
        for given in (a, b, c):
            cosines[np.arange(len(given)), given] = -np.inf
        correct += int((cosines.argmax(axis=1) == d).sum())
    return correct
