"""A training of an architecture of the zoo: its config from settings and data, and the checkpoint folder it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lightning

from ctxzoo.runs.finish import finish_run
from ctxzoo.runs.train import TrainingRun


@dataclass(frozen=True, kw_only=True)
class ZooRun(TrainingRun):
    """All that decides one training; see `TrainingRun`.

    Attributes:
        config: fields of the model's config with its `model_type`; what the data decides is added, see `model_config`.
        push_to: Hub repository that receives the checkpoint folder.
    """

    config: dict[str, Any]
    push_to: str | None = None

    def model_config(self, data: Any) -> dict[str, Any]:
        """The whole config of the model, on data after `setup`."""
        return {**self.config, **data.model_sizes()}

    def finish(
        self,
        task: Any,
        data: Any,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
    ) -> None:
        finish_run(task, data, trainer, scores, self.spec, self.card, self.push_to)
