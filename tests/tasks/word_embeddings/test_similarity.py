"""Word similarity against gensim, and what it does with unknown words and scores that have no rank."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ctxzoo.tasks.word_embeddings.similarity import WordPairs, evaluate_similarity, read_word_pairs
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.word_vector_files import WORDS, small_vectors, write_test_sets, write_vectors


def pairs_of(words: list[str], unknown: int = 5) -> WordPairs:
    """Pairs with scores of which several are equal, the last with words without a vector."""
    first = [*words, *["unheard"] * unknown]
    second = [*words[3:], *words[:3], *words[:unknown]]
    return WordPairs(first, second, [float(place * 7 % 5) for place in range(len(first))])


def test_equal_to_gensim(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim")
    vectors, pairs = small_vectors(), pairs_of(list(WORDS))
    keyed = gensim.models.KeyedVectors.load_word2vec_format(str(write_vectors(tmp_path / "v.txt", vectors)))
    lines = [f"{a}\t{b}\t{score}" for a, b, score in zip(pairs.first, pairs.second, pairs.scores, strict=True)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines), encoding="utf-8")
    _, spearman, missing = keyed.evaluate_word_pairs(str(tmp_path / "pairs.tsv"))
    found = evaluate_similarity(vectors, {"set": pairs})["set"]
    assert found.spearman == pytest.approx(100 * spearman.statistic, abs=1e-4)
    assert found.coverage == pytest.approx(100 - missing)
    assert (found.known, found.pairs) == (len(WORDS), len(WORDS) + 5)


def test_lengths_of_vectors_do_not_count_and_case_is_tried() -> None:
    vectors = WordVectors(
        ["a", "b", "c", "null"], torch.tensor([[9.0, 0.0], [1.0, 1.0], [0.0, 0.1], [0.0, 0.0]]), "v", "0"
    )
    pairs = WordPairs(["A", "a", "a", "a"], ["a", "B", "c", "null"], [4, 3, 1, 1])
    assert evaluate_similarity(vectors, {"set": pairs})["set"].spearman == pytest.approx(100)


@pytest.mark.parametrize(
    ("first", "second", "scores", "known"),
    [
        (["unheard", "unseen"], ["boy", "girl"], [1.0, 2.0], 0),
        (["boy", "unseen"], ["girl", "girl"], [1.0, 2.0], 1),
        (["boy", "girl"], ["girl", "paris"], [2.0, 2.0], 2),
    ],
)
def test_where_nothing_can_be_ranked_there_is_no_number(
    first: list[str], second: list[str], scores: list[float], known: int
) -> None:
    found = evaluate_similarity(small_vectors(), {"set": WordPairs(first, second, scores)})["set"]
    assert (found.spearman, found.known, found.pairs) == (None, known, 2)


def test_sets_are_read_by_name(tmp_path: Path) -> None:
    sets, fingerprint = read_word_pairs(data_dir=str(write_test_sets(tmp_path)))
    assert {name: len(pairs.scores) for name, pairs in sets.items()} == {"pets": 4, "other": 2}
    assert sets["pets"].second[:2] == ["rome", "girl"]
    assert len(fingerprint) == 64


def test_a_missing_column_or_split_is_named(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("dataset,word1,score\nx,a,1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="expected 'word2'"):
        read_word_pairs(str(tmp_path))
    (tmp_path / "test.csv").rename(tmp_path / "train.csv")
    with pytest.raises(ValueError, match=r"has the splits \['train'\], expected 'test'"):
        read_word_pairs(str(tmp_path))
