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
        numbers: How many numbers it holds.
        scores_of: Function of the name of a split, which gives the scores on it.
        metrics: What the results file tells beside scores.
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
        architecture: Name of its kind in results.
        reads: Names of the values of data that decide what it finds.
        columns: Names of those that only name what is read, which rows of a user's own, once written, have no more.
        goes_on: Whether a checkpoint says what is known, where a training beside it goes on from one.
        tiny_rows: Rows to which a tiny one is fitted at most; None: all, as any other.
        problem: What it solves.
        experiment: Its data, split, seed and places; the variant of its model is what is counted, see `of`.
    """

    architecture: ClassVar[str] = ARCHITECTURE
    reads: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[str, ...]] = ()
    goes_on: ClassVar[bool] = False
    tiny_rows: ClassVar[int | None] = None

    problem: Problem
    experiment: Experiment

    @classmethod
    def of(cls, experiment: Experiment, variant: str) -> Experiment:
        """Return the experiment of a simple model on the data of another, of which nothing else is left.

        Args:
            experiment: What is trained on that data, or could be.
            variant: Name of the baseline's variant.
        """
        kept = ("dataset", "rows", "named", *cls.reads, *cls.columns)
        return replace(
            experiment,
            data=type(experiment.data)(**{name: getattr(experiment.data, name) for name in kept}),
            model=ModelArgs(architecture=cls.architecture, variant=variant),
            optimizer=OptimizerArgs(),
            trainer=TrainerArgs(tiny=experiment.trainer.tiny),
            start=type(experiment.start)(init_from=experiment.start.init_from if cls.goes_on else None),
        )

    @property
    def most_rows(self) -> int | None:
        """Rows to which it is fitted at most; None: all."""
        return self.tiny_rows if self.experiment.trainer.tiny else None

    @property
    def card(self) -> TaskCard:  # type: ignore[override]
        return self.problem.card

    @property
    def settings(self) -> dict[str, Any]:
        told = self.experiment.settings()
        start = {} if told["init_from"] is None else {"init_from": told["init_from"]}
        return {**{name: told[name] for name in self._names}, **start, **self.further_settings()}

    @property
    def defaults(self) -> dict[str, Any]:
        return {name: value for name, value in self.experiment.class_defaults().items() if name in self._names}

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.reads, *(() if self.experiment.data.rows else self.columns))

    def further_settings(self) -> Mapping[str, Any]:
        """Return what the results file tells beside its data, so that another number there is another result."""
        return {}

    def data_module(self) -> Any:
        """Return the DataModule, before `setup`."""
        return self.problem.data_module(self.experiment)

    @abstractmethod
    def fit(self, data: Any) -> SimpleModel:
        """Return the model, counted in the training rows of data after `setup`."""

    def work(self, *, resume: bool) -> None:
        score = self.experiment.score
        data = self.data_module()
        data.setup()
        data.part(dict.fromkeys(data.splits), score)  # where there is no such split, an error now
        started = time.perf_counter()
        model = self.fit(data)
        seconds = time.perf_counter() - started
        scores = {f"{score}/{name}": value for name, value in model.scores_of(score).items()}
        result = self.result(
            metrics={**scores, **model.metrics},
            parameters={"trainable": model.numbers, "total": model.numbers},
            fingerprint=data.fingerprint,
            seconds=seconds,
        )
        write_result_file(result, self.results_file)
