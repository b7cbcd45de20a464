"""The recipe of tagging, in a process of its own, on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe

NAME = "pos_bilstm_tagger"


def test_with_and_without_vectors(tmp_path: Path) -> None:
    (tmp_path / "own.3d.txt").write_text("the 1 2 3\nclock 4 5 6\nunseen 7 8 9\n")
    run = recipe(tmp_path, *TINY, "--vectors", "none", "own.3d.txt", "--tags", "upos", "--processes", "1", name=NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert sorted(results) == ["own.3d", "random_vectors"]
    for one in results.values():
        assert (one.architecture, one.tag, one.settings["tag_column"]) == ("bilstm_tagger", "upos", "upos")
        assert (one.settings["optimizer"], one.settings["momentum"], one.settings["learning_rate"]) == (
            "sgd",
            0.95,
            0.2,
        )
        assert 0 <= one.metrics["test/accuracy"] <= 100
    assert results["own.3d"].settings["word_vectors"] == "own.3d"
    assert "word vectors" in results["own.3d"].data["fingerprint"]
    assert "sample, own.3d.txt" in run.stdout

    folders = tmp_path / "runs" / NAME
    configs = {
        name: json.loads((folders / f"{name}-sample-test-seed0-upos/checkpoint/config.json").read_text())
        for name in results
    }
    assert (configs["own.3d"]["word_dim"], configs["random_vectors"]["word_dim"]) == (3, 8)
    assert configs["own.3d"]["vocab_size"] == configs["random_vectors"]["vocab_size"] + 1  # "unseen"
    card = (folders / "own.3d-sample-test-seed0-upos" / "checkpoint" / "README.md").read_text()
    assert "- word vectors: `own.3d`, trained further" in card


@pytest.mark.slow
def test_resume_keeps_a_finished_run(tmp_path: Path) -> None:
    options = (*TINY, "--name", "adam", "--optimizer", "adam", "--learning_rate", "0.01", "--processes", "1")
    first = recipe(tmp_path, *options, name=NAME)
    assert first.returncode == 0, first.stderr
    (file,) = (tmp_path / RESULTS_DIR).rglob("*.json")
    assert file.name == "random_vectors-sample-test-seed0-pos_tags-adam.json"
    before = file.stat().st_mtime_ns
    again = recipe(tmp_path, *options, "--resume", name=NAME)
    assert again.returncode == 0, again.stderr
    assert file.stat().st_mtime_ns == before


def test_another_corpus_needs_its_column_of_tags(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, "--dataset", "someone/tags", "--tiny", name=NAME)
    assert run.returncode == 1
    assert "error: 'someone/tags' is none of ptb_sample" in run.stderr
    assert not (tmp_path / "runs").exists()
