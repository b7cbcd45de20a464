"""One linear baseline on one fold or on a dataset's own splits, from plain settings to results file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from ctxzoo.data.writable import check_writable
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.tokenization_word import Cutter, build_word_tokenizer
from ctxzoo.results.environment import command_line, hardware, peak_memory_mb, public_name, versions
from ctxzoo.results.result import RESULTS_DIR, RunResult, finished_result, result_path, write_result
from ctxzoo.tasks.text_classification.card import CARD
from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.tasks.text_classification.linear_baselines import chosen_cost, linear_baseline, number_of_weights
from ctxzoo.training.full_disk import telling_of_full_disk
from ctxzoo.training.run_lock import locked_run

ARCHITECTURE = "linear"


@dataclass(frozen=True, kw_only=True)
class LinearRun:
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
        results_dir: where to write.

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
    def settings(self) -> dict[str, Any]:
        """What decides the result, as the results file tells it."""
        pipeline = " ".join(repr(linear_baseline(self.variant, self.cutter)).split())
        folds = {} if self.folds is None else {"folds": self.folds}
        return {**folds, "trained_on": " and ".join(self.fitted), "pipeline": pipeline, **self.data}

    @property
    def results_file(self) -> Path:
        """What the finished run leaves."""
        return result_path(
            self.results_dir,
            recipe=self.recipe,
            variant=self.variant,
            dataset=self.dataset,
            split=self.score,
            seed=self.seed,
            fold=self.fold,
            tag=self.tag,
        )


def fit_linear_baseline(run: LinearRun, *, resume: bool = False) -> RunResult:
    """Fit on all rows of train and validation, score on those of test, write the results file.

    The folds are those of the neural models with the same seed. What these hold out as `validation` to pick their best
    epoch, or the dataset itself, is trained on here, unless it is what the run scores.

    Args:
        run: what to do.
        resume: return the results of a finished run with the same settings.

    Raises:
        OSError: the results folder cannot be written, another process works on the run, or the disk is full.
        ValueError: the data has no rows of the split to score.
    """
    done = finished_result(run.results_file, run.settings) if resume else None
    if done is not None:
        return done
    folder = run.results_file.parent
    check_writable(folder, "--results_dir")
    lock = folder / f".{run.results_file.stem}.lock"
    with telling_of_full_disk(folder), locked_run(lock, "--results_dir"):
        return _fit(run)


def _fit(run: LinearRun) -> RunResult:
    data = TextClassificationDataModule(
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
    result = RunResult(
        recipe=run.recipe,
        architecture=ARCHITECTURE,
        variant=run.variant,
        dataset=public_name(run.dataset),
        split=run.score,
        fold=run.fold,
        seed=run.seed,
        metrics={
            **{f"{run.score}/{name}": 100.0 * float(value) for name, value in scores.items()},
            **({} if cost is None else {"chosen_C": cost}),
        },
        settings=run.settings,
        parameters={"trainable": weights, "total": weights},
        command=command_line(),
        commit=run.commit,
        data={"source": public_name(run.dataset), "fingerprint": data.fingerprint},
        hardware=hardware(),
        versions=versions(),
        wall_seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
        tag=run.tag,
    )
    write_result(result, run.results_dir)
    return result


def _fitted_texts(data: TextClassificationDataModule, splits: Sequence[str]) -> datasets.Dataset:
    """The rows of those splits that are there, train among them, in the order of the dataset."""
    rows = {split: data.rows(split) for split in splits if split in data.splits}
    if "validation" in rows and data.texts("validation") is data.texts("train"):
        return data.texts("train").select(np.sort(np.concatenate(list(rows.values()))))
    return datasets.concatenate_datasets([data.texts(split).select(of_split) for split, of_split in rows.items()])
