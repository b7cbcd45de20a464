"""One training, from plain settings to results file and checkpoint folder; of models of the zoo, of classifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import lightning

from ctxzoo.data.files import write_atomically
from ctxzoo.hub.card import CardOptions
from ctxzoo.hub.card_facts import check_architecture
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.runs.command_line import written_settings
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.finish import finish_run
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.training.callbacks import SameSettings
from ctxzoo.training.process_group import check_batches, in_first_process
from ctxzoo.training.scoring import score_splits
from ctxzoo.training.task import ZooTask
from ctxzoo.training.trainer import BEST, LAST, TrainerSettings, build_trainer, number_of_processes

SETTINGS_FILE = "experiment.yaml"  # in the folder of a run: --config with it starts the run again
PROCESSES = "processes"  # the setting that tells how many train together


class Training(Run):
    """One training, in values that can be sent to another process; a subclass says of what.

    Attributes:
        trainer: how to train; its seed is that of the run.
        task_class: the LightningModule.
    """

    if TYPE_CHECKING:  # fields of some, properties of others

        @property
        def trainer(self) -> TrainerSettings: ...

        @property
        def task_class(self) -> type[ZooTask]: ...

    @property
    def monitor(self) -> str:
        """The score that picks the best epoch, where there is validation data."""
        return self.task_class.monitor

    @property
    def same_when_resumed(self) -> Mapping[str, Any]:
        """The settings that must be the same when the training is resumed."""
        return self.spec.settings

    def check(self) -> None:
        """Refuse, before anything is read or trained, what would only fail when the training is over."""

    @abstractmethod
    def build_data(self) -> Any:
        """Return the DataModule, before `setup`."""

    @abstractmethod
    def build_task(self, data: Any, processes: int) -> ZooTask:
        """Return the task with its model as it starts.

        Args:
            data: after `setup`.
            processes: number of those that train together.
        """

    def score(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """Return split to scores of the finished model."""
        return score_splits(task, data, splits, progress=False)

    @abstractmethod
    def finish(self, task: Any, data: Any, trainer: lightning.Trainer, scores: dict[str, dict[str, float]]) -> None:
        """Write the checkpoint folder of the best weights, and the results file."""

    def work(self, *, resume: bool) -> None:
        """Train, score and write everything down.

        Raises:
            ValueError: an architecture without facts for its card; the data has no rows of the split to score; fewer
                batches than processes that train together; the run to resume has other settings.
            TrainingInterrupted: Ctrl-C; a checkpoint to resume from is there.
        """
        self.check()
        data = self.build_data()
        data.prepare_data()
        data.setup()
        data.split_dataloader(self.spec.score)  # scored at the end: where there is none, an error now
        last, best = (self.spec.folder / "lightning" / file for file in (LAST, BEST))
        scored = tuple(split for split in dict.fromkeys(("validation", self.spec.score)) if split in data.splits)
        monitor = self.monitor if "validation" in scored else None  # None: the last is the best
        trainer = build_trainer(
            self.trainer,
            self.spec.folder,
            monitor,
            lower_is_better=self.task_class.is_lower_better(monitor),
            resumed_with=self.same_when_resumed,
        )
        check_batches(data, scored, trainer.world_size)
        lightning.seed_everything(self.spec.seed, verbose=False)
        task = self.build_task(data, trainer.world_size)
        go_on = resume and last.exists()
        if go_on:
            SameSettings(self.same_when_resumed).check(last)
        trainer.fit(task, data, ckpt_path=last if go_on else None, weights_only=True if go_on else None)
        task.load_weights(best)
        scores = self.score(task, data, scored)
        in_first_process(lambda: self.finish(task, data, trainer, scores))


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Training):
    """All that decides one training, in values that can be sent to another process.

    A subclass says which model is trained, on which kind of data, and what it leaves beside the results file.

    Attributes:
        data_class, task_class: the DataModule, and the LightningModule, whose `monitor` picks the best epoch.
        spec: see `RunSpec`; its settings get the number of processes, if several train together.
        data: arguments of the `data_class`, `dataset` among them.
        task: arguments of the `task_class` beside the model.
        trainer: how to train; its seed is that of the run.
    """

    data_class: ClassVar[Any]
    task_class: ClassVar[type[ZooTask]]

    spec: RunSpec
    data: dict[str, Any]
    task: dict[str, Any]
    trainer: TrainerSettings

    def __post_init__(self) -> None:
        # Each of several processes takes a part of the batches, so that a step is another one; results of a single one,
        # which most are, do not tell it.
        others = {name: value for name, value in self.spec.settings.items() if name != PROCESSES}
        number = number_of_processes(self.trainer)
        settings = {**others, PROCESSES: number} if number > 1 else others
        object.__setattr__(self, "spec", replace(self.spec, settings=settings))

    def build_data(self) -> Any:
        return self.data_class(**self.data)


@dataclass(frozen=True, kw_only=True)
class ZooRun(TrainingRun):
    """All that decides one training; see `TrainingRun`.

    Attributes:
        config: fields of the model's config with its `model_type`; what the data decides is added, see `model_config`.
        pretrained: checkpoint folder or Hub id that the training goes on from, in place of `config`.
        decay: whether the learning rate falls linearly, to zero after the last step.
        warmup: fraction of the steps over which the rate rises linearly.
        best_by: the score of validation that picks the best epoch; None: the task's own.
        push_to: Hub repository that receives the checkpoint folder.
        card_options: What a user says of the card; None: nothing.
    """

    config: dict[str, Any]
    pretrained: str | None = None
    decay: bool = False
    warmup: float = 0.0
    best_by: str | None = None
    push_to: str | None = None
    card_options: CardOptions | None = None

    @property
    def monitor(self) -> str:
        return super().monitor if self.best_by is None else f"validation/{self.best_by}"

    @property
    def same_when_resumed(self) -> Mapping[str, Any]:
        # With a decay the number of epochs decides every step.
        epochs = {"epochs to decay in": self.spec.settings.get("epochs")} if self.decay else {}
        return {**self.spec.settings, **epochs}

    def start(self, data: Any) -> dict[str, Any]:
        """Return the arguments of the task that say how its model begins: `pretrained`, or `model_config`."""
        if self.pretrained is not None:
            return {"pretrained": self.pretrained}
        return {"model_config": self.model_config(data)}

    def schedule(self, data: Any, processes: int) -> dict[str, Any]:
        """Return the arguments of the task that follow from the number of steps; none where the rate is constant.

        Args:
            data: after `setup`.
            processes: number of those that train together.
        """
        steps = self.trainer.number_of_steps(data, processes)
        warmup = {"warmup_steps": round(self.warmup * steps)} if self.warmup else {}
        return {**warmup, **({"decay_steps": steps} if self.decay else {})}

    def model_config(self, data: Any) -> dict[str, Any]:
        """Return the whole config of the model, on data after `setup`."""
        return {**self.config, **data.model_sizes()}

    def check(self) -> None:
        check_architecture(self.spec.architecture)

    def per_example(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, list[float]]:
        """Return what the results file keeps of each example of the scored splits, see `RunResult`; none by default."""
        return {}

    def finish(
        self,
        task: Any,
        data: Any,
        trainer: lightning.Trainer,
        scores: dict[str, dict[str, float]],
    ) -> None:
        kept = self.per_example(task, data, tuple(scores))
        finish_run(task, data, trainer, scores, self.spec, self.card, self.push_to, kept, self.card_options)


@dataclass(frozen=True)
class ExperimentRun(Training):
    """One training of an experiment.

    Attributes:
        problem: What it solves.
        experiment: What decides it.
        card_options: What a user says of the card; None: nothing.
        typed: Settings as they were typed, YAML that its folder keeps; None: those of the experiment.

    Raises:
        OSError: see `Problem.resolve`.
        ValueError: see `Problem.check` and `Problem.resolve`.
    """

    problem: Problem
    experiment: Experiment
    card_options: CardOptions | None = None
    typed: str | None = None

    def __post_init__(self) -> None:
        self.problem.check(self.experiment)
        number = number_of_processes(self.trainer)
        object.__setattr__(self, "experiment", self.problem.resolve(self.experiment).changed(world_size=number))

    @property
    def card(self) -> TaskCard:  # type: ignore[override]
        return self.problem.card

    @property
    def spec(self) -> RunSpec:
        implied = self.problem.implied(self.experiment)
        return replace(self.experiment.spec, implied=implied, folder_name=self.problem.folder_name(self.experiment))

    @property
    def trainer(self) -> TrainerSettings:
        settings: TrainerSettings = self.experiment.trainer_settings()
        return settings

    @property
    def task_class(self) -> type[ZooTask]:
        return self.problem.module_class

    @property
    def monitor(self) -> str:
        chosen = self.experiment.trainer.monitor
        return f"validation/{chosen}" if chosen else super().monitor

    @property
    def same_when_resumed(self) -> Mapping[str, Any]:
        return self.experiment.same_when_resumed()

    def work(self, *, resume: bool) -> None:
        """Train, score and write everything down, the settings first; errors as of `Training.work`."""
        text = written_settings(self.experiment, {}) if self.typed is None else self.typed
        write_atomically(self.spec.folder / SETTINGS_FILE, text.encode())
        super().work(resume=resume)

    def build_data(self) -> Any:
        return self.problem.data_module(self.experiment)

    def build_task(self, data: Any, processes: int) -> ZooTask:
        return self.problem.module(self.experiment, data, processes)

    def score(self, task: Any, data: Any, splits: tuple[str, ...]) -> dict[str, dict[str, float]]:
        return self.problem.score(self.experiment, task, data, splits)

    def finish(self, task: Any, data: Any, trainer: lightning.Trainer, scores: dict[str, dict[str, float]]) -> None:
        self.problem.finish(self, task, data, trainer, scores)
