"""Callbacks of a training: dropout by step, averaged weights, checkpoints, Ctrl-C, and what a resumed run keeps."""

from __future__ import annotations

import csv
import json
import math
import os
import pickle
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint, WeightAveraging
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from ctxzoo.data.files import atomic_file, temporary_file_pattern
from ctxzoo.data.notices import format_error_on_one_line
from ctxzoo.models.old_names import convert_settings
from ctxzoo.training.interrupted import TrainingInterrupted, TrainingPruned

# What torch, pickle and mmap raise of a damaged checkpoint, some with nothing but a number.
UNREADABLE = (RuntimeError, OSError, pickle.UnpicklingError, zipfile.BadZipFile, LookupError, EOFError, ValueError)


class StepSeed(lightning.Callback):
    """Seeds torch before each training batch from (seed, optimizer step, batch, process).

    Dropout then depends on nothing that happened before, so that a run resumed at any step, after any validation, draws
    the same masks as one that was never interrupted: no generator state has to be saved.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        number = (trainer.global_step * 1_000_003 + batch_idx) * max(1, trainer.world_size) + trainer.global_rank
        # On a CPU training torch.manual_seed would also keep a seed, and a stack trace, for each kind of absent device.
        on_cpu = trainer.strategy.root_device.type == "cpu"
        seed_all = torch.default_generator.manual_seed if on_cpu else torch.manual_seed
        seed_all((self.seed * 0x9E3779B97F4A7C15 + number) % 2**63)


def ema_decay(update: int, decay: float) -> float:
    """Return the decay of a moving average at update t, min(decay, (1 + t) / (10 + t)): small at first."""
    return min(decay, (1 + update) / (10 + update))


class ExponentialMovingAverage(WeightAveraging):
    """Averages the weights after every optimizer step; validation, test and the saved `state_dict` use the average.

    Lightning's `WeightAveraging` swaps and saves; this class gives it the ramp. The average starts from the weights
    before the first step, as in the course starter.

    Args:
        decay: Decay of the average after the first updates, 0 or more and below 1, such as 0.999.
    """

    _latest_update_step: int

    def __init__(self, decay: float = 0.999) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"decay must be in [0, 1), got {decay}")
        super().__init__(use_buffers=True)
        self.decay = decay
        self._tensors: list[tuple[str, dict[str, Any], dict[str, Any]]] = []  # name, averages and current ones by name
        self._unchanged: dict[int, tuple[torch.Tensor, int]] = {}  # untrained tensors as they were, and versions, by id

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        # Lightning moves the model to the device only later; by default the average would stay on the CPU.
        self._device = trainer.strategy.root_device
        super().setup(trainer, pl_module, stage)
        if stage != "fit":
            return
        assert self._average_model is not None
        if int(self._average_model.n_averaged) == 0:
            # With a count of 0 torch would copy the weights after the first step instead of averaging them in.
            self._average_model.n_averaged.fill_(1)
        found: dict[int, tuple[str, dict[str, Any], dict[str, Any]]] = {}  # by id, for modules may share a tensor
        for module, other in zip(pl_module.modules(), self._average_model.module.modules(), strict=True):
            for kind in ("_parameters", "_buffers"):
                averages, currents = getattr(other, kind), getattr(module, kind)
                found |= {id(one): (name, averages, currents) for name, one in currents.items() if one is not None}
        self._tensors = list(found.values())
        fixed = (one for name, _, currents in self._tensors if not (one := currents[name]).requires_grad)
        self._unchanged = {id(one): (one, one._version) for one in fixed if not one.is_inference()}

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Move the averages towards the current values once for each optimizer step; integers are copied.

        torch's `update_parameters` looks for all tensors again in each step, and copies tables that never change.
        """
        if trainer.global_step <= self._latest_update_step:
            return
        self._latest_update_step = trainer.global_step
        assert self._average_model is not None
        count = self._average_model.n_averaged
        weight = 1 - ema_decay(int(count) - 1, self.decay)  # the count began with 1
        count += 1
        for name, averages, currents in self._tensors:
            current, average = currents[name].detach(), averages[name].detach()
            if id(currents[name]) in self._unchanged and self._unchanged[id(currents[name])][1] == current._version:
                continue  # it equals its average
            if current.is_floating_point():
                average.lerp_(current.to(average.device), weight)
            else:
                average.copy_(current)


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint under a temporary name and gives it its own when it is on disk.

    Lightning writes to the system's temporary folder and moves the file, which copies it where the two are different
    file systems: killed then, it leaves half a file instead of the earlier checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        """Write a checkpoint to a temporary file and rename it, so that `path` never holds half of one."""
        target = Path(path)
        for leftover in target.parent.glob(
            temporary_file_pattern(target.name)
        ):  # by a run that was killed; this one has the folder
            leftover.unlink(missing_ok=True)
        with atomic_file(target) as file:
            torch.save(checkpoint, file)
            file.flush()
            os.fsync(file.fileno())

    def load_checkpoint(self, path: str | Path, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Load a checkpoint file; errors are those of `explain_unreadable_checkpoint`."""
        with explain_unreadable_checkpoint(Path(path)):
            loaded: dict[str, Any] = super().load_checkpoint(path, *arguments, **options)
            return loaded


@contextmanager
def explain_unreadable_checkpoint(path: Path) -> Iterator[None]:
    """Turn errors of reading a checkpoint in this context into one line that says what to do.

    Raises:
        ValueError: The file is no checkpoint of a training, or it is damaged: every byte is checked, since torch itself
            would take a changed weight.
        OSError: There is no such file, or it may not be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged} is wrong")
        yield
    except (FileNotFoundError, PermissionError, MemoryError):
        raise
    except UNREADABLE as error:
        raise ValueError(
            f"{path} is no whole checkpoint of a training ({format_error_on_one_line(error)}); put a copy in its "
            "place, or remove it to begin this training anew"
        ) from error


class ResumeCheckpoint(ModelCheckpoint):
    """Writes the state of the training to one file every `every` steps and at the ends of epochs.

    Where epochs are short not each is written, but the first, the last, and one in some seconds: the state holds what
    is logged of every epoch, and would take longer to write than the epoch. What is done again after a kill gives the
    same numbers.

    At the last batch of an epoch nothing is written before the epoch's end: Lightning takes a checkpoint of that
    moment for a finished epoch and would not make up for its validation. When `max_steps` ends the training in the
    middle of an epoch, that step is written and not the end of the epoch: a longer run then reads the epoch's rest.

    Args:
        path: Path of the checkpoint file to write.
        every: Number of training steps between two checkpoints.
        seconds: Least number of seconds between two checkpoints written at the end of an epoch; 0: every epoch is
            written.
    """

    def __init__(self, path: Path, every: int, seconds: float = 5.0) -> None:
        super().__init__(
            dirpath=path.parent,
            filename=path.stem,
            every_n_epochs=1,
            save_on_train_epoch_end=True,
            enable_version_counter=False,
        )
        self.path = path
        self.every = every
        self.seconds = seconds
        self._written = -math.inf  # the moment of the last one, of a clock that begins anywhere

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        due = trainer.global_step % self.every == 0 or trainer.global_step == trainer.max_steps
        if due and not trainer.is_last_batch:
            trainer.save_checkpoint(self.path)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.is_last_batch:
            return
        ends = trainer.should_stop or trainer.global_step == trainer.max_steps
        ends = ends or trainer.current_epoch + 1 == trainer.max_epochs
        ends = ends or any(isinstance(other, StopOnInterrupt) and other.stops for other in trainer.callbacks)
        due = ends or time.monotonic() - self._written >= self.seconds
        # Clocks of processes differ, and all must take part.
        if trainer.strategy.reduce_boolean_decision(due, all=False):
            trainer.save_checkpoint(self.path)
            self._written = time.monotonic()


class KeepCsvRows(lightning.Callback):
    """Begins the CSV log of a resumed run with the rows of its earlier parts; Lightning begins with an empty file.

    Create it before the training starts: Lightning removes the file then.

    Args:
        path: Path of the CSV log file, which is kept when a run resumes.
    """

    def __init__(self, path: Path) -> None:
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        # Later rows are of steps that are done again; a row without a step was torn off.
        earlier_rows = [row for row in self.rows if row.get("step", "").isdigit()]
        earlier_rows = [row for row in earlier_rows if int(row["step"]) < checkpoint["global_step"]]
        if trainer.is_global_zero:
            for logger in _find_csv_loggers(trainer):
                logger.experiment.metrics[:0] = earlier_rows
                logger.save()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        for logger in _find_csv_loggers(trainer):
            logger.save()


class SameSettings(lightning.Callback):
    """Refuses to resume a run with other settings than it began with: half of it would be of others.

    It may become longer: `epochs`, `max_steps` and `patience` are free.

    Args:
        settings: Settings that decide the result, as a dict that JSON can represent.

    Raises:
        ValueError: when a checkpoint of other settings is resumed from; the message names them.
    """

    FREE = frozenset({"epochs", "max_steps", "patience"})

    def __init__(self, settings: Mapping[str, Any]) -> None:
        kept = {name: value for name, value in settings.items() if name not in self.FREE}
        self.settings: dict[str, Any] = json.loads(json.dumps(kept))

    def state_dict(self) -> dict[str, Any]:
        return {"settings": self.settings}

    def refuse_other_settings(self, checkpoint: Path) -> None:
        """Raise an error for a checkpoint of other settings, before its weights are loaded.

        Raises:
            ValueError: see the class.
        """
        with explain_unreadable_checkpoint(checkpoint):
            saved = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
            kept = saved["callbacks"][self.state_key]
        self.load_state_dict(kept)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        checkpoint_settings = convert_settings(state_dict["settings"])
        differences = [
            f"{name}={checkpoint_settings.get(name)!r}, not {self.settings.get(name)!r}"
            for name in sorted(checkpoint_settings.keys() | self.settings.keys())
            if checkpoint_settings.get(name) != self.settings.get(name)
        ]
        if differences:
            raise ValueError(
                f"the checkpoint to resume from is of a training with {'; '.join(differences)}: resume with the same "
                "settings, or start anew without --resume"
            )


class ValidateLastStep(lightning.Callback):
    """Scores the weights of the step that `max_steps` ends a training with, also in the middle of an epoch."""

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == trainer.max_steps:
            trainer.should_stop = True  # Lightning then validates before it stops


class StayStopped(lightning.Callback):
    """Lets a run that early stopping has ended train no further epoch when it is resumed."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if any(stopping.wait_count >= stopping.patience for stopping in trainer.early_stopping_callbacks):
            trainer.should_stop = True


class PruneByValidationScore(lightning.Callback):
    """Ends a training that is not worth going on with, by the score of validation after each epoch but the last.

    Args:
        score: Logged name of the validation score; a training that does not log it is never stopped.
        judge: Function from the number of epochs and the score to the reason why training stops; None: it continues.

    Raises:
        TrainingPruned: when it ends; the message is what `judge` gave.
    """

    def __init__(self, score: str, judge: Callable[[int, float], str | None]) -> None:
        self.score, self.judge = score, judge

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        score, epochs = trainer.callback_metrics.get(self.score), trainer.current_epoch + 1
        if score is None or epochs == trainer.max_epochs:
            return
        why = self.judge(epochs, float(score))
        if why is not None:
            raise TrainingPruned(why)


_JUDGES: ContextVar[tuple[PruneByValidationScore, ...]] = ContextVar("judges of the trainings of a block", default=())


@contextmanager
def stop_training_by_judge(score: str, judge: Callable[[int, float], str | None]) -> Iterator[None]:
    """Within this context, let `judge` end trainings by their validation scores; see `PruneByValidationScore`."""
    token = _JUDGES.set((PruneByValidationScore(score, judge),))
    try:
        yield
    finally:
        _JUDGES.reset(token)


def get_judge_callbacks() -> tuple[PruneByValidationScore, ...]:
    """Return the callbacks that `stop_training_by_judge` adds to trainers; none outside of it."""
    return _JUDGES.get()


def _find_csv_loggers(trainer: Any) -> list[Any]:
    """Return the loggers of a trainer that write CSV files."""
    return [logger for logger in trainer.loggers if isinstance(logger, CSVLogger)]


class StopOnInterrupt(lightning.Callback):
    """First of `SIGNALS`: finish the step, write `checkpoint`, raise `TrainingInterrupted`; a second acts at once.

    After the last batch of an epoch its validation is finished too, and `ResumeCheckpoint` writes what is left. Leaving
    by an exception, not by `trainer.should_stop`, keeps Lightning from counting an open epoch as done: a resumed run
    would begin the next one. Belongs behind every callback that changes state at the end of a batch. SIGUSR1 is what
    SLURM is often told to send before the time of a job is over; Lightning would write a checkpoint of its own then,
    into the current folder, which a later training there would take for its own.
    """

    SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name))

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.stops = False  # behind the epoch that ends
        self._asked = False
        self._handlers: dict[int, Any] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._asked = self.stops = False
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may set handlers
        for number in self.SIGNALS:
            self._handlers[number] = signal.signal(number, self._request_stop)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if not trainer.is_last_batch and self._is_stop_requested(trainer):
            trainer.save_checkpoint(self.checkpoint)
            self._raise_interrupted(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.stops = self._is_stop_requested(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        # Who asks from here on waits for a step, behind which there is a checkpoint.
        if self.stops:
            self._raise_interrupted(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._restore_signal_handlers()
        if self._is_stop_requested(trainer):
            self._raise_interrupted(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._restore_signal_handlers()

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        """Ask for a stop after the current step; the next signal stops at once, as without this callback."""
        self._asked = True
        self._restore_signal_handlers()
        rank_zero_info("stopping after this step; press Ctrl-C again to stop at once")

    def _is_stop_requested(self, trainer: Any) -> bool:
        """Return whether a process of the training was asked to stop, the same in all of them."""
        # A signal may reach the processes in different steps; they must stop in the same one.
        return bool(trainer.strategy.reduce_boolean_decision(self._asked, all=False))

    def _raise_interrupted(self, trainer: Any) -> NoReturn:
        """Raise `TrainingInterrupted`, which names the step after which the training stopped."""
        raise TrainingInterrupted(f"stopped after step {trainer.global_step}; resuming goes on")

    def _restore_signal_handlers(self) -> None:
        """Restore the signal handlers from before the training."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}
