"""What Lightning does not carry over into a resumed run by itself."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.loggers import CSVLogger


class KeepCsvRows(lightning.Callback):
    """Begins the CSV log of a resumed run with the rows of its earlier parts; Lightning begins with an empty file.

    Create it before the training starts: Lightning removes the file then.

    Args:
        path: the log.
    """

    def __init__(self, path: Path) -> None:
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                self.rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(file)]

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        # Later rows are of steps that are done again; a row without a step was torn off.
        kept = [row for row in self.rows if row.get("step", "").isdigit()]
        kept = [row for row in kept if int(row["step"]) < checkpoint["global_step"]]
        if trainer.is_global_zero:
            for logger in _csv_loggers(trainer):
                logger.experiment.metrics[:0] = kept
                logger.save()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        for logger in _csv_loggers(trainer):
            logger.save()


class SameSettings(lightning.Callback):
    """Refuses to resume a run with other settings than it began with: half of it would be of others.

    It may become longer: `epochs` and `patience` are free.

    Args:
        settings: what decides the result; must be plain enough for JSON.

    Raises:
        ValueError: when a checkpoint of other settings is resumed from; the message names them.
    """

    FREE = frozenset({"epochs", "patience"})

    def __init__(self, settings: Mapping[str, Any]) -> None:
        kept = {name: value for name, value in settings.items() if name not in self.FREE}
        self.settings: dict[str, Any] = json.loads(json.dumps(kept))

    def state_dict(self) -> dict[str, Any]:
        return {"settings": self.settings}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        theirs = state_dict["settings"]
        other = [
            f"{name}={theirs.get(name)!r}, not {self.settings.get(name)!r}"
            for name in sorted(theirs.keys() | self.settings.keys())
            if theirs.get(name) != self.settings.get(name)
        ]
        if other:
            raise ValueError(
                f"the checkpoint to resume from is of a training with {'; '.join(other)}: resume with the same "
                "settings, or start anew without --resume"
            )


class StayStopped(lightning.Callback):
    """Lets a run that early stopping has ended train no further epoch when it is resumed."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if any(stopping.wait_count >= stopping.patience for stopping in trainer.early_stopping_callbacks):
            trainer.should_stop = True


def _csv_loggers(trainer: Any) -> list[Any]:
    return [logger for logger in trainer.loggers if isinstance(logger, CSVLogger)]
