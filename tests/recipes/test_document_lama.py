"""The recipe of documents, in a process of its own, on the generated sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.results.result import RESULTS_DIR, read_results
from tests.support.recipe_here import recipe_here
from tests.support.recipe_process import TINY, recipe
from tests.support.word_vector_files import small_vectors, write_checkpoint

MODELS = ("avg", "bigru", "cnn", "lama", "lama_ctx", "san", "single_head", "te")


@pytest.mark.parametrize(
    "models",
    [("lama_ctx", "san"), pytest.param(MODELS, marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_every_model_trains_and_is_told_apart(tmp_path: Path, models: tuple[str, ...]) -> None:
    chosen = () if models == MODELS else ("--model", *models)
    run = recipe(tmp_path, *TINY, *chosen, "--processes", "1", name="document_lama")
    assert run.returncode == 0, run.stdout + run.stderr
    results = {one.variant: one for one in read_results(tmp_path / RESULTS_DIR)}
    assert tuple(sorted(results)) == models
    assert all((one.architecture == "lama") == ("lama" in name) for name, one in results.items())
    settings = results["lama_ctx"].settings
    assert (settings["optimizer"], settings["word2vec_dim"]) == ("sgd", settings["word_dim"])
    assert all(one.fold is None and one.settings["classifier_dropout"] == 0.4 for one in results.values())
    rates = {name: one.settings["learning_rate"] for name, one in results.items()}
    assert rates == {name: 0.01 if name in ("cnn", "san", "te") else 0.05 for name in models}

    said = [line.removeprefix("checkpoint ") for line in run.stdout.splitlines() if line.startswith("checkpoint ")]
    assert len(said) == len(models)
    assert all((tmp_path / path / "config.json").is_file() for path in said)
    assert run.stdout.count("load it:") == 1
    assert f'pipeline("text-classification", model="{said[0]}", trust_remote_code=True)' in run.stdout

    folder = tmp_path / "runs" / "document_lama" / "san-sample-test-seed0" / "checkpoint"
    context = json.loads((folder.parents[1] / "lama_ctx-sample-test-seed0" / "checkpoint" / "config.json").read_text())
    assert context["context"] == "mean_embedding"
    config = json.loads((folder / "config.json").read_text())
    assert (config["encoder"], config["overlap_penalty"], config["pooled_dropout"]) == ("self_attentive", 1.0, 0.0)
    assert (folder.parent / "token_weights.png").is_file()


@pytest.mark.slow
def test_resume_keeps_a_finished_run(tmp_path: Path) -> None:
    options = (*TINY, "--model", "lama", "--heads", "3", "--no_word2vec", "--name", "m3", "--processes", "1")
    options += ("--learning_rate", "0.2")
    options += ("--linear_mean", "--ngram_order", "2", "--ngram_buckets", "50", "--naive_bayes", "2")
    first = recipe(tmp_path, *options, name="document_lama")
    assert first.returncode == 0, first.stderr
    (file,) = (tmp_path / RESULTS_DIR).rglob("*.json")
    assert file.name == "lama-sample-test-seed0-m3.json"
    settings = json.loads(file.read_text())["settings"]
    names = ("num_heads", "ngram_buckets", "naive_bayes", "learning_rate")
    assert tuple(settings[name] for name in names) == (3, 50, 2.0, 0.2)
    before = file.stat().st_mtime_ns
    again = recipe(tmp_path, *options, "--resume", name="document_lama")
    assert again.returncode == 0, again.stderr
    assert file.stat().st_mtime_ns == before


def test_ngrams_that_nothing_would_read_are_refused(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *TINY, "--model", "lama", "--ngram_buckets", "50", name="document_lama")
    assert run.returncode == 1
    assert "error: --ngram_buckets and --naive_bayes need --linear_mean" in run.stderr


def test_an_unknown_model_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *TINY, "--model", "lama", "bert", name="document_lama")
    assert run.returncode == 1
    assert "error: models='bert': expected one of lama, lama_ctx, san" in run.stderr
    assert not (tmp_path / RESULTS_DIR).exists()


@pytest.mark.slow
def test_given_vectors_take_the_place_of_word2vec(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "attention_cbow-b20", small_vectors(["the", "film", "a", "good"], dim=7))
    options = (*TINY, "--model", "lama", "--vectors", "attention_cbow-b20", "--name", "vectors", "--processes", "1")
    run = recipe(tmp_path, *options, name="document_lama")
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(tmp_path / RESULTS_DIR)
    told = {name: result.settings[name] for name in ("word_vectors", "word_dim", "word2vec_dim")}
    assert told == {"word_vectors": "attention_cbow-b20", "word_dim": None, "word2vec_dim": 0}
    folder = tmp_path / "runs" / "document_lama" / "lama-sample-test-seed0-vectors" / "checkpoint"
    assert "word vectors: `attention_cbow-b20`, trained further" in (folder / "README.md").read_text()
    assert json.loads((folder / "config.json").read_text())["word_dim"] == 7
