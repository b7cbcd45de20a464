"""What trainings of models of sequences share: from a user's own rows to a run, and what is typed to use it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxzoo.data.own_splits import OwnRows
from ctxzoo.hub.saved_model import read_saved_model
from ctxzoo.runs.train import ZooRun
from ctxzoo.runs.training_request import Loaded, TrainingRequest, gathered
from ctxzoo.tasks.sequences.evaluation import with_unknown_targets
from ctxzoo.tasks.sequences.kinds import EventColumns, SequenceKind
from ctxzoo.tasks.sequences.reader import check_sequences, load_sequences, sequence_groups
from ctxzoo.training.task import ZooTask


def own_sequences(request: TrainingRequest, kind: SequenceKind) -> OwnRows:
    """Return the sequences of a user; those that are equal stay together.

    Args:
        request: of the user; its columns are those of `EventColumns`.
        kind: of the sequences.

    Raises:
        OSError, ValueError: see `gathered` and `check_sequences`.
    """
    given = {name.removesuffix("_column"): value for name, value in request.columns.items() if value is not None}
    columns = EventColumns(**given)

    def loaded(source: str) -> Loaded:
        splits = load_sequences(kind, source, request.data_dir, columns)
        return splits, dict.fromkeys(splits, source)

    splits, _ = gathered(request, loaded)
    checked = check_sequences(kind, splits, origin=request.data)
    return OwnRows(splits=checked.splits, **vars(sequence_groups(kind, checked)))


def typed_history(checkpoint: Path, between: str, ends: Sequence[str]) -> str:
    """Return a history of the first names of a checkpoint, quoted for a shell.

    Args:
        checkpoint: Folder.
        between: What stands between names, and in none of those that are shown.
        ends: What stands behind each name; as many names are shown, or the only one again.
    """
    config: Any = read_saved_model(str(checkpoint)).config
    names = [name for name in config.names() if between not in name][: len(ends)] or config.names()[:1]
    shown = [names[min(place, len(names) - 1)] + end for place, end in enumerate(ends)]
    return shlex.quote(f" {between} ".join(shown))


@dataclass(frozen=True, kw_only=True)
class NextItemRun(ZooRun):
    """All that decides one training; see `TrainingRun` and `ZooRun`.

    Attributes:
        counts_unknown: Whether a target that is not in the training is a miss, as it is for a user; the published
            results are over known targets alone.
    """

    counts_unknown: bool = True

    def build_data(self) -> Any:
        """Return the data, before `setup`; where a checkpoint goes on, with things in the rows that it has for them."""
        if self.pretrained is None:
            return super().build_data()
        config: Any = read_saved_model(self.pretrained).config
        return self.data_class(**{**self.data, self.data_class.kind.names_argument: config.names()})

    def build_task(self, data: Any, processes: int) -> ZooTask:
        build: Any = self.task_class
        task: ZooTask = build(**self.start(data), **self.schedule(data, processes), **self.task)
        task.model.config.max_history = data.max_length
        return task

    def score(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
        return {
            split: with_unknown_targets(scores, data.targets[split], data.unknown_targets[split], self.counts_unknown)
            for split, scores in super().score(task, data, splits).items()
        }
