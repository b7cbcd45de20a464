"""`CountedRun`: a simple model, counted or fitted in a moment, from the data of an experiment to a results file."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.results.result import write_result_file
from ctxzoo.runs.experiment import Experiment, ModelArgs, OptimizerArgs, TrainerArgs
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.run import Run

ARCHITECTURE = "counts"
COUNTS = ModelArgs(architecture=ARCHITECTURE, variant="")  # of a study whose rows say what is counted


@dataclass(frozen=True)
class SimpleModel:
    """A model that was counted or fitted.

    Attributes:
        numbers: Number of parameters or counts that the model stores, reported as its parameter count.
        scores_of: Function from the name of a split to its scores, a dict from metric name to value.
        metrics: Further numbers for the results file beside the scores, by name.
    """

    numbers: int
    scores_of: Callable[[str], dict[str, float]]
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CountedRun(Run):
    """A simple model that is fitted to `train` and scored on the split of its experiment.

    Its identity is its data: values of data that are in neither list below, and all of optimizer and trainer, decide
    nothing.

    Attributes:
        architecture: Name under which results files report the architecture of such models, such as "counts".
        reads: Names of the data settings, such as "lower_case", that decide the result.
        columns: Names of the data settings that name columns of the source, which decide nothing once a user's own rows
            are written.
        goes_on: Whether the model uses the `init_from` checkpoint from which the network beside it continues training.
        tiny_rows: Largest number of rows that a tiny trial run is fitted to; None: all.
        problem: Problem, such as text classification, that the run solves.
        experiment: Experiment that gives data, split, seed and folders; its `model.variant` names the simple model.
    """

    architecture: ClassVar[str] = ARCHITECTURE
    reads: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[str, ...]] = ()
    goes_on: ClassVar[bool] = False
    tiny_rows: ClassVar[int | None] = None

    problem: Problem
    experiment: Experiment

    @classmethod
    def build_experiment(cls, experiment: Experiment, variant: str) -> Experiment:
        """Build the experiment of a simple model from another experiment, of which it keeps only the data.

        Args:
            experiment: Experiment of any model on the same data, whose data settings are copied.
            variant: Name of the baseline's variant.
        """
        data_names = ("dataset", "rows", "named", "streaming", *cls.reads, *cls.columns)
        return replace(
            experiment,
            data=type(experiment.data)(**{name: getattr(experiment.data, name) for name in data_names}),
            model=ModelArgs(architecture=cls.architecture, variant=variant),
            optimizer=OptimizerArgs(),
            trainer=TrainerArgs(tiny=experiment.trainer.tiny),
            start=type(experiment.start)(init_from=experiment.start.init_from if cls.goes_on else None),
        )

    @property
    def max_rows(self) -> int | None:
        """The largest number of rows that the model is fitted to; None for all."""
        return self.tiny_rows if self.experiment.trainer.tiny else None

    @property
    def card(self) -> TaskCard:  # type: ignore[override]
        """The writer of model cards of the problem."""
        return self.problem.card

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the baseline reads, for the result file."""
        told = self.experiment.settings()
        start = {} if told["init_from"] is None else {"init_from": told["init_from"]}
        return {**{name: told[name] for name in self._setting_names}, **start, **self.get_model_settings()}

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the settings that the baseline reads."""
        return {name: value for name, value in self.experiment.class_defaults().items() if name in self._setting_names}

    @property
    def _setting_names(self) -> tuple[str, ...]:
        """The names of the settings that the baseline reads; rows in files of our own have no column names."""
        data = self.experiment.data
        return (*self.reads, *(() if data.rows else self.columns), *(("streaming",) if data.streaming else ()))

    def get_model_settings(self) -> Mapping[str, Any]:
        """Return settings of the simple model itself, which the results file reports beside those of its data."""
        return {}

    def build_data_module(self) -> Any:
        """Build the DataModule of the experiment, before `setup`."""
        return self.problem.build_data_module(self.experiment)

    @abstractmethod
    def fit(self, data: Any) -> SimpleModel:
        """Fit the simple model to the training rows of a DataModule after `setup`."""

    def work(self, *, resume: bool) -> None:
        """Fit the simple model, score it and write the result file."""
        score = self.experiment.score
        data = self.build_data_module()
        data.setup()
        data.get_split(dict.fromkeys(data.splits), score)  # where there is no such split, an error now
        started = time.perf_counter()
        model = self.fit(data)
        seconds = time.perf_counter() - started
        scores = {f"{score}/{name}": value for name, value in model.scores_of(score).items()}
        result = self.build_result(
            metrics={**scores, **model.metrics},
            parameters={"trainable": model.numbers, "total": model.numbers},
            fingerprint=data.fingerprint,
            seconds=seconds,
        )
        write_result_file(result, self.results_file)
