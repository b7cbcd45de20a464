"""POS tagging as an evaluation of word vectors: which run it is."""

from __future__ import annotations

from pathlib import Path

from ctxzoo.tasks.token_classification.run import TaggerRun, TaggingSettings
from ctxzoo.tasks.word_embeddings.embedding_tagging import embedding_tagging_run
from ctxzoo.tasks.word_embeddings.evaluation_run import EmbeddingSource
from tests.support.word_vector_files import small_vectors, write_checkpoint, write_vectors


def run_of(path: Path, name: str = "", seed: int = 3) -> TaggerRun:
    source = EmbeddingSource(path=str(path), seed=seed, name=name)
    return embedding_tagging_run(source, TaggingSettings(), recipe="embedding_evaluation", commit="0123abc")


def test_it_tells_which_vectors_it_starts_from(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "run" / "checkpoint", small_vectors(), window=5)
    run = run_of(path, "rate0.2")
    assert run.results_file.as_posix() == (
        "runs/results/embedding_evaluation/attention_cbow-b5-rate0.2-ptb_sample-test-seed3-pos_tags.json"
    )
    assert (run.data["word_vectors"], run.data["seed"], run.trainer.seed) == (str(path), 3, 3)
    told = {"architecture": "attention_cbow", "window": 5, "name": "rate0.2", "task": "pos_tagging", "vectors": "run"}
    assert run.settings.items() >= {**told, "word_vectors": "attention_cbow-b5-rate0.2", "epochs": 50}.items()
    assert "fold_digits" in run.settings
    assert run.settings["fold_digits"] is True  # that of the tagger


def test_other_vectors_of_the_same_name_are_another_run(tmp_path: Path) -> None:
    path = tmp_path / "plain.6d.txt"
    first = run_of(write_vectors(path, small_vectors()))
    again = run_of(write_vectors(path, small_vectors()))
    other = run_of(write_vectors(path, small_vectors(seed=1)))
    assert first.variant == other.variant == "plain.6d"
    assert first.settings == again.settings
    assert first.settings != other.settings  # so that --resume trains anew
