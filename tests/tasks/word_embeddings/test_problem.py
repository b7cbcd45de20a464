"""What trains word vectors, with and without Numba, and what an experiment of them tells, refuses and names."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.results.result import read_result_of_settings, write_result_file
from ctxzoo.runs.experiment import Experiment, StartArgs
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.word_embeddings.experiments import (
    WordData,
    WordModel,
    build_default_experiment,
    build_paper_experiment,
    replace_architecture,
)
from ctxzoo.tasks.word_embeddings.problem import WORD_EMBEDDINGS
from tests.support.warm_python import WITHOUT_HUB, run_warm


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)


def backend(**changes: Any) -> str:
    experiment = build_paper_experiment().copy_with(**changes)
    WORD_EMBEDDINGS.check(experiment)
    name: str = WORD_EMBEDDINGS.fill_in_settings(experiment).values()["backend"]
    return name


def test_numba_is_taken_where_it_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [backend(backend=name) for name in ("auto", "numba", "torch")] == ["numba", "numba", "torch"]
    assert backend(accelerator="gpu") == "torch"  # which the compiled loops cannot use
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("no_numba")
def test_without_numba_torch_is_taken_with_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    assert backend() == "torch"
    assert "numba is not installed: torch trains, which is slower on a CPU; pip install numba" in (
        capsys.readouterr().out
    )
    assert backend(backend="torch") == "torch"
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("no_numba")
def test_numba_that_is_asked_for_and_missing_names_the_extra() -> None:
    with pytest.raises(ValueError, match=r"not installed: pip install numba, or take the backend torch"):
        backend(backend="numba")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threads": 0}, "threads=0: expected 1 or more"),
        ({"backend": "jax"}, "backend='jax': expected one of numba, torch, auto"),
        ({"backend": "torch", "batch_size": 0}, "batch_size=0: expected 1 or more"),
        ({"backend": "torch", "num_workers": -1}, "num_workers=-1: expected 0 or more"),
        ({"backend": "torch", "precision": "16-mixed"}, "precision='16-mixed': expected 32-true or bf16-mixed"),
        ({"backend": "torch", "shared_noise": True}, "shared_noise=True saves nothing in batches"),
        (
            {"backend": "numba", "accelerator": "gpu"},
            "accelerator='gpu': the compiled loops go word by word on the",
        ),
        ({"devices": "2"}, "devices='2': the compiled loops go word by word on the CPU"),
        ({"backend": "numba", "num_nodes": 2}, "num_nodes=2: the compiled loops go word by word on the CPU"),
        ({"precision": "bf16-mixed"}, "precision='bf16-mixed': the compiled loops go word by word on the CPU"),
        (
            {"batch_size": 9},
            "batch_size=9: the compiled loops go word by word on the CPU, in 32 bits; leave it",
        ),
        ({"gradient_clip": 1.0}, "gradient_clip=1.0: word vectors are trained without it; leave it out"),
        ({"wandb": True}, "wandb=True: word vectors are trained without it"),
        ({"pre_tokenizer": None}, "pre_tokenizer=null belongs to a checkpoint that a training goes on from; give a"),
    ],
)
def test_what_cannot_be_does_not_wait_for_the_text(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        backend(**changes)


def test_weights_of_attention_belong_to_attention() -> None:
    with pytest.raises(ValueError, match="word_logits=False: cbow has no attention; leave it out, or train attention"):
        build_default_experiment("cbow").copy_with(word_logits=False)
    given = build_paper_experiment().copy_with(learning_rate=0.2, schedule=None, logit_rank=8)
    other = replace_architecture(given, "cbow").values()
    assert [other[name] for name in ("learning_rate", "schedule", "logit_rank")] == [0.2, "linear", None]


def test_only_what_decides_the_result_is_told() -> None:
    compiled = build_paper_experiment().copy_with(threads=2, num_workers=3).settings()
    assert (compiled["threads"], compiled["batch_size"]) == (2, None)
    asked = build_paper_experiment().copy_with(backend="torch", num_workers=3, accelerator="cpu", devices="2")
    told = ExperimentRun(WORD_EMBEDDINGS, asked).settings
    assert (told["backend"], told["batch_size"], told["world_size"]) == ("torch", 1024, 2)
    assert not {"num_workers", "accelerator", "devices", "threads", "test_split"} & told.keys()


def run_in(folder: Path, experiment: Experiment) -> ExperimentRun:
    where = {"results_dir": str(folder), "output_dir": str(folder)}
    return ExperimentRun(WORD_EMBEDDINGS, experiment.copy_with(recipe="words", commit="0123abc", **where))


def test_results_of_earlier_versions_are_found_again(tmp_path: Path) -> None:
    """They told the architecture, of torch the devices, and of a continuation words that the checkpoint decides."""
    names = {  # that they told
        *("epochs", "input_gradient", "learning_rate", "logit_learning_rate", "negative_samples", "random_window"),
        *("schedule", "shared_noise", "subsampling", "test_words", "tiny", "rows", "init_from"),
    }
    of_new_models = {"pre_tokenizer", "fold_digits", "lower_case", "min_count", "window", "word_dim"}
    words = {"pre_tokenizer": "english", "fold_digits": True, "lower_case": True, "min_count": 5}
    torch = {"backend": "torch", "batch_size": 1024, "devices": "1", "precision": "32-true"}
    usual = build_default_experiment("cbow").copy_with(threads=1)
    model, start = WordModel(architecture="word_embedding", variant="cbow"), StartArgs(init_from="runs/one/checkpoint")
    continued = replace(usual, data=WordData(), model=model, start=start)
    for experiment, own in (
        (usual, {"threads": 1}),
        (usual.copy_with(backend="torch"), torch),
        (continued, {"threads": 1, **words}),
    ):
        run = run_in(tmp_path, experiment)
        told = names | (of_new_models if experiment is not continued else set())
        earlier = {name: value for name, value in run.settings.items() if name in told}
        result = run.build_result(
            metrics={"words": 3}, parameters={"total": 1, "trainable": 1}, fingerprint="test 0", seconds=1.0
        )
        write_result_file(replace(result, settings={**earlier, **own, "architecture": "cbow"}), run.results_file)
        assert run.read_finished_result() is not None
        other = {**run.implied_values, "architecture": "skip_gram"}
        assert read_result_of_settings(run.results_file, run.settings, run.defaults, other) is None


def test_window_and_split_name_the_files_of_a_dataset_as_it_is(tmp_path: Path) -> None:
    data = build_paper_experiment().copy_with(dataset="me/texts", tag="mine")
    names = [
        run_in(tmp_path, data.copy_with(**changes)).results_file.stem
        for changes in ({}, {"dataset": "sample"}, {"test_split": "", "split": "whole"}, {"score": "validation"})
    ]
    assert names == [
        "attention_cbow-texts-test-seed0-b20-mine",
        "attention_cbow-sample-train-seed0-b20-mine",
        "attention_cbow-texts-whole-seed0-b20-mine",
        "attention_cbow-texts-validation-seed0-b20-mine",
    ]
    rows = data.copy_with(rows="texts-0123", named="texts")
    assert run_in(tmp_path, rows).results_file.stem == "attention_cbow-texts-test-seed0-mine-texts-0123"
    assert WORD_EMBEDDINGS.list_scored_splits(rows) == ("validation", "test")
    assert WORD_EMBEDDINGS.list_scored_splits(rows.copy_with(score="validation")) == ("validation",)


def test_what_trains_with_torch_is_imported_without_numba() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; "
        "import ctxzoo.tasks.word_embeddings.run, recipes.wikipedia_attention_cbow as recipe; "
        "print(recipe.WORD_EMBEDDINGS.fill_in_settings(recipe.BASE).run.backend)"
    )
    done = run_warm(code, env=WITHOUT_HUB)
    assert done.stdout.splitlines()[-1] == "torch"
