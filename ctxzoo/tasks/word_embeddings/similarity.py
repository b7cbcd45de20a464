"""Word similarity: how far the cosines of word vectors rank pairs of words as people do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ctxzoo.data.sources import dataset_fingerprint, get_column_values, load_splits
from ctxzoo.tasks.word_embeddings.word_rows import UNKNOWN, look_up_rows, normalize_rows
from ctxzoo.word_vectors.vectors import WordVectors

DATASET = "ctxzoo-data/word_similarity"


@dataclass(frozen=True)
class WordPairs:
    """One test set: pair i is (first[i], second[i]) with the score that people gave it, on any scale."""

    first: Sequence[str]
    second: Sequence[str]
    scores: Sequence[float]


@dataclass(frozen=True)
class SimilarityScore:
    """The score on one test set.

    Attributes:
        spearman: Spearman's rank correlation times 100 over the pairs whose words both have vectors; None: undefined,
            for fewer than two pairs or constant scores.
        known: Number of pairs whose words both have vectors.
        pairs: Number of all pairs.
    """

    spearman: float | None
    known: int
    pairs: int

    @property
    def coverage(self) -> float:
        """The percentage of pairs that were scored."""
        return 100 * self.known / self.pairs


def read_word_pairs(dataset: str = DATASET, data_dir: str | None = None) -> tuple[dict[str, WordPairs], str]:
    """Return test sets of word pairs with people's scores, by name, and a hash of their content.

    Args:
        dataset: Hub id or folder, whose split `test` has the columns dataset, word1, word2 and score.
        data_dir: Folder with one sub-folder per dataset, as in `resolve_dataset`.

    Raises:
        DatasetUnavailableError: it is not there.
        ValueError: a split or column is missing, or there is no row.
    """
    rows = load_splits(dataset, data_dir)
    names, first, second, scores = (
        get_column_values(rows, "test", name, dataset) for name in ("dataset", "word1", "word2", "score")
    )
    sets: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        sets.setdefault(name, []).append(row)
    pairs = {
        name: WordPairs(*([column[row] for row in rows] for column in (first, second, scores)))
        for name, rows in sets.items()
    }
    return pairs, dataset_fingerprint(rows["test"])


def evaluate_similarity(vectors: WordVectors, test_sets: Mapping[str, WordPairs]) -> dict[str, SimilarityScore]:
    """Return for each test set Spearman's correlation of the vectors' cosines with people's scores."""
    unit = normalize_rows(vectors)
    scores_by_set = {}
    for name, pairs in test_sets.items():
        rows = np.stack([look_up_rows(vectors, pairs.first), look_up_rows(vectors, pairs.second)])
        is_known = (rows != UNKNOWN).all(axis=0)
        first, second = rows[:, is_known]
        cosines = (unit[first].astype(np.float64) * unit[second]).sum(axis=1)
        scores = np.asarray(pairs.scores, np.float64)[is_known]
        ranked = min(len(np.unique(cosines)), len(np.unique(scores))) > 1
        spearman = 100 * float(stats.spearmanr(cosines, scores).statistic) if ranked else None
        scores_by_set[name] = SimilarityScore(spearman, int(is_known.sum()), len(pairs.scores))
    return scores_by_set
