"""One training, from its experiment to results file and checkpoint folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lightning

from ctxzoo.data.bucketing import disable_distributed_sharding
from ctxzoo.data.files import write_atomically
from ctxzoo.hub.card import CardOptions
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.command_line import format_settings
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.run import Run
from ctxzoo.training.callbacks import SameSettings
from ctxzoo.training.process_group import check_batches_for_processes, run_in_first_process
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer, count_processes

SETTINGS_FILE = "experiment.yaml"  # in the folder of a run: --config with it starts the run again


@dataclass(frozen=True)
class ExperimentRun(Run):
    """One training of an experiment.

    Attributes:
        problem: Problem, such as text classification, that the run solves.
        experiment: Experiment, the settings that identify the training.
        card_options: User's choices for the model card: example, licence, language; None: none.
        typed: YAML text of the settings as typed, saved in the run's folder; None: written from the experiment.

    Raises:
        OSError: see `Problem.fill_in_settings`.
        ValueError: see `Problem.check` and `Problem.fill_in_settings`.
    """

    problem: Problem
    experiment: Experiment
    card_options: CardOptions | None = None
    typed: str | None = None

    def __post_init__(self) -> None:
        self.problem.check(self.experiment)
        number = count_processes(self.trainer)
        object.__setattr__(
            self, "experiment", self.problem.fill_in_settings(self.experiment).copy_with(world_size=number)
        )

    @property
    def card(self) -> TaskCard:  # type: ignore[override]
        """The writer of model cards of the problem."""
        return self.problem.card

    @property
    def file_name_part(self) -> str:
        """Part of the names of results files beside the dataset, such as a configuration of it; empty: none."""
        return self.problem.get_file_name_part(self.experiment)

    @property
    def split(self) -> str:
        """The split whose scores are reported."""
        return self.problem.get_reported_split(self.experiment)

    @property
    def implied_values(self) -> dict[str, Any]:
        """The values of settings that follow from others, by name."""
        return self.problem.get_implied_values(self.experiment)

    @property
    def folder(self) -> Path:
        """The folder of the run's files, under the name that the problem gives it."""
        folder, name = super().folder, self.problem.get_folder_name(self.experiment)
        return folder if name is None else folder.with_name(name)

    @property
    def trainer(self) -> TrainerSettings:
        """The settings of Lightning's `Trainer`."""
        settings: TrainerSettings = self.experiment.build_trainer_settings()
        return settings

    @property
    def task_class(self) -> type[ZooTask]:
        """The `LightningModule` class of the problem."""
        return self.problem.module_class

    @property
    def monitor(self) -> str:
        """The validation score by which the best epoch is chosen."""
        chosen = self.experiment.trainer.monitor
        return f"validation/{chosen}" if chosen else self.task_class.monitor

    @property
    def same_when_resumed(self) -> Mapping[str, Any]:
        """The settings that must be the same when the training is resumed."""
        return self.experiment.same_when_resumed()

    def work(self, *, resume: bool) -> None:
        """Write the settings to a file, then train as the problem does.

        Raises:
            OSError, ValueError, FloatingPointError, TrainingInterrupted: see `Problem.train`.
        """
        text = format_settings(self.experiment, {}) if self.typed is None else self.typed
        write_atomically(self.folder / SETTINGS_FILE, text.encode())
        self.problem.train(self, resume=resume)

    def fit(self, *, resume: bool) -> None:
        """Train with Lightning's Trainer, score the best weights and write what the run leaves.

        Raises:
            ValueError: the data has no rows of the split to score; fewer batches than processes that train together;
                the run to resume has other settings.
            TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
        """
        data = self.build_data()
        data.prepare_data()
        data.setup()
        data.split_dataloader(self.split)  # scored at the end: where there is none, an error now
        last, best = (self.folder / "lightning" / file for file in (LAST, BEST))
        scored = tuple(split for split in dict.fromkeys(("validation", self.split)) if split in data.splits)
        monitor = self.monitor if "validation" in scored else None  # None: the last is the best
        trainer = build_trainer(
            self.trainer,
            self.folder,
            monitor,
            lower_is_better=self.task_class.is_lower_better(monitor),
            resumed_with=self.same_when_resumed,
        )
        check_batches_for_processes(data, scored, trainer.world_size)
        lightning.seed_everything(self.experiment.seed, verbose=False)
        task = self.build_task(data, trainer.world_size)
        go_on = resume and last.exists()
        if go_on:
            SameSettings(self.same_when_resumed).refuse_other_settings(last)
        trainer.fit(task, data, ckpt_path=last if go_on else None, weights_only=True if go_on else None)
        task.load_weights(best)
        scores = self.score(task, data, scored)
        with disable_distributed_sharding():  # a Trainer that scores works in all processes or in none
            per_example = self.problem.collect_scores_per_example(task, data, tuple(scores))
        run_in_first_process(lambda: self.finish(task, data, trainer, scores, per_example))

    def copy_without_progress_bar(self) -> ExperimentRun:
        """Return a copy of the run that shows no progress bar but reports the settings as typed."""
        typed = format_settings(self.experiment, {}) if self.typed is None else self.typed
        return replace(self, experiment=self.experiment.copy_with(progress=False), typed=typed)

    def build_data(self) -> Any:
        """Build the DataModule of the experiment."""
        return self.problem.build_data_module(self.experiment)

    def build_task(self, data: Any, processes: int) -> ZooTask:
        """Build the `LightningModule` of the experiment; `processes` is how many train together."""
        return self.problem.build_module(self.experiment, data, processes)

    def score(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """Return the scores of each of the splits, by split and metric name."""
        return self.problem.score(self.experiment, task, data, splits)

    def finish(
        self,
        task: Any,
        data: Any,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
        per_example: dict[str, list[float]],
    ) -> None:
        """Let the problem write the checkpoint folder and the result file."""
        self.problem.finish(self, task, data, trainer, scores, per_example)
