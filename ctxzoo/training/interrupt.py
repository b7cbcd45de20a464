"""Ctrl-C ends the training after the running step, with a checkpoint of that step."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import lightning
from lightning.pytorch.utilities.rank_zero import rank_zero_info

from ctxzoo.training.interrupted import TrainingInterrupted


class StopOnInterrupt(lightning.Callback):
    """First SIGINT or SIGTERM: finish the step, write `checkpoint`, raise `TrainingInterrupted`; a second acts at once.

    After the last batch of an epoch its validation is finished too, and the checkpoint of the epoch's end is what is
    left. Leaving by an exception, not by `trainer.should_stop`, keeps Lightning from counting an open epoch as done: a
    resumed run would begin the next one. Belongs behind every callback that changes state at the end of a batch.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self._asked = False
        self._handlers: dict[int, Any] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._asked = False
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            self._handlers[number] = signal.signal(number, self._ask_to_stop)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if not trainer.is_last_batch and self._is_asked(trainer):
            trainer.save_checkpoint(self.checkpoint)
            self._stop(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._is_asked(trainer):
            self._stop(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._give_back()
        if self._is_asked(trainer):
            self._stop(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._give_back()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        self._give_back()
        rank_zero_info("stopping after this step; press Ctrl-C again to stop at once")

    def _is_asked(self, trainer: Any) -> bool:
        # A signal may reach the processes in different steps; they must stop in the same one.
        return bool(trainer.strategy.reduce_boolean_decision(self._asked, all=False))

    def _stop(self, trainer: Any) -> NoReturn:
        raise TrainingInterrupted(f"stopped after step {trainer.global_step}; resuming goes on")

    def _give_back(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}
