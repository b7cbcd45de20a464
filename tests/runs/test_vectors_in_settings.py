"""What settings tell of word vectors follows their content."""

from __future__ import annotations

from typing import Any

import pytest

from ctxzoo.results.comparison import are_scored_on_same_folds
from ctxzoo.results.result import read_result_of_settings, write_result
from ctxzoo.results.table_parts import refuse_runs_of_different_settings
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from ctxzoo.word_vectors.vectors import fingerprint_word_vectors, read_word_vectors
from tests.support.result_tables import make_run


def told_of(vectors: str | None) -> dict[str, Any]:
    """The settings of a classifier that starts from these word vectors."""
    experiment = TEXT_CLASSIFICATION.get_settings("default", *TEXT_CLASSIFICATION.default)
    return TEXT_CLASSIFICATION.fill_in_settings(experiment.copy_with(word_vectors=vectors)).settings()


def test_other_vectors_under_the_same_path_are_other_settings(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("the 1.0 2.0\nmill 3.0 4.0\n")
    before = told_of(str(file))
    assert before["vectors_fingerprint"] == read_word_vectors(file).fingerprint
    assert (before["word_vectors"], before["word_dim"]) == ("vectors.txt", None)
    moved = tmp_path / "elsewhere" / "vectors.txt"
    moved.parent.mkdir()
    moved.write_bytes(file.read_bytes())
    assert told_of(str(moved)) == before
    file.write_text("the 1.0 2.0\nmill 3.0 5.0\n")
    assert told_of(str(file)) != before
    run = make_run(settings=before)
    path = write_result(run, tmp_path)
    assert read_result_of_settings(path, run.settings) is not None
    assert read_result_of_settings(path, told_of(str(file))) is None


def test_without_vectors_none_are_told():
    assert (told_of(None)["word_vectors"], told_of(None)["vectors_fingerprint"]) == (None, None)


def test_vectors_that_are_not_there_are_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        fingerprint_word_vectors(tmp_path / "none.txt")


def test_models_from_other_vectors_compare_on_the_same_folds_but_are_not_averaged():
    def runs(content: str) -> list:
        told = {"folds": 2, "word_vectors": "v", "vectors_fingerprint": content}
        return [make_run(fold=fold, settings=told) for fold in (0, 1)]

    assert are_scored_on_same_folds(runs("a"), runs("b"))
    with pytest.raises(ValueError, match=r"differs .* in vectors_fingerprint"):
        refuse_runs_of_different_settings([runs("a")[0], runs("b")[1]])
    earlier = make_run(fold=1, settings={"folds": 2, "word_vectors": "v"})
    refuse_runs_of_different_settings([runs("a")[0], earlier])  # which did not tell the content
