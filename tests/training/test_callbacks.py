"""What the callbacks of a training do, each by itself."""

from __future__ import annotations

import csv
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader

from ctxzoo.training.callbacks import (
    AtomicCheckpointIO,
    ExponentialMovingAverage,
    KeepCsvRows,
    SameSettings,
    StayStopped,
    StepSeed,
    ema_decay,
)
from ctxzoo.training.task import ZooTask


def drawn(seed: int = 1, step: int = 0, batch: int = 0, rank: int = 0, world: int = 1) -> tuple[float, ...]:
    strategy = SimpleNamespace(root_device=torch.device("cpu"))
    trainer = SimpleNamespace(global_step=step, world_size=world, global_rank=rank, strategy=strategy)
    StepSeed(seed).on_train_batch_start(trainer, None, None, batch)
    return tuple(torch.rand(4).tolist())


def test_numbers_are_a_function_of_the_place():
    torch.manual_seed(0)
    first = drawn(7, 30, 5)
    torch.rand(3)  # whatever happened before
    assert drawn(7, 30, 5) == first


def test_every_place_has_numbers_of_its_own():
    places = [
        (seed, step, step % 7 + extra, rank)
        for seed in (1, 2)
        for step in range(40)
        for extra in range(2)  # batches that share a step, when gradients are accumulated
        for rank in range(3)
    ]
    assert len({drawn(seed, step, batch, rank, world=3) for seed, step, batch, rank in places}) == len(places)


def test_large_seeds_and_steps_are_within_torchs_range():
    assert drawn(2**32 - 1, 10**9, 10**6) != drawn(2**32 - 2, 10**9, 10**6)


@pytest.mark.parametrize(
    ("update", "decay"),
    [(0, 0.1), (1, 2 / 11), (8, 0.5), (90, 0.91), (8989, 8990 / 8999), (8990, 0.999), (10**6, 0.999)],
)
def test_ramp(update, decay):
    assert ema_decay(update, 0.999) == pytest.approx(decay, rel=1e-12)


@pytest.mark.parametrize("decay", [-0.1, 1.0, 2.0])
def test_a_decay_outside_0_to_1_is_refused(decay):
    with pytest.raises(ValueError, match=rf"decay must be in \[0, 1\), got {decay}"):
        ExponentialMovingAverage(decay)


class Line(lightning.LightningModule):
    """Two trained weights, a frozen one, a float and an integer buffer; the weights of every moment are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        self.frozen = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("count", torch.zeros(1, dtype=torch.long))
        self.trained: list[torch.Tensor] = []
        self.means: list[float] = []
        self.validated: list[torch.Tensor] = []
        self.around: list[torch.Tensor] = []

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        return ((self.weight - batch) ** 2).sum()

    def on_train_batch_end(self, *args: Any) -> None:
        self.trained.append(self.weight.detach().clone())

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        self.mean += 0.5
        self.count += 1
        self.means.append(self.mean.item())

    def validation_step(self, batch: torch.Tensor, batch_idx: int) -> None:
        self.validated.append(self.weight.detach().clone())

    def on_validation_start(self) -> None:
        self.around.append(self.weight.detach().clone())

    def on_validation_end(self) -> None:
        self.around.append(self.weight.detach().clone())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(folder: Any, model: Line, decay: float = 0.4, **options: Any) -> ExponentialMovingAverage:
    average = ExponentialMovingAverage(decay)
    trainer = lightning.Trainer(
        devices=1,
        callbacks=[average],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=folder,
        **{"accelerator": "cpu", "max_epochs": 2, **options},
    )
    values = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    trainer.fit(model, DataLoader(values, batch_size=None), DataLoader(torch.zeros(1), batch_size=None))
    return average


def averages(start: torch.Tensor, values: list[torch.Tensor], decay: float) -> list[torch.Tensor]:
    """The average after each update, by the definition."""
    result, mean = [], start.double()
    for update, value in enumerate(values):
        weight = min(decay, (1 + update) / (10 + update))
        mean = weight * mean + (1 - weight) * value.double()
        result.append(mean)
    return result


def test_average_is_that_of_the_definition_and_stands_in_for_validation_and_at_the_end(tmp_path):
    model = Line()
    start = model.weight.detach().clone()
    fit(tmp_path, model)
    expected = averages(start, model.trained, 0.4)
    assert len(expected) == 10
    for seen, update in zip(model.validated, (4, 9), strict=True):
        torch.testing.assert_close(seen.double(), expected[update], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(model.weight.detach().double(), expected[-1], rtol=1e-6, atol=1e-7)
    mean = averages(torch.zeros(1), [torch.tensor([value]) for value in model.means], 0.4)[-1]
    torch.testing.assert_close(model.mean.double(), mean, rtol=1e-6, atol=1e-7)
    assert model.count.item() == 10
    assert model.frozen.item() == 3.0


def test_validation_leaves_the_trained_weights_equal_to_the_bit(tmp_path):
    with_validation, without = Line(), Line()
    fit(tmp_path, with_validation)
    fit(tmp_path, without, limit_val_batches=0)
    assert all(torch.equal(one, other) for one, other in zip(with_validation.trained, without.trained, strict=True))
    # Around the validation the trained weights are in place again.
    before, after = with_validation.around[0], with_validation.around[1]
    assert torch.equal(after, with_validation.trained[4])
    assert torch.equal(before, after)
    assert not torch.equal(with_validation.validated[0], with_validation.trained[4])


def test_accumulated_batches_count_as_one_update(tmp_path):
    model = Line()
    start = model.weight.detach().clone()
    average = fit(tmp_path, model, accumulate_grad_batches=5, max_epochs=3)
    assert int(average._average_model.n_averaged) == 1 + 3
    expected = averages(start, model.trained[4::5], 0.4)[-1]
    torch.testing.assert_close(model.weight.detach().double(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_average_lives_on_the_device_of_the_model(tmp_path):
    average = fit(tmp_path, Line(), accelerator="gpu")
    assert {value.device.type for value in average._average_model.state_dict().values()} == {"cuda"}


def write(path: Path, step: int) -> None:
    AtomicCheckpointIO().save_checkpoint({"global_step": step, "state_dict": {"w": torch.full((1000,), step)}}, path)


def step_of(path: Path) -> int:
    return AtomicCheckpointIO().load_checkpoint(path, weights_only=True)["global_step"]


def test_a_checkpoint_replaces_the_earlier_one(tmp_path):
    path = tmp_path / "new" / "last.ckpt"
    for step in (1, 2):
        write(path, step)
        assert step_of(path) == step
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["save", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_earlier_one_alone(tmp_path, monkeypatch, broken):
    path = tmp_path / "last.ckpt"
    write(path, 1)

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(torch if broken == "save" else os, broken, fail)
        with pytest.raises(OSError, match="No space left"):
            write(path, 2)
    assert step_of(path) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_write_left_is_in_no_ones_way(tmp_path):
    (tmp_path / ".last.ckpt.0123456789abcdef.tmp").write_bytes(b"half")
    write(tmp_path / "last.ckpt", 1)
    assert step_of(tmp_path / "last.ckpt") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]


def damaged(path: Path, damage: str) -> None:
    content = bytearray(path.read_bytes())
    if damage == "weight":
        content[content.index(torch.full((100,), 7).numpy().tobytes())] ^= 1
    changed = {"cut": content[:-900], "empty": b"", "text": b"no checkpoint", "weight": content}[damage]
    path.write_bytes(bytes(changed))


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "weight"])
def test_a_damaged_checkpoint_is_one_line_that_says_what_to_do(tmp_path, damage):
    path = tmp_path / "last.ckpt"
    write(path, 7)
    damaged(path, damage)
    line = r"last\.ckpt is no whole checkpoint of a training \(.+\); .*remove it to begin this training anew$"
    for read in (step_of, SameSettings({}).refuse_other_settings, lambda file: ZooTask.load_weights(None, file)):
        with pytest.raises(ValueError, match=line) as found:
            read(path)
        assert "\n" not in str(found.value)
    with pytest.raises(FileNotFoundError):
        step_of(tmp_path / "none.ckpt")


def test_a_file_of_another_program_is_no_checkpoint_of_a_training(tmp_path):
    torch.save({"w": torch.zeros(3)}, tmp_path / "last.ckpt")
    with pytest.raises(ValueError, match="is no whole checkpoint of a training"):
        SameSettings({}).refuse_other_settings(tmp_path / "last.ckpt")


def test_a_reader_finds_a_whole_file_at_any_time(tmp_path):
    path = tmp_path / "last.ckpt"
    write(path, 0)
    done = threading.Event()

    def keep_writing() -> None:
        for step in range(1, 31):
            write(path, step)
        done.set()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    seen = []
    while not done.is_set():
        seen.append(step_of(path))
    writer.join()
    assert seen == sorted(seen)
    assert step_of(path) == 30


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]


def resumed(folder: Path, global_step: int) -> CSVLogger:
    """The logger of a run that is resumed at a step, as Lightning sets it up."""
    keep = KeepCsvRows(folder / "metrics.csv")
    logger = CSVLogger(folder, name="", version="")
    _ = logger.experiment  # removes the file
    trainer = SimpleNamespace(loggers=[logger], is_global_zero=True)
    keep.on_load_checkpoint(trainer, None, {"global_step": global_step})
    return logger


@pytest.mark.filterwarnings("ignore")
def test_rows_of_steps_before_the_checkpoint_are_kept_and_later_ones_follow(tmp_path):
    (tmp_path / "metrics.csv").write_text("a,step\n1,0\n2,3\n3,4\n,9\n")
    logger = resumed(tmp_path, 4)
    assert rows(tmp_path / "metrics.csv") == [{"a": "1", "step": "0"}, {"a": "2", "step": "3"}]
    logger.log_metrics({"b": 5.0}, step=4)
    logger.save()
    assert rows(tmp_path / "metrics.csv") == [
        {"a": "1", "step": "0"},
        {"a": "2", "step": "3"},
        {"b": "5.0", "step": "4"},
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("torn", ["a,step\n1,0\n2", "", "a,step\n1,0\n2,x\n"])
def test_a_log_that_was_torn_off_is_read_as_far_as_it_goes(tmp_path, torn):
    (tmp_path / "metrics.csv").write_text(torn)
    resumed(tmp_path, 4)
    found = rows(tmp_path / "metrics.csv") if (tmp_path / "metrics.csv").exists() else []
    assert found == ([{"a": "1", "step": "0"}] if torn else [])


@pytest.mark.parametrize(("waited", "stops"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_run_that_has_waited_long_enough_stays_stopped(waited, stops):
    stopping = SimpleNamespace(wait_count=waited, patience=2)
    trainer = SimpleNamespace(early_stopping_callbacks=[stopping], should_stop=False)
    StayStopped().on_train_start(trainer, None)
    assert trainer.should_stop is stops


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"rate": 0.2, "sizes": [1, 2]}, "rate=0.1, not 0.2"),
        ({"rate": 0.1}, r"sizes=\[1, 2\], not None"),
        ({"rate": 0.1, "sizes": [1, 2], "decay": True}, "decay=None, not True"),
        ({"rate": 0.2, "sizes": []}, r"rate=0.1, not 0.2; sizes=\[1, 2\], not \[\]"),
    ],
)
def test_other_settings_than_those_it_began_with_are_refused_by_name(other, told):
    began = SameSettings({"rate": 0.1, "sizes": (1, 2), "epochs": 3}).state_dict()
    with pytest.raises(ValueError, match=f"training with {told}: resume with the same settings"):
        SameSettings(other).load_state_dict(began)


def test_a_run_may_go_on_for_longer():
    began = SameSettings({"rate": 0.1, "sizes": (1, 2), "epochs": 3, "patience": 0}).state_dict()
    SameSettings({"rate": 0.1, "sizes": [1, 2], "epochs": 9, "patience": 2}).load_state_dict(began)
