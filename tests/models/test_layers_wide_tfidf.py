"""TF-IDF by positions against scikit-learn's, and against plain float64."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from ctxzoo.models.layers_wide import count_occurrences, tfidf


def batch(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return ids, torch.arange(longest) < torch.tensor([len(row) for row in rows]).unsqueeze(1)


def dense(values: torch.Tensor, ids: torch.Tensor, size: int) -> torch.Tensor:
    return torch.zeros(len(ids), size, dtype=values.dtype).scatter_add(1, ids, values)


def test_occurrences_are_counted_by_row() -> None:
    ids = torch.tensor([[5, 2, 5, 5, 0], [2, 2, 7, 1, 9]])
    assert count_occurrences(ids).tolist() == [[3, 1, 3, 3, 1], [2, 2, 1, 1, 1]]


def test_entries_are_those_of_scikit_learn() -> None:
    texts = ["a b a c", "b b b", "c d a a a a"]
    vectorizer = TfidfVectorizer(token_pattern=r"\w", sublinear_tf=True)
    expected = torch.from_numpy(vectorizer.fit_transform(texts).toarray())
    ids, mask = batch([[1 + int(vectorizer.vocabulary_[word]) for word in text.split()] for text in texts])
    idf = torch.cat([torch.zeros(1, dtype=torch.float64), torch.from_numpy(vectorizer.idf_)])
    found = dense(tfidf(ids, mask, idf[ids], [0]), ids, 5)[:, 1:]
    torch.testing.assert_close(found, expected)


def test_each_group_has_length_one() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(1, 20, (length,), generator=generator).tolist() for length in (30, 1, 7)]
    ids, mask = batch(rows)
    idf = 0.5 + torch.rand(20, dtype=torch.float64, generator=generator)
    found = dense(tfidf(ids, mask, idf[ids], [0, 8]), ids, 20)
    for row, values in zip(rows, found, strict=True):
        counts = Counter(row)
        entries = {word: (1 + math.log(count)) * float(idf[word]) for word, count in counts.items()}
        for group in (range(8), range(8, 20)):
            length = math.sqrt(sum(value**2 for word, value in entries.items() if word in group))
            for word in group:
                assert float(values[word]) == pytest.approx(entries.get(word, 0.0) / (length or 1.0))


def test_what_does_not_count_changes_nothing() -> None:
    idf = torch.tensor([1.0, 2.0, 3.0, 0.0])
    ids, mask = torch.tensor([[1, 2, 2, 3]]), torch.ones(1, 4, dtype=torch.bool)
    alone = tfidf(ids, mask, idf[ids], [0])
    assert alone[0, 3] == 0  # an id without document frequency
    longer_ids = torch.tensor([[1, 2, 2, 3, 0, 0]])
    longer = tfidf(longer_ids, torch.tensor([[True] * 4 + [False] * 2]), idf[longer_ids], [0])
    torch.testing.assert_close(longer[:, :4], alone)
    assert longer[0, 4:].tolist() == [0, 0]


def test_a_text_without_ids_has_no_tfidf() -> None:
    found = tfidf(torch.zeros(2, 3, dtype=torch.long), torch.zeros(2, 3, dtype=torch.bool), torch.ones(2, 3), [0, 2])
    assert found.tolist() == [[0.0] * 3] * 2
