"""The Trainer of a recipe: callbacks, checkpoints, logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, Timer
from lightning.pytorch.callbacks.progress import TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger

from ctxzoo.data.bucketing import disable_distributed_sharding
from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.data.notices import print_once
from ctxzoo.training.allocator import KeepFreedMemory
from ctxzoo.training.callbacks import (
    AtomicCheckpointIO,
    ExponentialMovingAverage,
    KeepCsvRows,
    ResumeCheckpoint,
    SameSettings,
    StayStopped,
    StepSeed,
    StopOnInterrupt,
    ValidateLastStep,
    get_judge_callbacks,
)
from ctxzoo.training.libraries import check_wandb, hide_library_messages
from ctxzoo.training.process_group import destroy_process_group_at_exit
from ctxzoo.training.remaining_time import PrintRemainingTime

LAST, BEST = "last.ckpt", "best.ckpt"
CSV_LOG = Path("logs", "csv", "metrics.csv")  # below the folder of a run


@dataclass(frozen=True)
class TrainerSettings:
    """How to train, whatever the task.

    Attributes:
        epochs: Maximum number of passes over the training data.
        max_steps: Maximum number of training steps, the last of which is validated; -1: no limit.
        max_minutes: Minutes of training after which it stops at the end of the running epoch; None: no limit.
        precision: Precision as Lightning names it: 32-true, bf16-mixed or 16-mixed; auto: what suits the device.
        gradient_clip: Largest norm of the gradient, above which it is scaled down; 0: no clipping.
        ema_decay: Decay of the exponential moving average of the weights; 0: no average.
        patience: Consecutive epochs without a better validation score after which training stops early; 0: never.
        checkpoint_every: Number of training steps between checkpoints from which an interrupted run can resume.
        seed: Seed of the random initial weights, batch order and dropout.
        accelerator, devices, num_nodes, strategy: Kind and number of devices, number of machines, and distributed
            strategy, as Lightning's Trainer takes them.
        tensorboard, wandb: Whether logs are also written for TensorBoard and for Weights & Biases, beside CSV.
        progress: Whether a progress bar is shown.
        tell_time: Whether the expected duration of the training, and its progress now and then, are printed.
        limit_train_batches, limit_eval_batches: Largest number of batches of an epoch in training and in evaluation;
            None: all.
    """

    epochs: int = 30
    max_steps: int = -1
    max_minutes: float | None = None
    precision: str = "auto"
    gradient_clip: float = 5.0
    ema_decay: float = 0.999
    patience: int = 0
    checkpoint_every: int = 200
    seed: int = 224
    accelerator: str = "auto"
    devices: int | str = "auto"
    num_nodes: int = 1
    strategy: str = "auto"
    tensorboard: bool = True
    wandb: bool = False
    progress: bool = True
    tell_time: bool = False
    limit_train_batches: int | None = None
    limit_eval_batches: int | None = None

    def count_training_steps(self, data: Any, processes: int) -> int:
        """Return how many steps a training takes if it runs to its last epoch.

        Args:
            data: DataModule after its `setup`.
            processes: Number of processes that train together.
        """
        with disable_distributed_sharding():  # else a second training in one program would divide twice
            batches = len(data.train_dataloader()) // processes
        limit = self.limit_train_batches
        steps = self.epochs * (batches if limit is None else min(limit, batches))
        return steps if self.max_steps < 0 else min(steps, self.max_steps)


def build_trainer(
    settings: TrainerSettings,
    folder: Path,
    monitor: str | None,
    *,
    lower_is_better: bool = False,
    resumed_with: Mapping[str, Any] | None = None,
) -> lightning.Trainer:
    """Build a Lightning Trainer that saves the best epoch as `best.ckpt` and the last state as `last.ckpt`.

    Without `monitor` the last epoch is taken for the best. Logs go to `folder`/logs.

    Args:
        settings: Settings of the training: epochs, precision, device, logging.
        folder: Folder of the run, into which checkpoints and logs are written.
        monitor: Logged name of the score that selects the best epoch, such as "validation/f1"; None: the last epoch is
            taken.
        lower_is_better: Whether a lower score is better, as of a loss.
        resumed_with: Settings that must be equal when the run is resumed, by name, as in `SameSettings`.

    Raises:
        ValueError: patience without a score to wait for.
        ImportError: W&B is requested and not installed; the message names the extra.
    """
    check_folder_is_writable(folder)
    destroy_process_group_at_exit()
    hide_library_messages()
    mode = "min" if lower_is_better else "max"
    checkpoints = folder / "lightning"
    callbacks: list[Any] = [
        StepSeed(settings.seed),
        KeepFreedMemory(),
        Timer(None if settings.max_minutes is None else timedelta(minutes=settings.max_minutes), interval="epoch"),
        SameSettings(resumed_with or {}),
    ]
    if settings.ema_decay:
        callbacks.append(ExponentialMovingAverage(settings.ema_decay))
    if settings.patience:
        if monitor is None:
            raise ValueError(f"patience={settings.patience} needs validation data; hold some out, or set patience=0")
        callbacks += [EarlyStopping(monitor, mode=mode, patience=settings.patience), StayStopped()]
    callbacks += [
        KeepCsvRows(folder / CSV_LOG),
        ValidateLastStep(),
        StopOnInterrupt(checkpoints / LAST),
        ModelCheckpoint(
            dirpath=checkpoints, filename=Path(BEST).stem, monitor=monitor, mode=mode, enable_version_counter=False
        ),
        ResumeCheckpoint(checkpoints / LAST, every=settings.checkpoint_every),
        *get_judge_callbacks(),
    ]
    if settings.tell_time:
        callbacks.append(PrintRemainingTime())
    if settings.progress:
        callbacks.append(TQDMProgressBar(refresh_rate=10))
    return lightning.Trainer(
        default_root_dir=folder,  # in a job of SLURM, checkpoints of others are looked for there
        max_epochs=settings.epochs,
        max_steps=settings.max_steps,
        precision=choose_precision(settings.precision, settings.accelerator),  # type: ignore[arg-type, unused-ignore]
        gradient_clip_val=settings.gradient_clip or None,
        accelerator=settings.accelerator,
        devices=int(settings.devices) if str(settings.devices).isdigit() else settings.devices,
        num_nodes=settings.num_nodes,
        strategy=settings.strategy,
        callbacks=callbacks,
        plugins=[AtomicCheckpointIO()],
        logger=build_loggers(settings, folder / "logs"),
        limit_train_batches=settings.limit_train_batches,
        limit_val_batches=settings.limit_eval_batches,
        limit_test_batches=settings.limit_eval_batches,
        num_sanity_val_steps=0,
        # Without validation the loss is the only curve, even in a training of a few steps.
        log_every_n_steps=20 if monitor else 1,
        # The samplers of ctxzoo.data distribute batches among processes themselves.
        use_distributed_sampler=False,
        enable_progress_bar=settings.progress,
        enable_model_summary=settings.progress,
    )


def count_processes(settings: TrainerSettings) -> int:
    """Return how many processes will train with these settings, one for each device."""
    devices = str(settings.devices)
    if devices.isdigit():
        number = int(devices)
    elif devices in ("auto", "-1"):
        on_gpus = settings.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()
        number = torch.cuda.device_count() if on_gpus else 1
    else:  # their numbers
        number = len([one for one in devices.split(",") if one.strip()])
    return number * settings.num_nodes


def build_loggers(settings: TrainerSettings, folder: Path) -> list[Logger]:
    """Return the loggers of a training: CSV always, TensorBoard if installed, Weights & Biases on request.

    Raises:
        ImportError: W&B is not installed; the message names the extra.
    """
    loggers: list[Logger] = [CSVLogger(folder, name="csv", version="")]
    if settings.tensorboard:
        try:
            from lightning.pytorch.loggers import TensorBoardLogger

            loggers.append(TensorBoardLogger(folder, name="tensorboard", version=""))
        except ImportError:
            print_once("without TensorBoard logs: pip install tensorboard")
    if settings.wandb:
        check_wandb()
        from lightning.pytorch.loggers import WandbLogger

        loggers.append(WandbLogger(project="ctxzoo", save_dir=folder))
    return loggers


def choose_precision(requested: str, accelerator: str = "auto") -> str:
    """Return the requested precision; for "auto" bf16-mixed if the device has fast bfloat16, else 32-true."""
    if requested != "auto":
        return requested
    if accelerator != "cpu" and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported(including_emulation=False) else "16-mixed"
    capabilities = torch.backends.cpu.get_cpu_capability()
    has_bf16 = "AVX512" in capabilities and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return "bf16-mixed" if has_bf16 else "32-true"


def get_training_seconds(trainer: lightning.Trainer) -> float:
    """Return the seconds spent in training, over all resumed parts."""
    timer = next(callback for callback in trainer.callbacks if isinstance(callback, Timer))
    return float(timer.time_elapsed("train"))
