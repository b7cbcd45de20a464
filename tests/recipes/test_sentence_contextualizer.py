"""The recipe of Table 4, in a process of its own, on the generated sample, with the switches that the paper has not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ctxzoo.results.result import RESULTS_DIR, read_results
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from recipes import sentence_contextualizer
from tests.support.recipe_process import recipe
from tests.support.word_vector_files import small_vectors, write_vectors

BEYOND = ("--dropout", "0.3", "--word_dropout", "0.1", "--embedding_bound", "0.1", "--concatenate_steps", "--decay")
NGRAMS = (
    "--ngram_order",
    "2",
    "--char_ngrams",
    "3",
    "4",
    "--ngram_buckets",
    "50",
    "--char_ngram_buckets",
    "30",
    "--naive_bayes",
    "0.5",
)


@pytest.mark.slow
def test_all_rows_can_be_trained_on(tmp_path: Path) -> None:
    run = recipe(
        tmp_path,
        *("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1"),
        *("--dev_share", "0", "--name", "all"),
        name="sentence_contextualizer",
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for result in read_results(tmp_path / RESULTS_DIR):
        assert result.settings["dev_share"] == 0.0
        assert "test/accuracy" in result.metrics
        assert not [name for name in result.metrics if name.startswith("validation")]
    folder = tmp_path / "runs" / "sentence_contextualizer" / "learned_embeddings-sample-test-seed0-fold0-all"
    best, last = (torch.load(folder / "lightning" / f"{name}.ckpt", weights_only=True) for name in ("best", "last"))
    assert best["global_step"] == last["global_step"] == 4  # the last epoch is the best
    assert (folder / "checkpoint" / "model.safetensors").is_file()
    assert (folder / "learning_curves.png").is_file()


def run_of(**changes: Any) -> ExperimentRun:
    tiny = TEXT_CLASSIFICATION.make_tiny(sentence_contextualizer.BASE)
    return ExperimentRun(TEXT_CLASSIFICATION, tiny.copy_with(fold=0, **changes))


def test_ngrams_without_buckets_are_refused_and_characters_may_come_alone() -> None:
    alone = run_of(char_ngrams=(3, 4), char_ngram_buckets=30).build_data()
    alone.setup()
    assert (alone.tokenizer.char_ngram_buckets, alone.tokenizer.ngram_buckets) == (30, 0)
    with pytest.raises(ValueError, match="need ngram_buckets"):
        run_of(ngram_order=2).build_data().setup()


def test_the_scale_of_given_vectors_is_told(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", small_vectors())
    plain = run_of(word_vectors=str(tmp_path / "v.txt"))
    scaled = run_of(word_vectors=str(tmp_path / "v.txt"), vectors_std=0.0577)
    assert scaled.settings == {**plain.settings, "vectors_std": 0.0577}
    data = scaled.build_data()
    data.setup()
    start = scaled.build_task(data, 1).model.get_input_embeddings().weight.detach()
    assert float(start[1:].std()) == pytest.approx(0.0577, rel=0.3)
    with pytest.raises(ValueError, match=r"vectors_std=0\.1 scales given vectors, and there are none; give both"):
        run_of(vectors_std=0.1)


@pytest.mark.slow
def test_switches_reach_model_data_and_results(tmp_path: Path) -> None:
    run = recipe(
        tmp_path,
        *("--datasets", "sample", "--tiny", "--progress", "false", "--tensorboard", "false", "--processes", "1"),
        *("--steps", "2", "--eval_context", "fixed", "--eval_context_samples", "3", "--name", "everything"),
        *BEYOND,
        *NGRAMS,
        name="sentence_contextualizer",
    )
    assert run.returncode == 0, run.stdout + run.stderr
    results = read_results(tmp_path / RESULTS_DIR)
    assert [(one.fold, one.tag) for one in results] == [(0, "everything"), (1, "everything")]
    settings = results[0].settings
    assert (settings["dropout"], settings["word_dropout"], settings["ngram_buckets"]) == (0.3, 0.1, 50)
    assert (settings["char_ngrams"], settings["naive_bayes"]) == ([3, 4], 0.5)
    assert settings["decay"] is True
    folder = tmp_path / "runs" / "sentence_contextualizer"
    (last,) = folder.glob("learned_embeddings-sample-test-seed0-fold0-everything/lightning/last.ckpt")
    state = torch.load(last, weights_only=True)
    assert state["global_step"] > 1
    assert state["lr_schedulers"][0]["_last_lr"] == [0.0]  # after the last step
    (checkpoint,) = folder.glob("learned_embeddings-sample-test-seed0-fold0-everything/checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    words = len(json.loads((checkpoint / "tokenizer.json").read_text())["model"]["vocab"])  # with padding
    assert config["vocab_size"] == words + 50 + 30
    assert (config["num_steps"], config["eval_context_samples"], config["embedding_bound"]) == (2, 3, 0.1)
    assert config["concatenate_steps"] is True
    assert config["id2label"] == {"0": "negative", "1": "positive"}
