"""Ctrl-C ends the training after the running step, with a checkpoint of that step."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import lightning
from lightning.pytorch.utilities.rank_zero import rank_zero_info


class StopOnInterrupt(lightning.Callback):
    """First SIGINT or SIGTERM: finish the step, write `checkpoint`, stop. A second one interrupts at once.

    Attributes:
        interrupted: whether the training was ended so.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.interrupted = False
        self._handlers: dict[int, Any] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            self._handlers[number] = signal.signal(number, self._ask_to_stop)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.interrupted and not trainer.should_stop:
            trainer.should_stop = True
            trainer.save_checkpoint(self.checkpoint)
            rank_zero_info(f"stopped after step {trainer.global_step}; go on with --resume")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._give_back()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._give_back()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        self._give_back()
        rank_zero_info("stopping after this step; press Ctrl-C again to stop at once")

    def _give_back(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}
