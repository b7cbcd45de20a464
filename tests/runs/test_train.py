"""A training as its recipes run it: with several processes, and beside another of its name."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from ctxzoo.runs.run import execute
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear import LinearRun, build_linear_experiment
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from ctxzoo.tasks.text_classification.task import SequenceClassificationTask
from ctxzoo.training.callbacks import SameSettings, StepSeed
from ctxzoo.training.process_group import check_batches_for_processes
from ctxzoo.training.run_folder import LOCK, RunLockedError, lock_run_files
from recipes import squad_bidaf, wikipedia_attention_cbow
from tests.support.classifier_runs import classifier_run
from tests.support.subprocesses import check_finished, run_module


@pytest.mark.slow
def test_every_process_reads_the_results_that_the_first_writes(tmp_path):
    check_finished(run_module("tests.support.classifier_runs", tmp_path, 2, 100_000))  # both share the batch of a split
    first, second = (json.loads((tmp_path / f"read_by_{rank}.json").read_text()) for rank in range(2))
    assert first == second
    assert "test/accuracy" in first


def test_fewer_batches_than_processes_are_refused_before_the_training(tmp_path):
    data = classifier_run(tmp_path, batch_size=100_000).build_data()
    data.setup()
    with pytest.raises(ValueError, match="train has 1 batch for 2 processes, and each needs one; make the batches"):
        check_batches_for_processes(data, ("validation",), 2)
    data.batch_size = 8
    check_batches_for_processes(data, ("validation",), 2)


def test_a_second_run_of_one_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = classifier_run(tmp_path)
    run.folder.mkdir(parents=True)
    with lock_run_files(run.folder / LOCK, "--output_dir"), pytest.raises(RunLockedError, match="--output_dir"):
        execute(run)


def test_a_quiet_training_keeps_a_log_without_bars_and_its_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = classifier_run(tmp_path, progress=True)
    execute(run, quiet=True)
    assert capsys.readouterr().out == ""
    log = (run.folder / "log.txt").read_text()
    assert "checkpoint" in log
    assert "it/s" not in log
    assert "progress: true" in (run.folder / "experiment.yaml").read_text()


def test_validation_alone_is_scored_where_settings_are_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = classifier_run(tmp_path, score="validation")
    asked = []
    read = TextClassificationDataModule.split_dataloader
    monkeypatch.setattr(
        TextClassificationDataModule, "split_dataloader", lambda data, split: asked.append(split) or read(data, split)
    )
    result = execute(run)
    assert set(asked) == {"validation"}
    assert result.split == "validation"
    assert {name.split("/")[0] for name in result.metrics if "/" in name} == {"train", "validation"}
    assert run.results_file.name == "mean-sample-validation-seed0.json"
    assert "test, this checkpoint" not in (run.checkpoint / "README.md").read_text()


def test_no_validation_rows_to_score_are_told_before_the_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = classifier_run(tmp_path, score="validation", folds=2, fold=0, dev_share=0.0)
    with pytest.raises(ValueError, match="gives no 'validation' rows"):
        execute(run)
    assert not list(tmp_path.rglob("*.ckpt"))


def test_a_second_linear_run_of_one_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of_sample = LinearRun.build_experiment(
        build_linear_experiment("r").copy_with(results_dir=str(tmp_path)), "bigram_nbsvm"
    )
    run = LinearRun(TEXT_CLASSIFICATION, of_sample)
    run.folder.mkdir(parents=True)
    with lock_run_files(run.folder / LOCK, "-"), pytest.raises(RunLockedError, match="--output_dir"):
        execute(run)


def test_a_second_training_of_word_vectors_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "wikipedia_attention_cbow" / "attention_cbow-sample-train-seed0-b20"
    folder.mkdir(parents=True)
    options = ["--dataset", "sample", "--output_dir", str(tmp_path), "--results_dir", str(tmp_path)]
    with lock_run_files(folder / LOCK, "-"), pytest.raises(RunLockedError, match="--output_dir"):
        wikipedia_attention_cbow.STUDY.run(options)


def test_a_second_reader_of_one_name_is_refused(tmp_path):
    folder = tmp_path / "squad_bidaf" / "learned_char7-sample-seed224"
    folder.mkdir(parents=True)
    with lock_run_files(folder / LOCK, "-"), pytest.raises(RunLockedError, match="--output_dir"):
        squad_bidaf.STUDY.run(["--dataset", "sample", "--output_dir", str(tmp_path), "--results_dir", str(tmp_path)])


def test_a_training_with_other_settings_is_not_taken_for_the_one_to_resume(tmp_path):
    run = classifier_run(tmp_path)
    execute(run)
    before = run.results_file.read_bytes()
    other = classifier_run(tmp_path, weight_decay=0.5)
    with pytest.raises(ValueError, match=r"weight_decay=0\.0, not 0\.5: resume with the same settings"):
        execute(other, resume=True)
    assert run.results_file.read_bytes() == before
    assert execute(other).settings["weight_decay"] == 0.5


def test_a_model_of_another_size_is_refused_by_its_setting_not_by_its_shapes(tmp_path):
    execute(classifier_run(tmp_path))
    other = classifier_run(tmp_path, word_dim=7)
    with pytest.raises(ValueError, match="word_dim=6, not 7: resume with the same settings"):
        execute(other, resume=True)


def test_warm_up_and_decay_follow_from_the_number_of_steps(tmp_path):
    run = classifier_run(tmp_path, epochs=4, decay=True, warmup=0.25)
    data = run.build_data()
    data.setup()
    task = run.build_task(data, 1)
    assert (task.hparams["warmup_steps"], task.hparams["decay_steps"]) == (4, 16)  # of four batches in each epoch
    plain = classifier_run(tmp_path, epochs=4).build_task(data, 1)
    assert (plain.hparams["warmup_steps"], plain.hparams["decay_steps"]) == (0, None)
    assert run.same_when_resumed["epochs to decay in"] == 4
    execute(run)
    other = classifier_run(tmp_path, epochs=5, decay=True, warmup=0.25)
    with pytest.raises(ValueError, match="epochs to decay in=4, not 5: resume with the same settings"):
        execute(other, resume=True)


def test_the_seed_of_a_run_decides_weights_order_and_dropout(tmp_path, monkeypatch):
    seed = 3
    run = classifier_run(tmp_path, seed=seed, learning_rate=1e-30)  # no step changes a weight
    seen = []
    loss = SequenceClassificationTask.compute_training_loss

    def noted_loss(task, batch):
        seen.append((batch["row"].tolist(), torch.initial_seed()))
        return loss(task, batch)

    monkeypatch.setattr(SequenceClassificationTask, "compute_training_loss", noted_loss)
    execute(run)

    data = run.build_data()
    data.setup()
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_config(
        AutoConfig.for_model(**run.problem.build_model_config(run.experiment, data))
    )
    kept = torch.load(run.folder / "lightning" / "best.ckpt", weights_only=True)["state_dict"]
    torch.testing.assert_close(kept["model.classifier.weight"], model.classifier.weight.detach())
    for step, (batch, (rows, drawn_with)) in enumerate(zip(data.train_dataloader(), seen, strict=False)):
        strategy = SimpleNamespace(root_device=torch.device("cpu"))
        place = SimpleNamespace(global_step=step, world_size=1, global_rank=0, strategy=strategy)
        StepSeed(seed).on_train_batch_start(place, None, None, step)
        assert (rows, drawn_with) == (batch["row"].tolist(), torch.initial_seed())
    assert len(seen) == 4


def test_a_finished_run_of_one_process_is_none_of_two(tmp_path):
    alone, both = classifier_run(tmp_path), classifier_run(tmp_path, devices=2)
    execute(alone)
    assert alone.read_finished_result() is not None
    assert both.read_finished_result() is None
    assert both.settings == {**alone.settings, "world_size": 2}
    again = replace(both, experiment=both.experiment.copy_with(devices="1"))
    assert (again.folder, again.read_finished_result()) == (alone.folder, alone.read_finished_result())
    with pytest.raises(ValueError, match="world_size=1, not 2: resume with the same settings"):
        SameSettings(both.same_when_resumed).refuse_other_settings(alone.folder / "lightning" / "last.ckpt")
