"""Word analogies against gensim and against a loop, and which words may not be the answer."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ctxzoo.tasks.word_embeddings import analogy as word_analogy
from ctxzoo.tasks.word_embeddings.analogy import (
    Analogies,
    AnalogyScore,
    evaluate_analogies,
    read_analogies,
    sum_analogy_scores,
    sum_scores_by_kind,
)
from ctxzoo.word_vectors.vectors import WordVectors
from tests.support.word_vector_files import small_vectors, write_test_sets, write_vectors


def in_a_grid(side: int = 6) -> WordVectors:
    """Words w<row>_<column> whose vectors are noisy sums of a vector of the row and one of the column."""
    generator = torch.Generator().manual_seed(0)
    rows, columns = torch.randn(2, side, 8, generator=generator)
    places = list(itertools.product(range(side), repeat=2))
    noise = torch.randn(len(places), 8, generator=generator)
    matrix = torch.stack([rows[row] + columns[column] for row, column in places]) + 0.35 * noise
    return WordVectors([f"w{row}_{column}" for row, column in places], matrix, "grid", "00")


def questions(side: int = 6) -> Analogies:
    """With unknown words among them."""
    found = [
        (f"w{row}_{column}", f"w{row}_{column + 1}", f"w{other}_{column}", f"w{other}_{column + 1}")
        for row, other in itertools.permutations(range(side), 2)
        for column in range(side)
    ]
    return Analogies(found, "grid", None)


def test_equal_to_gensim(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim")
    vectors, asked = in_a_grid(), questions()
    keyed = gensim.models.KeyedVectors.load_word2vec_format(str(write_vectors(tmp_path / "v.txt", vectors)))
    lines = [": grid", *(" ".join(question) for question in asked.words)]
    (tmp_path / "questions.txt").write_text("\n".join(lines), encoding="utf-8")
    accuracy, sections = keyed.evaluate_word_analogies(str(tmp_path / "questions.txt"))
    found = evaluate_analogies(vectors, {"grid": asked})["grid"]
    assert found.accuracy == pytest.approx(100 * accuracy)
    assert found.correct == len(sections[0]["correct"])
    assert found.known == len(sections[0]["correct"]) + len(sections[0]["incorrect"]) < found.questions
    assert 0 < found.correct < found.known


@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
def test_equal_to_a_loop_however_many_are_asked_at_once(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(word_analogy, "_COSINES_AT_ONCE", at_once)
    vectors, asked = in_a_grid(), questions()
    unit = vectors.vectors.double() / vectors.vectors.double().norm(dim=1, keepdim=True)
    correct = 0
    for question in asked.words:
        if not all(word in vectors.index for word in question):
            continue
        a, b, c, d = (vectors.index[word] for word in question)
        cosines = unit @ (unit[b] - unit[a] + unit[c])
        order = [row for row in cosines.argsort(descending=True).tolist() if row not in (a, b, c)]
        correct += order[0] == d
    assert evaluate_analogies(vectors, {"grid": asked})["grid"].correct == correct


def test_question_words_are_no_answers() -> None:
    # The nearest to b - a + c is b itself, then c; d comes after them.
    matrix = torch.tensor([[0.1, 1.0], [1.0, 0.9], [1.0, 0.5], [1.0, -1.0], [-1.0, 0.0]])
    vectors = WordVectors(list("abcde"), matrix, "v", "00")
    assert evaluate_analogies(vectors, {"x": Analogies([("a", "b", "c", "d")], "x", None)})["x"].correct == 1


def test_a_restricted_vocabulary_is_neither_asked_nor_answered_beyond_its_end() -> None:
    vectors = small_vectors()
    asked = {"x": Analogies([("france", "paris", "italy", "rome")], "x", None)}
    assert evaluate_analogies(vectors, asked)["x"] == AnalogyScore(1, 1, 1)
    assert evaluate_analogies(vectors, asked, restrict_vocabulary=4)["x"] == AnalogyScore(1, 1, 1)
    assert evaluate_analogies(vectors, asked, restrict_vocabulary=3)["x"] == AnalogyScore(0, 0, 1)
    with pytest.raises(ValueError, match="restrict_vocabulary is 0"):
        evaluate_analogies(vectors, asked, restrict_vocabulary=0)


def test_semantic_and_syntactic_questions_are_told_apart(tmp_path: Path) -> None:
    categories, _ = read_analogies(data_dir=str(write_test_sets(tmp_path)))
    scores = evaluate_analogies(small_vectors(), categories)
    parts = sum_scores_by_kind(scores, categories)
    assert (parts["semantic"], parts["syntactic"].questions, parts["all"].questions) == (AnalogyScore(1, 1, 2), 1, 3)
    assert (parts["semantic"].accuracy, parts["semantic"].coverage) == (100, 50)
    assert AnalogyScore(0, 0, 3).accuracy is None
    family = {"family": Analogies([], "google", "semantic")}
    assert set(sum_scores_by_kind({"family": AnalogyScore(1, 2, 3)}, family)) == {"semantic", "all"}
    assert sum_analogy_scores([AnalogyScore(1, 2, 3), AnalogyScore(4, 5, 6)]) == AnalogyScore(5, 7, 9)


def test_questions_of_another_set_are_not_googles(tmp_path: Path) -> None:
    """Those of MSR are all syntactic, whatever their categories are called, and stand apart."""
    rows = [
        ("google", "capitals", "France", "Paris", "Italy", "Rome"),
        ("google", "gram5-participle", "run", "running", "walk", "walking"),
        ("msr", "JJ_JJR", "good", "better", "rough", "rougher"),
        ("msr", "capitals", "run", "running", "walk", "walking"),
        ("bats", "E01", "France", "Paris", "Italy", "Rome"),
    ]
    columns = zip(("dataset", "category", "a", "b", "c", "d"), zip(*rows, strict=True), strict=True)
    pq.write_table(pa.table({name: list(values) for name, values in columns}), tmp_path / "test.parquet")
    categories, _ = read_analogies(str(tmp_path))
    assert list(categories) == ["capitals", "gram5-participle", "msr/JJ_JJR", "msr/capitals", "bats/E01"]
    parts = sum_scores_by_kind(evaluate_analogies(small_vectors(), categories), categories)
    questions = {name: score.questions for name, score in parts.items()}
    assert questions == {"semantic": 1, "syntactic": 1, "msr/syntactic": 2, "bats": 1, "all": 5}


def test_no_known_question_is_no_error() -> None:
    found = evaluate_analogies(small_vectors(), {"x": Analogies([("q", "r", "s", "t")], "x", None)})["x"]
    assert (found, found.coverage) == (AnalogyScore(0, 0, 1), 0)
