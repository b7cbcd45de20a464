"""One linear baseline on one fold or on a dataset's own splits, from plain settings to results file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import datasets
import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.tokenization_word import Cutter, build_word_tokenizer
from ctxzoo.results.result import RESULTS_DIR, RunResult, write_result_file
from ctxzoo.runs.run import Run
from ctxzoo.runs.spec import RunSpec
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear_baselines import chosen_cost, linear_baseline, number_of_weights

ARCHITECTURE = "linear"


@dataclass(frozen=True, kw_only=True)
class LinearRun(Run):
    """All that decides one run, in values that can be sent to another process.

    Attributes:
        recipe, seed, fold, commit: for the results file; the seed is that of the folds and of held-out rows.
        variant: a name that `linear_baseline` knows.
        dataset, data_dir, folds: as in `TextClassificationDataModule`; without `folds` and `fold` the dataset's own
            splits.
        data: further options of the data module that choose texts: `text_column`, `dev_share`, `min_words`, and
            `cutter`, which the baseline cuts its words with.
        score: what is scored: test, or validation to choose settings.
        tag: what tells its file from others on the same dataset.
        output_dir, results_dir: where to write.

    Raises:
        ValueError: one of `folds` and `fold` without the other.
    """

    card: ClassVar[TaskCard] = CARD

    recipe: str
    variant: str
    dataset: str
    seed: int
    commit: str
    folds: int | None = None
    fold: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    score: str = "test"
    tag: str = ""
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    def __post_init__(self) -> None:
        if (self.folds is None) != (self.fold is None):
            raise ValueError(
                f"folds={self.folds} and fold={self.fold}; give both, or none for the dataset's own splits"
            )

    @property
    def cutter(self) -> Cutter:
        """How the baseline cuts texts into words."""
        cutter: Cutter = self.data.get("cutter", "whitespace")
        return cutter

    @property
    def fitted(self) -> tuple[str, ...]:
        """The splits that the baseline is fitted on."""
        return tuple(split for split in ("train", "validation") if split != self.score)

    @property
    def spec(self) -> RunSpec:
        pipeline = " ".join(repr(linear_baseline(self.variant, self.cutter)).split())
        folds = {} if self.folds is None else {"folds": self.folds}
        return RunSpec(
            recipe=self.recipe,
            architecture=ARCHITECTURE,
            variant=self.variant,
            dataset=self.dataset,
            seed=self.seed,
            fold=self.fold,
            commit=self.commit,
            settings={**folds, "trained_on": " and ".join(self.fitted), "pipeline": pipeline, **self.data},
            score=self.score,
            tag=self.tag,
            output_dir=self.output_dir,
            results_dir=self.results_dir,
        )

    def work(self, *, resume: bool) -> None:
        """Fit on all rows of train and validation, score on those of test, write the results file.

        The folds are those of the neural models with the same seed. What these hold out as `validation` to pick their
        best epoch, or the dataset itself, is trained on here, unless it is what the run scores.

        Raises:
            ValueError: the data has no rows of the split to score.
        """
        write_result_file(_fit(self), self.spec.results_file)


def _fit(run: LinearRun) -> RunResult:
    data = TextClassificationDataModule.from_options(
        run.dataset,
        data_dir=run.data_dir,
        folds=run.folds,
        fold=run.fold or 0,
        fold_seed=run.seed,
        tokenizer=build_word_tokenizer([], cutter=run.cutter),  # a baseline has words of its own
        **run.data,
    )
    data.setup()
    training, testing = _fitted_texts(data, run.fitted), data.texts(run.score).select(data.rows(run.score))
    started = time.perf_counter()
    model = linear_baseline(run.variant, run.cutter).fit(training["text"][:], training["label"][:])
    seconds = time.perf_counter() - started
    predicted = model.predict(testing["text"][:])
    scores = {
        "accuracy": accuracy_score(testing["label"][:], predicted),
        "macro_f1": f1_score(testing["label"][:], predicted, average="macro", zero_division=0.0),
    }
    weights, cost = number_of_weights(model), chosen_cost(model)
    return run.spec.result(
        metrics={
            **{f"{run.score}/{name}": 100.0 * float(value) for name, value in scores.items()},
            **({} if cost is None else {"chosen_C": cost}),
        },
        parameters={"trainable": weights, "total": weights},
        fingerprint=data.fingerprint,
        seconds=seconds,
    )


def _fitted_texts(data: TextClassificationDataModule, splits: Sequence[str]) -> datasets.Dataset:
    """The rows of those splits that are there, train among them, in the order of the dataset."""
    rows = {split: data.rows(split) for split in splits if split in data.splits}
    if "validation" in rows and data.texts("validation") is data.texts("train"):
        return data.texts("train").select(np.sort(np.concatenate(list(rows.values()))))
    return datasets.concatenate_datasets([data.texts(split).select(of_split) for split, of_split in rows.items()])
