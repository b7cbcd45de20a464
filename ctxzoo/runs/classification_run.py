"""What the trainings of all classifiers of the zoo share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxzoo.runs.zoo_run import ZooRun
from ctxzoo.training.classification import label_fields


@dataclass(frozen=True, kw_only=True)
class ClassificationRun(ZooRun):
    """A training of a classifier of texts or words: its config names the labels of the data."""

    def model_config(self, data: Any) -> dict[str, Any]:
        return {**super().model_config(data), **label_fields(data.label_names)}
