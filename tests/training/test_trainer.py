from __future__ import annotations

import csv
import os
import signal
import sys
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.training.callbacks import ExponentialMovingAverage, StepSeed, get_judge_callbacks, stop_training_by_judge
from ctxzoo.training.classification import ClassificationTask
from ctxzoo.training.interrupted import TrainingPruned
from ctxzoo.training.trainer import (
    BEST,
    LAST,
    TrainerSettings,
    build_loggers,
    build_trainer,
    choose_precision,
    count_processes,
    get_training_seconds,
)
from tests.support.training_runs import train

QUIET: dict[str, Any] = {"tensorboard": False, "progress": False, "accelerator": "cpu", "devices": 1}


def callback(trainer: lightning.Trainer, kind: type[Any]) -> Any:
    return next((found for found in trainer.callbacks if isinstance(found, kind)), None)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[Path, lightning.Trainer]:
    """A finished training with all loggers that are installed."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder / "data", folder / "out", tensorboard=True)


def test_settings_reach_the_trainer(tmp_path):
    settings = TrainerSettings(
        **QUIET, epochs=7, max_steps=11, precision="bf16-mixed", gradient_clip=2.5, ema_decay=0.9, patience=3, seed=5,
        limit_train_batches=4, limit_eval_batches=2,
    )  # fmt: skip
    trainer = build_trainer(settings, tmp_path, "validation/f1")
    assert (trainer.max_epochs, trainer.max_steps, trainer.precision) == (7, 11, "bf16-mixed")
    assert trainer.gradient_clip_val == 2.5
    assert (trainer.limit_train_batches, trainer.limit_val_batches, trainer.limit_test_batches) == (4, 2, 2)
    assert callback(trainer, ExponentialMovingAverage).decay == 0.9
    assert callback(trainer, StepSeed).seed == 5
    stopping = callback(trainer, EarlyStopping)
    assert (stopping.monitor, stopping.mode, stopping.patience) == ("validation/f1", "max", 3)


def test_what_is_switched_off_is_not_there(tmp_path):
    settings = TrainerSettings(**QUIET, ema_decay=0, patience=0, gradient_clip=0)
    trainer = build_trainer(settings, tmp_path, "validation/f1")
    assert callback(trainer, ExponentialMovingAverage) is None
    assert callback(trainer, EarlyStopping) is None
    assert trainer.gradient_clip_val is None
    assert trainer.max_steps == -1


def test_without_a_score_the_last_epoch_is_kept_and_nothing_is_waited_for(tmp_path):
    trainer = build_trainer(TrainerSettings(**QUIET), tmp_path, None)
    assert trainer.checkpoint_callback.monitor is None
    assert trainer.log_every_n_steps == 1
    with pytest.raises(ValueError, match="patience=3 needs validation data"):
        build_trainer(TrainerSettings(**QUIET, patience=3), tmp_path, None)


@pytest.mark.parametrize("precision", ["32-true", "16-mixed", "bf16-mixed"])
def test_a_precision_that_is_asked_for_is_taken(precision):
    assert choose_precision(precision) == precision


def test_auto_precision_is_one_that_the_device_has(tmp_path):
    trainer = build_trainer(TrainerSettings(**QUIET), tmp_path, "validation/f1")
    assert trainer.precision in ("32-true", "bf16-mixed")  # on the CPU


def test_a_training_without_average_clipping_or_early_stopping_runs(tmp_path):
    trainer = train(tmp_path / "data", tmp_path / "out", ema_decay=0, gradient_clip=0, epochs=1)
    saved = torch.load(tmp_path / "out" / "lightning" / LAST, weights_only=True)
    assert trainer.global_step == saved["global_step"] == 5
    assert "averaging_state" not in saved


def test_logs_and_checkpoints_are_where_they_should_be(run):
    folder, trainer = run
    assert sorted(path.name for path in (folder / "out" / "lightning").iterdir()) == [BEST, LAST]
    rows = list(csv.DictReader((folder / "out" / "logs" / "csv" / "metrics.csv").open()))
    assert [float(row["validation/f1"]) for row in rows if row.get("validation/f1")]
    assert list((folder / "out" / "logs" / "tensorboard").glob("events*"))
    assert trainer.global_step == 15


def test_best_is_the_epoch_with_the_highest_score_and_holds_the_average(run):
    folder, trainer = run
    best = torch.load(folder / "out" / "lightning" / BEST, weights_only=True)
    rows = list(csv.DictReader((folder / "out" / "logs" / "csv" / "metrics.csv").open()))
    scores = [float(row["validation/f1"]) for row in rows if row.get("validation/f1")]
    assert len(scores) == 3
    kept = callback(trainer, ModelCheckpoint)
    assert kept.best_model_score.item() == pytest.approx(max(scores))
    assert best["epoch"] == scores.index(max(scores))
    assert any(not torch.equal(value, best["current_model_state"][name]) for name, value in best["state_dict"].items())


def test_seconds_add_up_over_resumed_parts(tmp_path):
    first = get_training_seconds(train(tmp_path / "data", tmp_path / "out", epochs=1))
    second = train(tmp_path / "data", tmp_path / "out", epochs=2)
    assert get_training_seconds(second) > first > 0


def test_early_stopping_ends_the_training_and_a_resumed_run_stays_ended(tmp_path):
    # The average stays at the first weights, so that no epoch scores better than the first.
    settings = {"epochs": 9, "patience": 2, "limit_train_batches": 1, "ema_decay": 0.9999}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctxzoo.training.callbacks.ema_decay", lambda update, decay: 1.0)
        assert train(tmp_path / "data", tmp_path / "out", **settings).global_step == 3
        assert train(tmp_path / "data", tmp_path / "out", **settings).global_step == 3


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path):
    check_folder_is_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OSError, match=r"cannot write to .*file: file exists; choose another --output_dir or free some space$"
    ):
        build_trainer(TrainerSettings(**QUIET), tmp_path / "file", "validation/f1")


def test_a_full_disk_is_found_before_the_training(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write to .*: no space left on device; .*free some space"):
        build_trainer(TrainerSettings(**QUIET), tmp_path / "out", "validation/f1")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_found_before_the_training(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError, match="cannot write to"):
            check_folder_is_writable(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def missing(name: str) -> Any:
    def construct(*args: object, **kwargs: object) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    return construct


def test_tensorboard_that_is_not_installed_is_said_once_and_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lightning.pytorch.loggers.TensorBoardLogger", missing("tensorboard"))
    monkeypatch.setattr("ctxzoo.data.notices._said", set())
    for _ in range(2):
        (logger,) = build_loggers(TrainerSettings(), tmp_path)
        assert isinstance(logger, CSVLogger)
    assert capsys.readouterr().out == "without TensorBoard logs: pip install tensorboard\n"


def test_wandb_that_is_asked_for_and_not_installed_is_an_error_that_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match="wandb needs: pip install wandb"):
        build_loggers(TrainerSettings(tensorboard=False, wandb=True), tmp_path)


def test_the_curve_of_a_resumed_run_begins_with_the_first_part(tmp_path):
    train(tmp_path / "data", tmp_path / "out", epochs=1)
    train(tmp_path / "data", tmp_path / "out", epochs=3)
    rows = list(csv.DictReader((tmp_path / "out" / "logs" / "csv" / "metrics.csv").open()))
    epochs = [int(row["epoch"]) for row in rows if row.get("validation/f1")]
    assert epochs == [0, 1, 2]


def test_a_new_run_in_the_same_folder_does_not_keep_the_curve_of_the_old(tmp_path):
    train(tmp_path / "data", tmp_path / "out", epochs=2)
    (tmp_path / "out" / "lightning" / LAST).unlink()
    train(tmp_path / "data", tmp_path / "out", epochs=1)
    rows = list(csv.DictReader((tmp_path / "out" / "logs" / "csv" / "metrics.csv").open()))
    assert [int(row["epoch"]) for row in rows if row.get("validation/f1")] == [0]


def test_of_a_loss_the_lowest_is_the_best(tmp_path):
    settings = TrainerSettings(**QUIET, patience=2)
    trainer = build_trainer(settings, tmp_path, "validation/nll", lower_is_better=True)
    assert callback(trainer, EarlyStopping).mode == "min"
    assert callback(trainer, ModelCheckpoint).mode == "min"


@pytest.mark.parametrize(
    ("monitor", "lower"),
    [
        ("validation/nll", True),
        ("train/loss", True),
        ("validation/calibration_error", True),
        ("validation/accuracy", False),
        (None, False),
    ],
)
def test_a_task_knows_which_scores_are_better_when_lower(monitor, lower):
    assert ClassificationTask.is_lower_better(monitor) is lower


def test_messages_of_libraries_that_ask_for_nothing_are_left_out_and_others_are_not(tmp_path, caplog, recwarn):
    # Recipes, which other tests run in this process, silence this logger.
    with caplog.at_level("INFO", logger="lightning.pytorch.utilities.rank_zero"):
        train(tmp_path / "data", tmp_path / "out", epochs=1)
    told = [record.getMessage() for record in caplog.records] + [str(one.message) for one in recwarn]
    for left_out in ("`weights_only` was not set", "Tip: ", "TPU available", "treespec"):
        assert not [message for message in told if left_out in message]
    assert "GPU available" in " ".join(told)


@pytest.mark.parametrize(("devices", "nodes", "number"), [("auto", 1, 1), (2, 1, 2), ("3", 2, 6), ("0,1", 1, 2)])
def test_processes_are_counted_before_there_is_a_trainer(devices, nodes, number):
    settings = TrainerSettings(accelerator="cpu", devices=devices, num_nodes=nodes)
    assert count_processes(settings) == number
    if devices != "0,1":  # of a CPU Lightning takes a number alone
        trainer = lightning.Trainer(
            accelerator="cpu", devices=int(devices) if devices != "auto" else devices, num_nodes=nodes, logger=False
        )
        assert trainer.world_size == number


def test_a_training_is_judged_after_each_epoch_but_the_last_and_may_be_ended(tmp_path):
    asked: list[tuple[int, float]] = []

    def judge(epochs: int, score: float) -> str | None:
        asked.append((epochs, score))
        return "worse than most" if len(asked) > 2 else None

    handler = signal.getsignal(signal.SIGINT)
    with stop_training_by_judge("validation/f1", judge):
        trainer = train(tmp_path / "data", tmp_path / "whole")
        assert trainer.current_epoch == 3
        assert [epochs for epochs, _ in asked] == [1, 2]
        with pytest.raises(TrainingPruned, match="worse than most"):
            train(tmp_path / "data", tmp_path / "ended")
    assert asked[2] == asked[0]  # the same training
    assert get_judge_callbacks() == ()
    assert signal.getsignal(signal.SIGINT) is handler
    with stop_training_by_judge("validation/no_such_score", judge):
        train(tmp_path / "data", tmp_path / "other")
    assert len(asked) == 3
